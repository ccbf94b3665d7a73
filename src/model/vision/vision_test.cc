// The vision side's forward: against the rules written out in doubles, for every variant, and that a picture's bits do
// not depend on its company.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "kernels/cpu_ops.h"
#include "model/vision/vision_config_reader.h"
#include "model/vision/vision_forward.h"
#include "model/vision/vision_limits.h"

namespace paceline {
namespace {

std::shared_ptr<const VisionWeights> golden_tower() {
  ThreadPool pool(1);
  const auto folder = std::filesystem::path(PACELINE_SOURCE_DIR) / "tests/goldens/vlm/target";
  return *load_vision_weights(*Checkpoint::open(folder), 96, pool);
}

Patches test_patches(int32_t columns, int32_t rows, int32_t side, int32_t pool, uint32_t seed) {
  Patches patches{side, columns, rows, {}, columns * rows / pool / pool};
  for (size_t i = 0; i < static_cast<size_t>(patches.count()) * patches.patch_values(); ++i) {
    seed = seed * 1664525 + 1013904223;
    patches.values.push_back(static_cast<uint8_t>(seed >> 24));
  }
  return patches;
}

// The golden's tower with every linear clamped somewhere.
std::shared_ptr<const VisionWeights> clipped_tower() {
  auto weights = std::make_shared<VisionWeights>(*golden_tower());
  weights->config.clipped = true;
  weights->config.standardised = false;
  float at = 0.3f;
  for (VisionLayer& l : weights->layers) {
    for (VisionLinear* linear : {&l.q, &l.k, &l.v, &l.o, &l.gate, &l.up, &l.down}) {
      linear->input = {-at, at + 0.2f};
      linear->output = {-at - 0.1f, at};
      at += 0.11f;
    }
  }
  return weights;
}

// [rows, cols] in doubles, whatever the format.
using Rows = std::vector<std::vector<double>>;

Rows matrix_rows(const Matrix& w) {
  EXPECT_EQ(w.format, WeightFormat::bf16);
  Rows rows(static_cast<size_t>(w.rows));
  const auto* next = static_cast<const uint16_t*>(w.values);
  for (auto& row : rows)
    for (int32_t i = 0; i < w.cols; ++i) row.push_back(static_cast<double>(bf16_to_f32(*next++)));
  return rows;
}

Rows times(const Rows& x, const Matrix& w) {
  const Rows by = matrix_rows(w);
  Rows y(x.size());
  for (size_t r = 0; r < x.size(); ++r)
    for (const auto& row : by) {
      double sum = 0;
      for (size_t i = 0; i < row.size(); ++i) sum += row[i] * x[r][i];
      y[r].push_back(sum);
    }
  return y;
}

void norm(double* x, int32_t width, const Vector* weight) {
  double sum = 0;
  for (int32_t i = 0; i < width; ++i) sum += x[i] * x[i];
  const double factor = 1 / std::sqrt(sum / width + 1e-6);
  for (int32_t i = 0; i < width; ++i)
    x[i] *= factor * (weight == nullptr ? 1.0 : static_cast<double>((*weight)[static_cast<size_t>(i)]));
}

Rows normed(Rows x, const Vector* weight) {
  for (auto& row : x) norm(row.data(), static_cast<int32_t>(row.size()), weight);
  return x;
}

Rows clamped(Rows x, const ClampRange& range) {
  for (auto& row : x)
    for (double& v : row) v = std::clamp(v, static_cast<double>(range.low), static_cast<double>(range.high));
  return x;
}

Rows through(const Rows& x, const VisionLinear& linear) {
  return clamped(times(clamped(x, linear.input), linear.weight), linear.output);
}

void add(Rows& x, const Rows& y) {
  for (size_t r = 0; r < x.size(); ++r)
    for (size_t i = 0; i < x[r].size(); ++i) x[r][i] += y[r][i];
}

// Halves of the head: the first turns with the column, the second with the row.
void turn(double* head, int32_t dim, int32_t column, int32_t row) {
  const int32_t half = dim / 2, quarter = dim / 4;
  for (int32_t axis = 0; axis < 2; ++axis)
    for (int32_t i = 0; i < quarter; ++i) {
      const double angle = (axis == 0 ? column : row) * std::pow(100.0, -2.0 * i / half);
      double &a = head[axis * half + i], &b = head[axis * half + quarter + i];
      const double turned = a * std::cos(angle) - b * std::sin(angle);
      b = b * std::cos(angle) + a * std::sin(angle);
      a = turned;
    }
}

Rows attended(const VisionConfig& c, const VisionLayer& l, const Rows& z, int32_t columns) {
  Rows q = through(z, l.q), k = through(z, l.k), v = through(z, l.v), out(z.size());
  const auto dim = static_cast<size_t>(c.head_dim);
  for (size_t r = 0; r < z.size(); ++r)
    for (size_t h = 0; h < static_cast<size_t>(c.heads); ++h) {
      const auto column = static_cast<int32_t>(r) % columns, row = static_cast<int32_t>(r) / columns;
      norm(&q[r][h * dim], c.head_dim, &l.q_norm);
      norm(&k[r][h * dim], c.head_dim, &l.k_norm);
      norm(&v[r][h * dim], c.head_dim, nullptr);
      turn(&q[r][h * dim], c.head_dim, column, row);
      turn(&k[r][h * dim], c.head_dim, column, row);
    }
  for (size_t r = 0; r < z.size(); ++r) {
    out[r].assign(q[r].size(), 0);
    for (size_t h = 0; h < static_cast<size_t>(c.heads); ++h) {
      std::vector<double> share;
      double sum = 0;
      for (const auto& key : k) {
        double score = 0;
        for (size_t i = h * dim; i < (h + 1) * dim; ++i) score += q[r][i] * key[i];
        share.push_back(std::exp(score));
        sum += share.back();
      }
      for (size_t other = 0; other < v.size(); ++other)
        for (size_t i = h * dim; i < (h + 1) * dim; ++i) out[r][i] += share[other] / sum * v[other][i];
    }
  }
  return out;
}

Rows plain_tower(const VisionWeights& w, const Patches& patches) {
  const VisionConfig& c = w.config;
  Rows pixels(static_cast<size_t>(patches.count()));
  for (size_t r = 0; r < pixels.size(); ++r)
    for (size_t i = 0; i < patches.patch_values(); ++i)
      pixels[r].push_back(2 * (patches.values[r * patches.patch_values() + i] / 255.0 - 0.5));
  Rows x = times(pixels, w.input);
  const Rows table = matrix_rows(w.positions);
  for (size_t r = 0; r < x.size(); ++r) {
    const auto columns = static_cast<size_t>(patches.columns);
    for (size_t i = 0; i < x[r].size(); ++i)
      x[r][i] += table[r % columns][i] + table[static_cast<size_t>(c.positions) + r / columns][i];
  }
  for (const VisionLayer& l : w.layers) {
    const Rows z = normed(x, &l.input_norm);
    add(x, normed(through(attended(c, l, z, patches.columns), l.o), &l.post_attention_norm));
    const Rows inner = normed(x, &l.pre_ffn_norm);
    Rows gate = through(inner, l.gate);
    const Rows up = through(inner, l.up);
    for (size_t r = 0; r < gate.size(); ++r)
      for (size_t i = 0; i < gate[r].size(); ++i) {
        const double g = gate[r][i];
        gate[r][i] = 0.5 * g * (1 + std::tanh(std::sqrt(2 / M_PI) * (g + 0.044715 * g * g * g))) * up[r][i];
      }
    add(x, normed(through(gate, l.down), &l.post_ffn_norm));
  }
  Rows pooled;
  for (int32_t y = 0; y < patches.rows; y += 3)
    for (int32_t column = 0; column < patches.columns; column += 3) {
      std::vector<double> mean(x[0].size(), 0);
      for (int32_t i = 0; i < 9; ++i)
        for (size_t k = 0; k < mean.size(); ++k)
          mean[k] += x[static_cast<size_t>((y + i / 3) * patches.columns + column + i % 3)][k] / 9;
      for (size_t k = 0; k < mean.size(); ++k) {
        mean[k] *= std::sqrt(static_cast<double>(c.hidden));
        if (c.standardised) mean[k] = (mean[k] + static_cast<double>(w.shift[k])) * static_cast<double>(w.scale[k]);
      }
      pooled.push_back(mean);
    }
  return times(normed(pooled, nullptr), w.projection);
}

TEST(VisionForwardTest, IsThePlainRulesStandardisedAndClipped) {
  for (const auto& weights : {golden_tower(), clipped_tower()}) {
    const Patches patches = test_patches(12, 9, 16, 3, 5);
    const Patches* const one = &patches;
    const Rows expected = plain_tower(*weights, patches);
    for (const kernels::CpuTable* table : kernels::cpu_tables()) {
      ThreadPool pool(2);
      kernels::CpuOps ops(*table, pool);
      VisionForward forward(weights, ops, Precision::f32);
      const auto soft = forward.run({&one, 1});
      ASSERT_EQ(soft.size(), 1u);
      ASSERT_EQ(soft[0].size(), expected.size() * 96);
      double largest = 0;
      for (size_t i = 0; i < soft[0].size(); ++i)
        largest = std::max(largest, std::abs(static_cast<double>(soft[0][i]) - expected[i / 96][i % 96]));
      EXPECT_LT(largest, 5e-5) << table->name;
    }
  }
}

TEST(VisionForwardTest, CompanyAndThreadsChangeNoBit) {
  const Patches a = test_patches(15, 12, 16, 3, 1), b = test_patches(3, 3, 16, 3, 2), c = test_patches(6, 30, 16, 3, 3);
  for (const auto& weights : {golden_tower(), clipped_tower()}) {
    for (const Precision precision : {Precision::f32, Precision::bf16}) {
      const auto run = [&](std::vector<const Patches*> pictures, int threads) {
        ThreadPool pool(threads);
        kernels::CpuOps ops(**kernels::find_cpu_table(""), pool);
        return VisionForward(weights, ops, precision).run(pictures);
      };
      const auto a_alone = run({&a}, 1)[0], b_alone = run({&b}, 1)[0], c_alone = run({&c}, 1)[0];
      for (const int threads : {1, 2, 4}) {
        const auto together = run({&b, &c, &a, &b}, threads);
        ASSERT_EQ(together.size(), 4u);
        EXPECT_EQ(together[0], b_alone);
        EXPECT_EQ(together[1], c_alone);
        EXPECT_EQ(together[2], a_alone);
        EXPECT_EQ(together[3], b_alone);
      }
    }
  }
}

TEST(VisionForwardTest, GridsBeyondThePositionsAreRefused) {
  ThreadPool pool(1);
  kernels::CpuOps ops(**kernels::find_cpu_table(""), pool);
  const VisionForward forward(golden_tower(), ops, Precision::f32);
  EXPECT_TRUE(forward.check(test_patches(128, 1, 16, 1, 1)).ok());
  EXPECT_FALSE(forward.check(test_patches(129, 1, 16, 1, 1)).ok());
}

TEST(VisionConfigTest, ReadsTowersEmbeddersAndNone) {
  const auto tower = read_vision_config(R"({"vision_config": {"model_type": "gemma4_vision", "hidden_size": 48,
      "head_dim": 16, "num_attention_heads": 3, "use_clipped_linears": true}})");
  ASSERT_TRUE(tower.ok() && tower->has_value());
  EXPECT_EQ((*tower)->hidden, 48);
  EXPECT_EQ((*tower)->layers, 16);
  EXPECT_TRUE((*tower)->clipped);
  EXPECT_EQ((*tower)->side(), 16);
  const auto unified = read_vision_config(R"({"vision_config": {"model_type": "gemma4_unified_vision",
      "mm_embed_dim": 96, "mm_posemb_size": 128}})");
  ASSERT_TRUE(unified.ok() && unified->has_value());
  EXPECT_EQ((*unified)->side(), 48);
  const auto none = read_vision_config(R"({"vision_config": null})");
  EXPECT_TRUE(none.ok() && !none->has_value());
  for (const char* wrong : {R"({"vision_config": {"head_dim": 18}})", R"({"vision_config": {"patch_size": 0}})",
                            R"({"vision_config": {"num_attention_heads": 4, "num_key_value_heads": 2}})",
                            R"({"vision_config": {"model_type": "siglip"}})", R"({"vision_config": 3})"}) {
    EXPECT_FALSE(read_vision_config(wrong).ok()) << wrong;
  }
}

