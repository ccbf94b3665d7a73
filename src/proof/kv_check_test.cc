// What keys and values in codes cost on the model that ships with the program: beside bf16, and beside 8-bit floats,
// which take as many bytes.
#include "proof/kv_check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "kernels/cpu_ops.h"
#include "model/gemma4/weights.h"
#include "proof/decode.h"
#include "session/text_model.h"

namespace paceline {
namespace {

// The nearest float of four bits of exponent and three of fraction (e4m3), of those up to 448.
float to_e4m3(float x) {
  if (!(std::fabs(x) > 0)) return x;
  const float size = std::min(std::fabs(x), 448.0f);
  const int exponent = std::max(-6, std::ilogb(size));
  const float step = std::ldexp(1.0f, exponent - 3);
  return std::copysign(std::min(448.0f, std::nearbyint(size / step) * step), x);
}

// Rounds what is kept in bf16 to 8-bit floats, with one scale for all.
class SmallFloatOps : public kernels::CpuOps {
 public:
  using CpuOps::CpuOps;
  [[nodiscard]] kernels::Limits limits() const override { return {}; }

  void heads(const kernels::HeadsArgs& args) override {
    CpuOps::heads(args);
    const kernels::HeadShape& shape = args.shape;
    if (args.k == nullptr || shape.kv_dtype != DType::bf16) return;
    for (const kernels::SeqSpan& seq : args.seqs)
      for (int32_t pos = seq.first_pos; pos < seq.first_pos + seq.count; ++pos)
        for (int32_t i = 0; i < shape.kv_heads * shape.head_dim; ++i) {
          const int32_t page = pos / kernels::kPageTokens, token = pos % kernels::kPageTokens;
          const int32_t head = i / shape.head_dim, number = i % shape.head_dim;
          auto* keys = static_cast<uint16_t*>(seq.pages.keys_of(page));
          auto* values = static_cast<uint16_t*>(seq.pages.values_of(page));
          round(keys[(head * kernels::kPageTokens + token) * shape.head_dim + number]);
          round(values[(head * shape.head_dim + number) * kernels::kPageTokens + token]);
        }
  }

 private:
  static void round(uint16_t& value) { value = f32_to_bf16(to_e4m3(bf16_to_f32(value) * 16) / 16); }
};

TEST(SmallFloats, AreTheNearest) {
  EXPECT_EQ(to_e4m3(1.0f), 1.0f);
  EXPECT_EQ(to_e4m3(1.06f), 1.0f);
  EXPECT_EQ(to_e4m3(-1.07f), -1.125f);
  EXPECT_EQ(to_e4m3(1000.0f), 448.0f);
  EXPECT_EQ(to_e4m3(0x1p-9f), 0x1p-9f);
  EXPECT_EQ(to_e4m3(0x1p-11f), 0.0f);
}

// The model that ships with the program, and its matrices in float32: with activations in 8 bits any disturbance turns
// some of their roundings, and that would be what is measured.
class ShippedModel : public testing::Test {
 protected:
  ShippedModel()
      : pool_(2),
        table_(**kernels::find_cpu_table("")),
        ops_(table_, pool_),
        model_(load_text_model(std::filesystem::path(PACELINE_SOURCE_DIR) / "models" / "default", pool_).value()),
        wide_(std::make_shared<Gemma4Weights>(*as_gemma4(model_.loaded.weights))) {
    wide_->checkpoint = nullptr;
    for (LayerWeights& l : wide_->layers)
      for (Matrix* m : {&l.q, &l.k, &l.v, &l.o, &l.gate, &l.up, &l.down}) widen(*m);
    widen(wide_->embedding);
    wide_->head = wide_->embedding;
  }

  void widen(Matrix& m) {
    if (!m.quantised()) return;
    const auto cols = static_cast<size_t>(m.cols);
    auto values = std::make_shared<std::vector<float>>(static_cast<size_t>(m.rows) * cols);
    for (int32_t r = 0; r < m.rows; ++r) table_.dequantise(m, r, 1.0f, values->data() + static_cast<size_t>(r) * cols);
    wide_->owners.push_back(values);
    m = {.format = WeightFormat::f32, .rows = m.rows, .cols = m.cols, .values = values->data()};
  }

