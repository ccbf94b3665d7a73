// A model's own drafter against the formulas in float64, with weights by chance.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "kernels/cpu_ops.h"
#include "model/load.h"
#include "model/qwen/mtp_checkpoint_for_tests.h"
#include "model/qwen/mtp_forward.h"
#include "weights/scratch_folder.h"

namespace paceline::qwen {
namespace {

using Row = std::vector<double>;

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// One layer over rows that come one after another; nothing of it is the implementation's.
class PlainMtp {
 public:
  explicit PlainMtp(const ChangedCheckpoint& checkpoint) {
    for (const ChangedCheckpoint::One& one : checkpoint.all) {
      Row& values = weights_[one.plan.name];
      const size_t each = dtype_bytes(one.plan.dtype);
      for (size_t at = 0; at < one.bytes.size(); at += each) {
        float value = 0;
        if (one.plan.dtype == DType::f32) {
          std::memcpy(&value, &one.bytes[at], sizeof value);
        } else {
          uint16_t half = 0;
          std::memcpy(&half, &one.bytes[at], sizeof half);
          value = bf16_to_f32(half);
        }
        values.push_back(static_cast<double>(value));
      }
    }
  }

  // h: the model's state at `pos`, normed; the token that followed. What it makes of it, normed; keys are kept at pos.
  Row read(int32_t pos, TokenId token, const Row& h) {
    const Row& table = weights_.at("model.embed_tokens.weight");
    Row both = normed(Row(table.begin() + token * 96, table.begin() + (token + 1) * 96), "mtp.pre_fc_norm_embedding");
    const Row state = normed(h, "mtp.pre_fc_norm_hidden");
    both.insert(both.end(), state.begin(), state.end());
    Row x = times("mtp.fc", both);
    add(x, attention(pos, normed(x, "mtp.layers.0.input_layernorm")));
    add(x, dense(normed(x, "mtp.layers.0.post_attention_layernorm")));
    return normed(x, "mtp.norm");
  }

  Row final_norm(const Row& x) { return normed(x, "model.norm"); }

  TokenId best(const Row& y) {
    const Row logits = times("lm_head", y);
    return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  }

 private:
  static void add(Row& to, const Row& x) {
    for (size_t i = 0; i < x.size(); ++i) to[i] += x[i];
  }
  Row times(const std::string& name, const Row& x) {
    const Row& w = weights_.at(name + ".weight");
    Row y(w.size() / x.size(), 0.0);
    for (size_t i = 0; i < w.size(); ++i) y[i / x.size()] += w[i] * x[i % x.size()];
    return y;
  }
  Row normed(Row x, const std::string& name) {
    const Row& w = weights_.at(name + ".weight");
    const double factor =
        1.0 / std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0) / static_cast<double>(x.size()) + 1e-6);
    for (size_t i = 0; i < x.size(); ++i) x[i] *= factor * (1.0 + w[i]);
    return x;
  }
  // The first eight of 32 numbers turn, in pairs (i, i + 4).
  static void turn(Row& x, int32_t pos) {
    for (size_t i = 0; i < 4; ++i) {
      const double angle = pos * std::pow(1e7, -2.0 * static_cast<double>(i) / 8.0);
      const double a = x[i], b = x[i + 4];
      x[i] = a * std::cos(angle) - b * std::sin(angle);
      x[i + 4] = b * std::cos(angle) + a * std::sin(angle);
    }
  }
  static Row part(const Row& x, size_t at) {
    return {x.begin() + static_cast<int64_t>(at), x.begin() + static_cast<int64_t>(at) + 32};
  }

