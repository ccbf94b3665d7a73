#include "model/gemma4/synthetic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "model/gemma4/state_of.h"
#include "model/gemma4/tiny_config.h"
#include "state/kv.h"

namespace paceline {
namespace {

std::vector<const Matrix*> matrices_of(const Gemma4Weights& w) {
  std::vector<const Matrix*> all = {&w.embedding, &w.ple_embedding, &w.ple_model_projection};
  for (const LayerWeights& l : w.layers)
    all.insert(all.end(), {&l.q, &l.k, &l.v, &l.o, &l.gate, &l.up, &l.down, &l.router, &l.ple_gate, &l.ple_projection});
  return all;
}

std::vector<const MatrixStack*> stacks_of(const Gemma4Weights& w) {
  std::vector<const MatrixStack*> all;
  for (const LayerWeights& l : w.layers) all.insert(all.end(), {&l.expert_gate, &l.expert_up, &l.expert_down});
  return all;
}

double billions(const Gemma4Config& config) {
  return static_cast<double>(synthetic_bytes(config, {WeightFormat::bf16, 64})) / 2e9;
}

TEST(SyntheticTest, NamedShapesHaveTheirSize) {
  // What the names say; e2b and e4b count 2 and 4 without the per-layer embeddings and the table of words.
  const struct {
    const char* name;
    double low, high;
  } sizes[] = {{"e2b", 4.5, 5.3}, {"e4b", 7.2, 8.2},         {"12b", 11, 13},         {"26b-a4b", 25, 27},
               {"31b", 30, 32},   {"dense-220m", 0.2, 0.24}, {"moe-710m", 0.68, 0.74}};
  for (const auto& size : sizes) {
    const auto config = synthetic_config(size.name);
    ASSERT_TRUE(config.ok()) << size.name;
    EXPECT_GE(billions(*config), size.low) << size.name;
    EXPECT_LE(billions(*config), size.high) << size.name;
  }
}

// Memory is dealt out in units of one size: of the family's shapes hardly a byte of a block is nobody's, and blocks
// have few units.
TEST(SyntheticTest, UnitsOfKeysAndValuesAreFull) {
  for (const char* name : {"e2b", "e4b", "12b", "26b-a4b", "31b", "dense-220m", "moe-710m"})
    for (const DType dtype : {DType::bf16, DType::f32}) {
      const KvLayout layout(state_of(*synthetic_config(name)), dtype);
      for (const StateKind kind : kStateKinds) {
        EXPECT_LE(layout.waste[kind], 0.02) << name;
        EXPECT_LE(layout.blocks.units[kind], kind == StateKind::paged ? 2 : 20) << name;
      }
      size_t bytes = 0;
      for (const KvLayout::Layer& layer : layout.layers) bytes += layer.owns ? 2 * layer.page_bytes : 0;
      const size_t taken = layout.block_bytes[StateKind::paged] + layout.block_bytes[StateKind::window];
      EXPECT_LE(static_cast<double>(taken), 1.01 * static_cast<double>(bytes)) << name;
    }
}

TEST(SyntheticTest, EveryNameIsKnownAndSound) {
  for (const std::string_view name : synthetic_names()) {
    const auto config = synthetic_config(name);
    ASSERT_TRUE(config.ok()) << name;
    EXPECT_EQ(config->layers.back().kind, LayerKind::global) << name;
    for (int32_t i = 0; i < config->layer_count(); ++i) {
      const LayerConfig& layer = config->layers[static_cast<size_t>(i)];
      ASSERT_LE(layer.kv_layer, i) << name;
      const LayerConfig& owner = config->layers[static_cast<size_t>(layer.kv_layer)];
      EXPECT_EQ(owner.kv_layer, layer.kv_layer) << name << ": an owner owns";
      EXPECT_EQ(owner.kind, layer.kind) << name;
      EXPECT_EQ(owner.head_dim, layer.head_dim) << name;
      EXPECT_EQ(config->heads % layer.kv_heads, 0) << name;
    }
  }
  const auto unknown = synthetic_config("13b");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("26b-a4b"), std::string::npos);
}

// Four bits and two bf16 numbers per 64.
TEST(SyntheticTest, QuantisedBytesFollowFromParameters) {
  const auto config = synthetic_config("12b");
  ASSERT_TRUE(config.ok());
  const size_t parameters = synthetic_bytes(*config, {WeightFormat::bf16, 64}) / 2;
  EXPECT_EQ(synthetic_bytes(*config, {WeightFormat::q4, 64}), parameters / 2 + parameters / 64 * 4);
  EXPECT_EQ(synthetic_bytes(*config, {WeightFormat::q8, 32}), parameters + parameters / 32 * 4);
}

TEST(SyntheticTest, BytesAreWhatIsMade) {
  ThreadPool pool(2);
  for (const char* model : {"dense", "moe", "ple"})
    for (const SyntheticFormat& format :
         {SyntheticFormat{WeightFormat::bf16, 64}, {WeightFormat::q8, 32}, {WeightFormat::q4, 64}}) {
      const Gemma4Config config = tiny_config(model, 24);
      const auto weights = make_synthetic(config, format, pool);
      size_t bytes = 0;
      for (const Matrix* m : matrices_of(*weights)) bytes += m->bytes();
      for (const MatrixStack* s : stacks_of(*weights)) bytes += s->first.bytes() * static_cast<size_t>(s->count);
      EXPECT_EQ(bytes, synthetic_bytes(config, format)) << model << ' ' << weight_format_name(format.format);
      // The vectors come on top.
      EXPECT_GT(weights->total_bytes(), bytes);
      EXPECT_LT(weights->total_bytes() - bytes, 32768u);
    }
}

TEST(SyntheticTest, WidthsThatNoGroupFitsStayBf16) {
  ThreadPool pool(1);
  // Of moe's widths only the dense FFN's, 96, is no multiple of 64.
  const auto weights = make_synthetic(tiny_config("moe", 24), {WeightFormat::q8, 64}, pool);
  for (const LayerWeights& l : weights->layers) {
    EXPECT_EQ(l.down.format, WeightFormat::bf16);
    EXPECT_EQ(l.gate.format, WeightFormat::q8);
    EXPECT_EQ(l.expert_down.first.format, WeightFormat::q8);
  }
}

// The same numbers whoever made them, also where a matrix is longer than a thread's piece.
TEST(SyntheticTest, ThreadsDoNotMatter) {
  Gemma4Config config = tiny_config("moe", 24);
  config.vocab = 40000;
  for (const WeightFormat format : {WeightFormat::bf16, WeightFormat::q8}) {
    ThreadPool one(1), three(3);
    const auto a = make_synthetic(config, {format, 32}, one), b = make_synthetic(config, {format, 32}, three);
    const auto all_a = matrices_of(*a), all_b = matrices_of(*b);
    for (size_t i = 0; i < all_a.size(); ++i) {
      if (!all_a[i]->present()) continue;
      const size_t bytes = static_cast<size_t>(all_a[i]->rows) * all_a[i]->row_value_bytes();
      EXPECT_EQ(0, std::memcmp(all_a[i]->values, all_b[i]->values, bytes)) << "matrix " << i;
    }
  }
}

// No matrix repeats another, and values are finite and small.
TEST(SyntheticTest, ValuesAreRandomAndSmall) {
  ThreadPool pool(1);
  const auto weights = make_synthetic(tiny_config("dense", 24), {WeightFormat::bf16, 64}, pool);
  const auto all = matrices_of(*weights);
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i]->present()) continue;
    const auto* values = static_cast<const uint16_t*>(all[i]->values);
    double sum = 0;
    const int64_t count = static_cast<int64_t>(all[i]->rows) * all[i]->cols;
    for (int64_t k = 0; k < count; ++k) {
      const double value = static_cast<double>(bf16_to_f32(values[k]));
      ASSERT_LT(std::abs(value), 0.04);
      sum += value;
    }
    EXPECT_LT(std::abs(sum / static_cast<double>(count)), 0.002);
    for (size_t j = 0; j < i; ++j) {
      if (!all[j]->present()) continue;
      EXPECT_NE(0, std::memcmp(all[j]->values, values, 256)) << "matrices " << j << " and " << i;
    }
  }
}

}  // namespace
}  // namespace paceline
