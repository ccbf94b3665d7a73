#include "model/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/changed_checkpoint.h"
#include "model/gemma4/config_reader.h"
#include "model/gemma4/load_gemma4.h"
#include "model/gemma4/mtp_binding.h"
#include "model/gemma4/report.h"
#include "weights/scratch_folder.h"

namespace paceline {
namespace {

using testing::HasSubstr;

float element(const Matrix& m, int64_t row, int64_t col) {
  const auto at = static_cast<size_t>(row * m.cols + col);
  if (m.format == WeightFormat::bf16) return bf16_to_f32(static_cast<const uint16_t*>(m.values)[at]);
  const auto* packed = static_cast<const uint8_t*>(m.values);
  const int q = m.format == WeightFormat::q8 ? packed[at] : (packed[at / 2] >> (4 * (at % 2))) & 15;
  const auto group = static_cast<size_t>(row * (m.cols / m.group) + col / m.group);
  const float scale = bf16_to_f32(static_cast<const uint16_t*>(m.scales)[group]);
  return scale * static_cast<float>(q) + bf16_to_f32(static_cast<const uint16_t*>(m.biases)[group]);
}

// Relative to the weights' own size.
double distance(const Matrix& a, const Matrix& b) {
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.cols, b.cols);
  double error = 0, power = 0;
  for (int64_t r = 0; r < a.rows; ++r) {
    for (int64_t c = 0; c < a.cols; ++c) {
      const double x = element(a, r, c), y = element(b, r, c);
      error += (x - y) * (x - y);
      power += x * x;
    }
  }
  return std::sqrt(error / power);
}

struct Quantised {
  ScratchFolder folder;
  std::filesystem::path out = folder.path() / "out";
  QuantizeSummary summary;

  Quantised(const std::string& from, QuantSpec spec) {
    ThreadPool pool(2);
    auto done = quantize_checkpoint(kGoldens + from, out.string() + "/", spec, pool);
    EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
    if (done.ok()) summary = *done;
  }
};

TEST(Quantize, WritesWhatBindingReads) {
  for (const auto& [bits, limit] : {std::pair{8, 0.0075}, std::pair{4, 0.1}}) {
    for (const char* name : {"dense", "moe", "ple", "vlm"}) {
      const Quantised made(std::string(name) + "/target", {bits, 32});
      ThreadPool pool(2);
      const auto before = load_gemma4(kGoldens + name + "/target", pool);
      const auto after = load_gemma4(made.out, pool);
      ASSERT_TRUE(after.ok()) << after.error().message;
      EXPECT_EQ(after->config.quant_bits, bits);
      EXPECT_EQ(after->config.stop_ids, before->config.stop_ids);
      EXPECT_EQ(after->config.layers, before->config.layers);
      EXPECT_EQ(after->weights->embedding.format, bits == 8 ? WeightFormat::q8 : WeightFormat::q4);
      EXPECT_LT(distance(before->weights->embedding, after->weights->embedding), limit);
      for (size_t i = 0; i < before->weights->layers.size(); ++i) {
        const LayerWeights& a = before->weights->layers[i];
        const LayerWeights& b = after->weights->layers[i];
        EXPECT_EQ(a.input_norm, b.input_norm);
        EXPECT_LT(distance(a.q, b.q), limit);
        EXPECT_LT(distance(a.down, b.down), limit);
        if (before->config.experts == 0) continue;
        EXPECT_EQ(b.router.format, WeightFormat::q8);
        for (const int32_t e : {0, 3, 7}) {
          EXPECT_TRUE(b.expert_gate.first.quantised());
          EXPECT_LT(distance(a.expert_gate.at(e), b.expert_gate.at(e)), limit);
          EXPECT_LT(distance(a.expert_up.at(e), b.expert_up.at(e)), limit);
          EXPECT_LT(distance(a.expert_down.at(e), b.expert_down.at(e)), limit);
        }
      }
      // In place: nothing but the checkpoint keeps the views alive.
      EXPECT_EQ(after->weights->owners.size(), 1u);
      EXPECT_LT(made.summary.bytes_after, made.summary.bytes_before);
    }
  }
}

TEST(Quantize, LeavesRowsThatAreNoMultipleOfTheGroup) {
  const Quantised made("moe/target", {8, 64});  // hidden 96 is none, the experts' 64 is one
  ThreadPool pool(2);
  const auto model = load_gemma4(made.out, pool);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->weights->layers[0].q.format, WeightFormat::bf16);
  EXPECT_EQ(model->weights->layers[0].expert_gate.first.format, WeightFormat::bf16);
  EXPECT_EQ(model->weights->layers[0].expert_down.first.format, WeightFormat::q8);
  EXPECT_GT(made.summary.kept, 0);
}

