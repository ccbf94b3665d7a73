#include "weights/gguf/writing/write_gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>

#include "tensor/blocks.h"
#include "weights/gguf/tensor_numbers_for_tests.h"
#include "weights/gguf/writing/block_packing.h"
#include "weights/quantizer.h"
#include "weights/scratch_folder.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

double relative_error(std::span<const float> expected, std::span<const float> found) {
  double error = 0, power = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    error += (expected[i] - found[i]) * static_cast<double>(expected[i] - found[i]);
    power += static_cast<double>(expected[i]) * expected[i];
  }
  return power > 0 ? std::sqrt(error / power) : std::sqrt(error);
}

std::vector<float> packed_and_back(WeightFormat format, const std::vector<float>& row) {
  const BlockShape shape = block_shape(format);
  std::vector<std::byte> bytes(row.size() / static_cast<size_t>(shape.elements) * static_cast<size_t>(shape.bytes));
  pack_blocks(format, row, bytes.data());
  std::vector<float> back(row.size());
  dequantise_blocks(format, bytes.data(), static_cast<int64_t>(row.size()), back.data());
  return back;
}

struct Packed {
  WeightFormat format;
  double most;  // of normally distributed weights
};

class BlockPacking : public testing::TestWithParam<Packed> {};

TEST_P(BlockPacking, LosesNoMoreThanItsBitsDo) {
  std::mt19937 random(7);
  std::normal_distribution<float> weights(0, 0.02f);
  std::vector<float> row(4096);
  for (float& weight : row) weight = weights(random);
  EXPECT_LT(relative_error(row, packed_and_back(GetParam().format, row)), GetParam().most);
  for (float& weight : row) weight += 0.05f;  // all of one sign
  EXPECT_LT(relative_error(row, packed_and_back(GetParam().format, row)), GetParam().most);
}

TEST_P(BlockPacking, ZerosStayAndEndsAreHeld) {
  std::vector<float> row(512, 0.0f);
  EXPECT_EQ(packed_and_back(GetParam().format, row), row);
  row[300] = 3e5f;  // more than a half holds, times the levels
  row[17] = -1e-9f;
  for (const float back : packed_and_back(GetParam().format, row)) EXPECT_TRUE(std::isfinite(back));
}

INSTANTIATE_TEST_SUITE_P(Formats, BlockPacking,
                         testing::Values(Packed{WeightFormat::q8_0, 0.006}, Packed{WeightFormat::q6_k, 0.02},
                                         Packed{WeightFormat::q5_0, 0.042}, Packed{WeightFormat::q4_0, 0.084},
                                         Packed{WeightFormat::q4_k, 0.074}),
                         [](const auto& one) { return weight_format_name(one.param.format); });

fs::path gguf_goldens() { return fs::path(PACELINE_SOURCE_DIR) / "tests" / "goldens"; }

// A golden's folder with the tokenizer that goes with all of them.
struct Written {
  ScratchFolder scratch;
  fs::path from = scratch.path() / "model", to = scratch.path() / "model-q.gguf";
  std::shared_ptr<const Checkpoint> source;

