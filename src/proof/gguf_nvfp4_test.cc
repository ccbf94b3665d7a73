// GGUF files with matrices in NVFP4, whose last scale lies in a tensor beside each: the model that opens them computes
// what it computes from their numbers in float32.
#include <gtest/gtest.h>

#include <array>
#include <boost/json.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>

#include "kernels/cpu_ops.h"
#include "model/gemma4/weights.h"
#include "model/load.h"
#include "proof/file_logits_for_tests.h"
#include "proof/goldens.h"
#include "tensor/blocks.h"
#include "weights/gguf/writing/gguf_writer.h"
#include "weights/gguf/writing/written_gemma4.h"
#include "weights/gguf/writing/written_vocabulary.h"
#include "weights/quantizer.h"
#include "weights/scratch_folder.h"

namespace paceline {
namespace {
namespace nvfp4_files {

namespace fs = std::filesystem;

constexpr size_t kBlock = 64, kBlockBytes = 36, kGroup = 16;
constexpr std::array<float, 8> kLevels = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};

// Unsigned E4M3: 4 bits of exponent, bias 7.
float e4m3(int byte) {
  const int exponent = byte >> 3, fraction = byte & 7;
  return exponent == 0 ? static_cast<float>(fraction) / 512
                       : std::ldexp(1 + static_cast<float>(fraction) / 8, exponent - 7);
}

uint8_t nearest_scale(float value) {
  int best = 0;
  for (int byte = 1; byte < 0x7f; ++byte)
    if (std::abs(e4m3(byte) - value) < std::abs(e4m3(best) - value)) best = byte;
  return static_cast<uint8_t>(best);
}

uint8_t nearest_code(float value) {
  size_t best = 0;
  for (size_t i = 1; i < kLevels.size(); ++i)
    if (std::abs(kLevels[i] - std::abs(value)) < std::abs(kLevels[best] - std::abs(value))) best = i;
  return static_cast<uint8_t>(best | (value < 0 ? 8 : 0));
}

std::string packed_nvfp4(const std::vector<float>& values, const std::vector<float>& scale_of_row, size_t cols) {
  std::string bytes;
  for (size_t start = 0; start < values.size(); start += kBlock) {
    std::array<uint8_t, kBlockBytes> block{};
    const float scale = scale_of_row[start / cols];
    for (size_t g = 0; g < kBlock / kGroup; ++g) {
      float most = 0;
      for (size_t i = 0; i < kGroup; ++i) most = std::max(most, std::abs(values[start + g * kGroup + i]));
      block[g] = nearest_scale(most / 6 / scale);
      const float step = e4m3(block[g]) * scale;
      for (size_t i = 0; i < kGroup; ++i) {
        const uint8_t code = step == 0 ? 0 : nearest_code(values[start + g * kGroup + i] / step);
        block[4 + g * 8 + i % 8] |= static_cast<uint8_t>(code << (i < 8 ? 0 : 4));
      }
    }
    bytes.append(reinterpret_cast<const char*>(block.data()), block.size());
  }
  return bytes;
}

struct Part {
  GgufTensorPlan plan;
  std::string bytes;
};

std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

constexpr GgufType kF32{DType::f32, WeightFormat::none}, kNvfp4{DType::u8, WeightFormat::nvfp4};

// Each tensor twice: packed with its scale beside it, and the numbers that these mean.
class Files {
 public:
  explicit Files(const fs::path& golden) {
    fs::create_directories(scratch_.path() / "model");
    for (const char* name : {"config.json", "generation_config.json", "model.safetensors"})
      fs::create_symlink(golden / name, scratch_.path() / "model" / name);
    std::ifstream file(fs::path(PACELINE_SOURCE_DIR) / "tests/goldens/tokenizer.json", std::ios::binary);
    auto tokenizer = boost::json::parse(std::string(std::istreambuf_iterator<char>(file), {})).as_object();
    tokenizer["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}};
    scratch_.write("model/tokenizer.json", boost::json::serialize(tokenizer));
    source_ = *Checkpoint::open(scratch_.path() / "model");
    const auto names = *WrittenNames::of(*source_);
    for (const auto& [name, tensor] : names.text) add(name, *tensor);
    GgufKeys keys;
    EXPECT_TRUE(add_gemma4_keys(boost::json::parse(source_->config_json()).as_object(), names, &keys).ok());
    EXPECT_TRUE(add_vocabulary_keys(*source_, names.find("token_embd.weight")->shape[0], &keys).ok());
    write(packed_file(), keys, packed_);
    write(plain_file(), keys, plain_);
  }

  [[nodiscard]] fs::path packed_file() const { return scratch_.path() / "packed.gguf"; }
  [[nodiscard]] fs::path plain_file() const { return scratch_.path() / "plain.gguf"; }
  int matrices = 0;

 private:
  void add(const std::string& name, const TensorView& tensor) {
    const std::vector<int64_t> shape = tensor.shape.empty() ? std::vector<int64_t>{1} : tensor.shape;
    const auto cols = static_cast<size_t>(shape.back());
    size_t count = 1;
    for (const int64_t dimension : shape) count *= static_cast<size_t>(dimension);
    std::vector<float> values(count);
    read_weight_row({tensor.values, tensor.dtype, 1, static_cast<int64_t>(count)}, 0, values);
    if (shape.size() < 2 || cols % kBlock != 0 || name.find("inp") != std::string::npos) {
      for (std::vector<Part>* file : {&packed_, &plain_}) file->push_back({{name, shape, kF32}, bytes_of(values)});
      return;
    }
    ++matrices;
    const bool has_scale = name.find("ffn_down_exps") == std::string::npos;
    const size_t stacked = shape.size() > 2 ? static_cast<size_t>(shape[0]) : 1, rows = count / cols;
    std::vector<float> scales, of_row;
    for (size_t i = 0; i < stacked; ++i) scales.push_back(has_scale ? 0.0003f * static_cast<float>(1 + i % 3) : 1.0f);
    for (size_t row = 0; row < rows; ++row) of_row.push_back(scales[row / (rows / stacked)]);
    const std::string packed = packed_nvfp4(values, of_row, cols);
    packed_.push_back({{name, shape, kNvfp4}, packed});
    if (has_scale)
      packed_.push_back(
          {{name.substr(0, name.size() - 7) + ".scale", {static_cast<int64_t>(stacked)}, kF32}, bytes_of(scales)});
    dequantise_blocks(WeightFormat::nvfp4, packed.data(), static_cast<int64_t>(count), values.data());
    for (size_t i = 0; i < count; ++i) values[i] *= of_row[i / cols];
    plain_.push_back({{name, shape, kF32}, bytes_of(values)});
  }

  static void write(const fs::path& path, const GgufKeys& keys, const std::vector<Part>& parts) {
    std::vector<GgufTensorPlan> plans;
    for (const Part& part : parts) plans.push_back(part.plan);
    auto writer = GgufWriter::create(path, keys, plans);
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    for (size_t i = 0; i < parts.size(); ++i)
      ASSERT_TRUE(writer->write(i, 0, std::as_bytes(std::span(parts[i].bytes))).ok());
    ASSERT_TRUE(writer->finish().ok());
  }

  ScratchFolder scratch_;
  std::shared_ptr<const Checkpoint> source_;
  std::vector<Part> packed_, plain_;
};

// Norms behind a product hide what all of a matrix is multiplied with, so this is looked at by itself.
void expect_numbers(const Matrix& packed, const Matrix& plain) {
  if (packed.format != WeightFormat::nvfp4) return;
  ASSERT_NE(packed.factors, nullptr);
  std::vector<float> row(static_cast<size_t>(packed.cols));
  for (int32_t r = 0; r < packed.rows; ++r) {
    dequantise_blocks(packed, r, row.data());
    const float* expected = static_cast<const float*>(plain.values) + int64_t{r} * plain.cols;
    for (size_t i = 0; i < row.size(); ++i)
      ASSERT_EQ(static_cast<float>(static_cast<double>(row[i]) * packed.factors[r]), expected[i]);
  }
}

TEST(GgufNvfp4, HasTheScaleThatLiesBesideEachMatrix) {
  ThreadPool pool(2);
  const Files files(fs::path(PACELINE_SOURCE_DIR) / "tests/goldens/dense/target");
  const auto packed = as_gemma4(load_model(files.packed_file(), pool, {})->weights);
  const auto plain = as_gemma4(load_model(files.plain_file(), pool, {})->weights);
  int found = 0;
  for (size_t i = 0; i < packed->layers.size(); ++i) {
    expect_numbers(packed->layers[i].o, plain->layers[i].o);
    expect_numbers(packed->layers[i].down, plain->layers[i].down);
    found += packed->layers[i].o.format == WeightFormat::nvfp4 ? 1 : 0;
  }
  EXPECT_GT(found, 3);
}

TEST(GgufNvfp4, HasTheLogitsOfItsNumbers) {
  ThreadPool pool(2);
  for (const char* golden : {"dense/target", "moe/target"}) {
    SCOPED_TRACE(golden);
    const Files files(fs::path(PACELINE_SOURCE_DIR) / "tests/goldens" / golden);
    EXPECT_GT(files.matrices, 10);
    for (const kernels::CpuTable* table : kernels::cpu_tables()) {
      kernels::CpuOps ops(*table, pool);
      const auto found = logits_of(files.packed_file(), ops, pool), want = logits_of(files.plain_file(), ops, pool);
      double sum = 0;
      for (size_t i = 0; i < want.size(); ++i) sum += std::abs(found[i] - want[i]);
      // Activations of eight bits; numbers in wrong places move logits by units.
      EXPECT_LE(sum / static_cast<double>(want.size()), 0.1) << table->name;
    }
  }
}

}  // namespace nvfp4_files
}  // namespace
}  // namespace paceline