TEST(VisionConfigTest, HeadsMayBeTooWideForABackend) {
  VisionConfig config;
  config.head_dim = 257;
  kernels::Limits limits;
  EXPECT_TRUE(check_limits(config, limits).ok());
  limits.picture_head = 256;
  EXPECT_FALSE(check_limits(config, limits).ok());
}

TEST(PictureBudgetTest, IsTheFilesOrTheDefault) {
  EXPECT_EQ(*read_picture_budget(""), kDefaultBudget);
  EXPECT_EQ(*read_picture_budget("{}"), kDefaultBudget);
  EXPECT_EQ(*read_picture_budget(R"({"image_processor": {"max_soft_tokens": 70}})"), 70);
  EXPECT_EQ(*read_picture_budget(R"({"max_soft_tokens": 1120})"), 1120);
  EXPECT_FALSE(read_picture_budget(R"({"max_soft_tokens": 71})").ok());
}

TEST(ClipBudgetTest, IsTheFilesOrTheDefault) {
  const ClipBudget plain = *read_clip_budget("{}");
  EXPECT_EQ(plain.frames, 32);
  EXPECT_EQ(plain.tokens, 70);
  const ClipBudget said = *read_clip_budget(R"({"num_frames": 8, "max_soft_tokens": 140, "do_resize": true})");
  EXPECT_EQ(said.frames, 8);
  EXPECT_EQ(said.tokens, 140);
  const auto nested = *read_nested_clip_budget(R"({"max_soft_tokens": 280, "video_processor": {"num_frames": 64}})");
  ASSERT_TRUE(nested.has_value());
  EXPECT_EQ(nested->frames, 64);
  EXPECT_EQ(nested->tokens, 70);
  EXPECT_FALSE(read_nested_clip_budget(R"({"image_processor": {"max_soft_tokens": 280}})")->has_value());
  for (const char* wrong : {R"({"num_frames": 0})", R"({"num_frames": 257})", R"({"num_frames": "all"})",
                            R"({"max_soft_tokens": 71})", "[]"}) {
    EXPECT_FALSE(read_clip_budget(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace paceline