  Row attention(int32_t pos, const Row& z) {
    const std::string at = "mtp.layers.0.self_attn.";
    const Row q = times(at + "q_proj", z), k = times(at + "k_proj", z), v = times(at + "v_proj", z);
    for (size_t h = 0; h < 2; ++h) {
      Row key = normed(part(k, 32 * h), at + "k_norm");
      turn(key, pos);
      keys_[pos][h] = key;
      values_[pos][h] = part(v, 32 * h);
    }
    Row out;
    for (size_t h = 0; h < 4; ++h) {
      Row query = normed(part(q, 64 * h), at + "q_norm");
      turn(query, pos);
      Row sum(32, 0.0);
      double all = 0;
      for (const auto& [other, key] : keys_) {
        if (other > pos) continue;
        const double share =
            std::exp(std::inner_product(query.begin(), query.end(), key[h / 2].begin(), 0.0) / std::sqrt(32.0));
        all += share;
        for (size_t i = 0; i < 32; ++i) sum[i] += share * values_[other][h / 2][i];
      }
      for (size_t i = 0; i < 32; ++i) out.push_back(sum[i] / all * sigmoid(q[64 * h + 32 + i]));
    }
    return times(at + "o_proj", out);
  }
  Row dense(const Row& z) {
    Row gate = times("mtp.layers.0.mlp.gate_proj", z);
    const Row up = times("mtp.layers.0.mlp.up_proj", z);
    for (size_t i = 0; i < gate.size(); ++i) gate[i] *= sigmoid(gate[i]) * up[i];
    return times("mtp.layers.0.mlp.down_proj", gate);
  }

  std::map<std::string, Row> weights_;
  std::map<int32_t, std::array<Row, 2>> keys_, values_;
};

TEST(QwenMtp, DraftsWhatTheFormulasSay) {
  const ScratchFolder folder;
  const ChangedCheckpoint checkpoint = with_random_mtp("qwen35");
  checkpoint.write(folder);
  ThreadPool pool(1);
  kernels::CpuOps ops(*kernels::cpu_tables().front(), pool);
  const LoadedModel model = load_model(folder.path(), pool).value();
  ASSERT_TRUE(has_mtp(*as_qwen(model.weights)));
  const auto forward = model.weights->make_forward(ops, Precision::f32);
  MtpForward mtp(bind_mtp(*as_qwen(model.weights), pool).value(), *forward);
  PlainMtp plain(checkpoint);

  std::vector<TokenId> tokens;
  for (TokenId i = 0; i < 90; ++i) tokens.push_back(128 + i * 37 % 120);
  MtpMemory memory;
  KvCache kv(forward->kv_layout(), 100);
  const std::array<int32_t, 1> taps{mtp.layer_count()};
  Row newest;
  for (const int32_t count : {50, 1, 17, 12}) {
    const int32_t begin = kv.length();
    const SeqRows seq{&kv, count};
    ForwardInput input;
    input.tokens = std::span(tokens).subspan(static_cast<size_t>(begin), static_cast<size_t>(count));
    input.seqs = {&seq, 1};
    input.tap_layers = taps;
    const ForwardOutput out = forward->run(input);
    const MtpRows rows{&memory, &kv,
                       begin,   0,
                       count,   std::span(tokens).subspan(static_cast<size_t>(begin) + 1, static_cast<size_t>(count))};
    mtp.read({&rows, 1}, out.backend_taps);
    for (int32_t i = 0; i < count; ++i) {
      const Row state(out.taps + i * 96, out.taps + (i + 1) * 96);
      newest = plain.read(begin + i, tokens[static_cast<size_t>(begin + i) + 1], plain.final_norm(state));
    }
    for (size_t i = 0; i < newest.size(); ++i)
      ASSERT_NEAR(static_cast<double>(memory.newest.data()[i]), newest[i], 2e-4)
          << "behind " << begin + count << ", " << i;

    std::vector<TokenId> drafts(4), expected;
    ASSERT_TRUE(kv.reserve(4, 4));
    const MtpAsk ask{&memory, &kv, drafts};
    mtp.propose({&ask, 1});
    Row y = newest;
    PlainMtp ahead = plain;
    for (int32_t depth = 0; depth < 4; ++depth) {
      expected.push_back(plain.best(y));
      y = ahead.read(begin + count + depth, expected.back(), y);
    }
    EXPECT_EQ(drafts, expected) << "behind " << begin + count;
  }
}

TEST(QwenMtp, WhatIsMissingIsNamed) {
  const ScratchFolder folder;
  ChangedCheckpoint checkpoint = with_random_mtp("qwen35");
  checkpoint.erase("mtp.layers.0.self_attn.k_norm.weight");
  checkpoint.write(folder);
  ThreadPool pool(1);
  const LoadedModel model = load_model(folder.path(), pool).value();
  const auto bound = bind_mtp(*as_qwen(model.weights), pool);
  ASSERT_FALSE(bound.ok());
  EXPECT_NE(bound.error().message.find("mtp.layers.0.self_attn.k_norm.weight"), std::string::npos);
}

}  // namespace
}  // namespace paceline::qwen