TEST(Quantize, CopiesTheFilesBesideAndKeepsTheTower) {
  const Quantised made("vlm/target", {4, 32});
  EXPECT_TRUE(std::filesystem::exists(made.out / "generation_config.json"));
  const auto before = Checkpoint::open(kGoldens + "vlm/target").value();
  const auto after = Checkpoint::open(made.out).value();
  for (const TensorView& tensor : before->tensors()) {
    if (!tensor.name.starts_with("model.vision_tower")) continue;
    const TensorView* kept = after->find(tensor.name);
    ASSERT_NE(kept, nullptr) << tensor.name;
    EXPECT_EQ(kept->dtype, tensor.dtype);
    EXPECT_TRUE(std::equal(tensor.values, tensor.values + tensor.bytes, kept->values));
  }
}

TEST(Quantize, WorksOnDrafters) {
  const Quantised made("ple/assistant", {8, 32});
  const auto after = Checkpoint::open(made.out);
  ASSERT_TRUE(after.ok()) << after.error().message;
  EXPECT_NE((*after)->find("pre_projection.scales"), nullptr);
  EXPECT_NE((*after)->find("masked_embedding.centroids.scales"), nullptr);
  EXPECT_EQ((*after)->find("masked_embedding.token_ordering")->dtype, DType::i64);
}

TEST(Quantize, RefusesAndLeavesNothing) {
  ThreadPool pool(1);
  const ScratchFolder folder;
  const auto out = folder.path() / "out";
  const auto error = [&](const std::filesystem::path& from, QuantSpec spec) {
    const auto done = quantize_checkpoint(from, out, spec, pool);
    EXPECT_FALSE(done.ok());
    return done.ok() ? "" : done.error().message;
  };
  EXPECT_THAT(error(kGoldens + "dense/target", {5, 32}), HasSubstr("found 5 in 32"));
  EXPECT_THAT(error(kGoldens + "nowhere", {8, 32}), HasSubstr("expected a checkpoint folder"));
  const Quantised made("dense/target", {8, 32});
  EXPECT_THAT(error(made.out, {8, 32}), HasSubstr("only unquantised checkpoints"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  std::filesystem::create_directory(out);
  EXPECT_THAT(error(kGoldens + "dense/target", {8, 32}), HasSubstr("it exists"));
}

TEST(Report, SaysFormatsAndMemory) {
  const Quantised made("moe/target", {4, 32});
  ThreadPool pool(1);
  const auto model = load_model(made.out, pool);
  ASSERT_TRUE(model.ok());
  const auto report = make_report(*model, Hashing::sha256);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->sha256.size(), 64u);
  EXPECT_EQ(report->kv_bytes_per_token, 2u * 2 * 32 * 2);
  EXPECT_EQ(report->layer_groups.size(), 2u);
  const std::string text = report_text(*report);
  EXPECT_THAT(text, HasSubstr("q4 group 32"));
  EXPECT_THAT(text, HasSubstr("0-1, 3-4"));
  EXPECT_THAT(text, HasSubstr("8 of width 64, 2 per token"));
  EXPECT_THAT(report_json(*report, "portable"), HasSubstr("\"kv_bytes_per_token\":256"));
}

TEST(Report, DescribesADrafter) {
  ThreadPool pool(1);
  const auto folder = kGoldens + "ple/assistant";
  const auto checkpoint = Checkpoint::open(folder).value();
  EXPECT_TRUE(is_assistant_config(checkpoint->config_json()));
  EXPECT_FALSE(is_assistant_config(Checkpoint::open(kGoldens + "ple/target").value()->config_json()));
  EXPECT_FALSE(is_assistant_config("[]"));
  const auto drafter = load_mtp(folder, pool);
  ASSERT_TRUE(drafter.ok());
  const auto report = make_report(**drafter, *checkpoint, Hashing::skip);
  ASSERT_TRUE(report.ok());
  const std::string text = report_text(*report);
  EXPECT_THAT(text, HasSubstr("of models with hidden size 96"));
  EXPECT_THAT(text, HasSubstr("in 32 clusters, of which 8 are scored"));
  EXPECT_THAT(text, HasSubstr("the model's"));
  EXPECT_THAT(text, testing::Not(HasSubstr("KV per token")));
  EXPECT_THAT(report_json(*report, "portable"), HasSubstr("\"backbone_hidden\":96"));
}

TEST(Report, WritesRanges) { EXPECT_EQ(number_ranges({0, 1, 2, 5, 7, 8}), "0-2, 5, 7-8"); }

TEST(Quantize, GgufIsRefused) {
  const ScratchFolder folder;
  ThreadPool pool(1);
  const auto file = folder.write("model.gguf", "GGUF");
  for (const auto& from : {file, file.parent_path()})
    EXPECT_THAT(quantize_checkpoint(from, folder.path() / "out", {}, pool).error().message,
                testing::HasSubstr("to quantise, found GGUF"));
}

}  // namespace
}  // namespace paceline