  ThreadPool pool_;
  const kernels::CpuTable& table_;
  kernels::CpuOps ops_;
  TextModel model_;
  std::shared_ptr<Gemma4Weights> wide_;
};

// What the model itself writes, sampled from nothing: text such as it was made for.
std::vector<TokenId> written_text(Forward& forward, const TextModel& model, size_t tokens) {
  std::vector<TokenId> text;
  for (uint64_t seed = 1; text.size() < tokens; ++seed) {
    DecodeRequest request;
    request.prompt = model.tokenizer.encode("", true);
    if (request.prompt.empty()) request.prompt = {*model.tokenizer.bos()};
    request.sampling.temperature = 1;
    request.sampling.seed = seed;
    request.max_tokens = static_cast<int32_t>(std::min<size_t>(tokens - text.size(), 1500));
    request.context = model.loaded.config.context;
    const DecodeOutcome outcome = decode(forward, request, {});
    text.insert(text.end(), request.prompt.begin(), request.prompt.end());
    text.insert(text.end(), outcome.tokens.begin(), outcome.tokens.end());
  }
  return text;
}

TEST_F(ShippedModel, CodesCostLittle) {
  SmallFloatOps small(table_, pool_);
  const bool whole = std::getenv("PACELINE_TEST_LONG") != nullptr;
  const auto writer = model_.loaded.weights->make_forward(ops_, Precision::bf16);
  const std::vector<TokenId> text = written_text(*writer, model_, whole ? 20'500 : 1'000);

  KvCheckSettings settings;
  settings.precision = Precision::f32;
  settings.asked = {DType::i8, DType::bf16};
  const KvBucket codes = check_kv(*wide_, ops_, text, settings)->all();
  settings.asked = DType::i8;
  const KvBucket everywhere = check_kv(*wide_, ops_, text, settings)->all();
  settings.asked = DType::bf16;
  const KvBucket floats = check_kv(*wide_, small, text, settings)->all();
  const auto count = static_cast<double>(codes.positions);
  const auto tell = [&](const char* name, const KvDistance& distance) {
    fmt::print("{:<30} KL {:.3e}, kept {:.2f} %, perplexity {:.4f}\n", name, distance.kl / count,
               100 * static_cast<double>(distance.kept) / count, std::exp(distance.surprisal / count));
  };
  fmt::print("{} positions, perplexity {:.4f}\n", codes.positions, std::exp(codes.truth_surprisal / count));
  tell("bf16", codes.floor);
  tell("codes in global layers", codes.asked);
  tell("codes in all layers", everywhere.asked);
  tell("8-bit floats in all layers", floats.asked);
  EXPECT_EQ(floats.positions, codes.positions);
  EXPECT_GT(codes.floor.kl, 0);
  EXPECT_LE(everywhere.asked.kl, 0.12 * floats.asked.kl);
  EXPECT_GE(static_cast<double>(codes.asked.kept), 0.995 * count);
  EXPECT_LE(codes.asked.surprisal - codes.truth_surprisal, std::log(1.001) * count);
}

// Joined, bf16 rounds other numbers than apart, and no more of them.
TEST_F(ShippedModel, JoiningCostsNothing) {
  const auto writer = model_.loaded.weights->make_forward(ops_, Precision::bf16);
  const std::vector<TokenId> text = written_text(*writer, model_, 1'000);
  KvCheckSettings settings;
  settings.precision = Precision::f32;
  settings.asked = DType::bf16;
  settings.asked.joined = false;
  const KvBucket both = check_kv(*wide_, ops_, text, settings)->all();
  EXPECT_LE(both.floor.kl, 1.2 * both.asked.kl);
}

}  // namespace
}  // namespace paceline