  explicit Written(const fs::path& golden) {
    fs::create_directories(from);
    for (const auto& entry : fs::directory_iterator(golden))
      fs::create_symlink(entry.path(), from / entry.path().filename());
    std::ifstream file(gguf_goldens() / "tokenizer.json", std::ios::binary);
    auto tokenizer = boost::json::parse(std::string(std::istreambuf_iterator<char>(file), {})).as_object();
    // The goldens' own leaves spaces as they are, which the format has no word for.
    tokenizer["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}};
    scratch.write("model/tokenizer.json", boost::json::serialize(tokenizer));
    source = *Checkpoint::open(from);
  }

  Result<GgufSummary> write(std::string_view type) const {
    ThreadPool pool(2);
    return write_gguf(*source, to, *GgufRecipe::named(type), pool);
  }
};

std::string plain_hub_name(std::string name) {
  for (const std::string part : {"language_model.", "linear."})
    if (const size_t at = name.find(part); at != std::string::npos) name.erase(at, part.size());
  return name;
}

// Every tensor of the source is there again, within what its type loses.
void compare(const Checkpoint& source, const Checkpoint& made, double most) {
  for (const TensorView& tensor : source.tensors()) {
    const TensorView* found = made.find(plain_hub_name(tensor.name));
    ASSERT_NE(found, nullptr) << tensor.name;
    const auto expected = numbers_of(tensor), got = numbers_of(*found);
    ASSERT_EQ(expected.size(), got.size()) << tensor.name;
    if (in_blocks(found->blocks)) {
      EXPECT_LT(relative_error(expected, got), most) << tensor.name << " " << weight_format_name(found->blocks);
    } else {
      EXPECT_LT(relative_error(expected, got), found->dtype == DType::f16 ? 1e-3 : 1e-12) << tensor.name;
    }
  }
}

struct WrittenCase {
  std::string golden, type;
  double most;
};

class WriteGguf : public testing::TestWithParam<WrittenCase> {};

TEST_P(WriteGguf, IsReadBackWithTheSameNumbersAndConfig) {
  const Written written(gguf_goldens() / GetParam().golden / "target");
  const auto summary = written.write(GetParam().type);
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_GT(summary->quantised, 0);
  EXPECT_LT(summary->bytes_after, summary->bytes_before);
  const auto made = Checkpoint::open(written.to);
  ASSERT_TRUE(made.ok()) << made.error().message;
  compare(*written.source, **made, GetParam().most);
  const auto text_of = [](const std::string& config) {
    const boost::json::object all = boost::json::parse(config).as_object();
    return all.contains("text_config") ? all.at("text_config").as_object() : all;
  };
  const auto was = text_of(written.source->config_json()), is = text_of((*made)->config_json());
  for (const char* name : {"hidden_size", "num_hidden_layers", "num_attention_heads", "layer_types", "sliding_window",
                           "num_kv_shared_layers", "intermediate_size", "use_double_wide_mlp", "attention_k_eq_v",
                           "max_position_embeddings", "vocab_size", "tie_word_embeddings"}) {
    if (was.contains(name)) {
      EXPECT_EQ(was.at(name), is.at(name)) << name;
    }
  }
  const auto tokenizer = (*made)->side_file("tokenizer.json");
  ASSERT_TRUE(tokenizer.ok() && *tokenizer);
  EXPECT_FALSE(fs::exists(written.to.string() + ".partial"));
}

// Goldens have random weights in rows of 96 and the like, where blocks of 256 give way to those of 32.
INSTANTIATE_TEST_SUITE_P(Goldens, WriteGguf,
                         testing::Values(WrittenCase{"dense", "Q8_0", 0.01}, WrittenCase{"dense", "Q4_0", 0.1},
                                         WrittenCase{"dense", "Q4_K_M", 0.1}, WrittenCase{"moe", "Q8_0", 0.01},
                                         WrittenCase{"moe", "Q4_K_M", 0.1}, WrittenCase{"ple", "Q8_0", 0.01},
                                         WrittenCase{"ple", "Q4_K_M", 0.1}, WrittenCase{"vlm", "Q8_0", 0.01}),
                         [](const auto& one) { return one.param.golden + "_" + one.param.type; });

TEST(WriteGgufRefuses, WhatIsThereAlreadyAndWhatIsPacked) {
  const Written written(gguf_goldens() / "dense" / "target");
  ASSERT_TRUE(written.write("Q8_0").ok());
  EXPECT_THAT(written.write("Q8_0").error().message, HasSubstr("exists"));
  EXPECT_THAT(GgufRecipe::named("Q3_K").error().message, HasSubstr("Q4_K_M"));
  ThreadPool pool(1);
  const auto packed = *Checkpoint::open(fs::path(PACELINE_SOURCE_DIR) / "models" / "default");
  const auto refused = write_gguf(*packed, written.scratch.path() / "again.gguf", *GgufRecipe::named("Q8_0"), pool);
  EXPECT_THAT(refused.error().message, HasSubstr("packed"));
  EXPECT_FALSE(fs::exists(written.scratch.path() / "again.gguf"));
}

TEST(WriteGgufRefuses, ATokenizerThatIsNotGemmas) {
  const Written written(gguf_goldens() / "dense" / "target");
  fs::remove(written.from / "tokenizer.json");
  fs::copy_file(gguf_goldens() / "tokenizer.json", written.from / "tokenizer.json");
  EXPECT_THAT(written.write("Q8_0").error().message, HasSubstr("normalizer"));
  EXPECT_FALSE(fs::exists(written.to));
}

TEST(WriteGgufBeside, OtherModelsKeepTheirProjectors) {
  const Written seeing(gguf_goldens() / "vlm" / "target"), blind(gguf_goldens() / "dense" / "target");
  ASSERT_TRUE(seeing.write("Q8_0").ok());
  ASSERT_TRUE(blind.write("Q8_0").ok());
  const fs::path other = seeing.scratch.path() / "other.gguf";
  fs::copy_file(blind.to, other);
  const auto has_vision = [](const fs::path& file) {
    return boost::json::parse((*Checkpoint::open(file))->config_json()).as_object().contains("vision_config");
  };
  EXPECT_TRUE(has_vision(seeing.to));
  EXPECT_FALSE(has_vision(other));
  fs::remove(seeing.to);
  EXPECT_TRUE(has_vision(other)) << "a projector that is nobody else's";
}

TEST(WriteGgufRefuses, AFamilyThatItDoesNotKnow) {
  Written written(gguf_goldens() / "dense" / "target");
  fs::remove(written.from / "config.json");
  written.scratch.write("model/config.json", R"({"model_type": "llama"})");
  written.source = *Checkpoint::open(written.from);
  EXPECT_THAT(written.write("Q8_0").error().message,
              testing::AllOf(HasSubstr("Gemma 4"), HasSubstr("Qwen3.5"), HasSubstr("llama")));
}

TEST(WriteGgufOf, ADrafterNeedsNoWordsOfItsOwn) {
  const ScratchFolder scratch;
  const auto source = *Checkpoint::open(gguf_goldens() / "dense" / "assistant");
  ThreadPool pool(1);
  const fs::path to = scratch.path() / "assistant.gguf";
  const auto summary = write_gguf(*source, to, *GgufRecipe::named("Q8_0"), pool);
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  const auto made = Checkpoint::open(to);
  ASSERT_TRUE(made.ok()) << made.error().message;
  compare(*source, **made, 0.01);
}

}  // namespace
}  // namespace paceline
