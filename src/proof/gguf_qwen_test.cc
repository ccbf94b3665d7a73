// Qwen's goldens as GGUF files and back: every tensor in the format's own order, the config, the tokenizer, and what
// the model that opens the file computes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cmath>
#include <numeric>

#include "kernels/cpu_ops.h"
#include "model/qwen/config_reader.h"
#include "model/qwen/mtp_checkpoint_for_tests.h"
#include "model/qwen/mtp_weights.h"
#include "proof/file_logits_for_tests.h"
#include "proof/goldens.h"
#include "session/text_model.h"
#include "tensor/blocks.h"
#include "tokenizer/tokenizers_for_tests.h"
#include "weights/gguf/gguf_tensors.h"
#include "weights/gguf/tensor_numbers_for_tests.h"
#include "weights/gguf/writing/write_gguf.h"
#include "weights/gguf/writing/written_qwen.h"
#include "weights/gguf/writing/written_vocabulary.h"
#include "weights/quantizer.h"
#include "weights/scratch_folder.h"

namespace paceline {
namespace {
namespace qwen_files {

namespace fs = std::filesystem;
using testing::HasSubstr;

fs::path golden_folder(const std::string& name) {
  const fs::path source(PACELINE_SOURCE_DIR);
  if (fs::exists(source / "tests/goldens" / name)) return source / "tests/goldens" / name / "target";
  const char* shared = std::getenv("PACELINE_SHARED");
  return (shared != nullptr ? fs::path(shared) : source / "../shared") / "goldens" / name / "target";
}

ByteTokenizerText words_of(bool recurrent) {
  ByteTokenizerText words;
  words.words = recurrent ? kQwen35Words : kQwen3Words;
  words.merges = {{"h", "e"}, {"l", "l"}, {"he", "ll"}, {"Ġ", "w"}, {"Ì", "ģ"}};
  words.added_tokens =
      R"([{"id": 300, "content": "<|endoftext|>", "special": true, "normalized": false},
          {"id": 302, "content": "<|im_end|>", "special": true, "normalized": false},
          {"id": 303, "content": "<think>", "special": false, "normalized": false}])";
  return words;
}

// A golden's folder with a tokenizer of its kind, and the file that is made of it.
struct Files {
  ScratchFolder scratch;
  fs::path from = scratch.path() / "model", to = scratch.path() / "model.gguf";

  explicit Files(const std::string& golden) {
    fs::create_directories(from);
    for (const auto& entry : fs::directory_iterator(golden_folder(golden)))
      fs::create_symlink(entry.path(), from / entry.path().filename());
    add_words(golden);
  }
  Files(const std::string& golden, const ChangedCheckpoint& changed) {
    const ScratchFolder made;
    changed.write(made);
    fs::copy(made.path(), from, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    add_words(golden);
  }

  Status write(std::string_view type) const {
    ThreadPool pool(2);
    TRY_ASSIGN(const auto source, Checkpoint::open(from));
    TRY_ASSIGN(const GgufRecipe recipe, GgufRecipe::named(type));
    TRY(write_gguf(*source, to, recipe, pool));
    return Done{};
  }

 private:
  void add_words(const std::string& golden) const {
    scratch.write("model/tokenizer.json", words_of(golden.starts_with("qwen35")).text().json());
    scratch.write("model/tokenizer_config.json", R"({"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"})");
    scratch.write("model/chat_template.jinja", "{{ messages[0]['content'] }}");
  }
};

// What the source has, in the order that files have: value heads g0v0 g1v0 … g0v1 g1v1 …, norms with the one in them.
class Expected {
 public:
  Expected(const Checkpoint& source, const qwen::QwenConfig& config) : source_(source), c_(config) {}

  std::vector<float> of(const TensorView& tensor, const std::string& name) const {
    std::vector<float> values = numbers_of(tensor);
    const auto is = [&](const char* end) { return name.ends_with(end); };
    const size_t cols = static_cast<size_t>(tensor.shape.back());
    const auto d = static_cast<size_t>(c_.delta.value_dim);
    if (is("A_log"))
      for (float& value : values) value = -std::exp(value);
    if (is("A_log") || is("dt_bias")) return dealt(values, 0, 1);
    if (is("in_proj_a.weight") || is("in_proj_b.weight")) return dealt(values, 0, cols);
    if (is("in_proj_z.weight")) return dealt(values, 0, d * cols);
    if (is("in_proj_qkv.weight") || is("conv1d.weight"))
      return dealt(values, 2 * static_cast<size_t>(c_.delta.keys()) * cols, d * cols);
    if (is("linear_attn.out_proj.weight")) return dealt_columns(values, cols);
    const bool norm = name.find("norm") != std::string::npos && !is("linear_attn.norm.weight");
    if (norm && c_.norms_from_one)
      for (float& value : values) value += 1.0f;
    return values;
  }

 private:
  std::vector<float> dealt(const std::vector<float>& values, size_t before, size_t each) const {
    std::vector<float> to(values.begin(), values.begin() + static_cast<int64_t>(before));
    const int32_t groups = c_.delta.key_heads, of_each = c_.delta.value_heads / groups;
    for (int32_t v = 0; v < of_each; ++v)
      for (int32_t g = 0; g < groups; ++g) {
        const auto head = values.begin() + static_cast<int64_t>(before + static_cast<size_t>(g * of_each + v) * each);
        to.insert(to.end(), head, head + static_cast<int64_t>(each));
      }
    return to;
  }
  std::vector<float> dealt_columns(const std::vector<float>& values, size_t cols) const {
    std::vector<float> to;
    for (size_t row = 0; row < values.size() / cols; ++row) {
      const auto at = values.begin() + static_cast<int64_t>(row * cols);
      const auto part = dealt({at, at + static_cast<int64_t>(cols)}, 0, static_cast<size_t>(c_.delta.value_dim));
      to.insert(to.end(), part.begin(), part.end());
    }
    return to;
  }

  const Checkpoint& source_;
  const qwen::QwenConfig& c_;
};

// Where a tensor of a folder is found in a file: itself, or a part of another's numbers.
struct Found {
  const TensorView* tensor = nullptr;
  std::vector<float> values;
};

Found find_in(const Checkpoint& made, std::string name, const TensorView& source) {
  for (const char* part : {"language_model."})
    if (const size_t at = name.find(part); at != std::string::npos) name.erase(at, std::strlen(part));
  if (name.ends_with("A_log")) name.resize(name.size() - 4);
  if (const size_t at = name.find("experts."); at != std::string::npos && name.find("shared") == std::string::npos) {
    const std::string layer = name.substr(0, at) + "switch_mlp.";
    std::string part = name.substr(at + 8);
    if (part == "gate_up_proj") {
      // Gate's rows before up's, of every expert.
      const TensorView* gate = made.find(layer + "gate_proj.weight");
      const std::vector<float> gates = numbers_of(*gate), ups = numbers_of(*made.find(layer + "up_proj.weight"));
      const size_t one = gates.size() / static_cast<size_t>(source.shape[0]);
      Found found{gate, {}};
      for (size_t at_expert = 0; at_expert < gates.size(); at_expert += one)
        for (const auto* half : {&gates, &ups})
          found.values.insert(found.values.end(), half->begin() + static_cast<int64_t>(at_expert),
                              half->begin() + static_cast<int64_t>(at_expert + one));
      return found;
    }
    if (part == "down_proj") {
      const TensorView* down = made.find(layer + "down_proj.weight");
      return {down, numbers_of(*down)};
    }
    const size_t expert = static_cast<size_t>(std::stoi(part));
    const TensorView* stack = made.find(layer + part.substr(part.find('.') + 1));
    if (stack == nullptr) return {};
    const std::vector<float> all = numbers_of(*stack);
    const size_t one = all.size() / static_cast<size_t>(stack->shape[0]);
    return {stack,
            {all.begin() + static_cast<int64_t>(expert * one), all.begin() + static_cast<int64_t>((expert + 1) * one)}};
  }
  const TensorView* tensor = made.find(name);
  return tensor == nullptr ? Found{} : Found{tensor, numbers_of(*tensor)};
}

double relative_difference(const std::vector<float>& want, const std::vector<float>& got) {
  double error = 0, power = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    error += (want[i] - got[i]) * static_cast<double>(want[i] - got[i]);
    power += static_cast<double>(want[i]) * want[i];
  }
  return std::sqrt(error / std::max(power, 1e-30));
}

void expect_tensors(const Files& files, double most) {
  const auto source = *Checkpoint::open(files.from);
  const auto made = Checkpoint::open(files.to);
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto config = *qwen::read_config(source->config_json(), "");
  const Expected expected(*source, config);
  for (const TensorView& tensor : source->tensors()) {
    const Found found = find_in(**made, tensor.name, tensor);
    ASSERT_NE(found.tensor, nullptr) << tensor.name;
    const std::vector<float> want = expected.of(tensor, tensor.name);
    ASSERT_EQ(want.size(), found.values.size()) << tensor.name;
    const double allowed = in_blocks(found.tensor->blocks) ? most : found.tensor->dtype == DType::f16 ? 1e-3 : 0;
    EXPECT_LE(relative_difference(want, found.values), allowed) << tensor.name;
  }
}

void expect_config(const Files& files) {
  const auto source = *Checkpoint::open(files.from), made = *Checkpoint::open(files.to);
  auto was = *qwen::read_config(source->config_json(), source->generation_config_json());
  auto is = *qwen::read_config(made->config_json(), made->generation_config_json());
  EXPECT_EQ(is.delta.dealt, was.is_recurrent());
  EXPECT_FALSE(is.norms_from_one);
  is.delta.dealt = false;
  is.norms_from_one = was.norms_from_one;
  // The text's alone; stops and the like are the tokenizer's here.
  is.model_type = was.model_type;
  is.ids = was.ids;
  is.stop_ids = was.stop_ids;
  is.mtp_layers = was.mtp_layers;
  if (was.experts > 0) is.ffn = was.ffn;
  EXPECT_EQ(is, was);
}

void expect_words(const Files& files) {
  ThreadPool pool(2);
  const auto was = load_text_model(files.from, pool), is = load_text_model(files.to, pool);
  ASSERT_TRUE(was.ok() && is.ok()) << (was.ok() ? is.error().message : was.error().message);
  for (const char* text :
       {"hello world", " hello  12 345\n\nx", "e\xcc\x81n\xcc\x81 \xe0\xa4\xb9\xe0\xa4\xbf\xe0\xa4\x82",
        "<think>hell</think><|im_end|>", "don't\t!!"}) {
    const auto ids = was->tokenizer.encode(text, true);
    EXPECT_EQ(is->tokenizer.encode(text, true), ids) << text;
    for (const bool skips : {false, true})
      EXPECT_EQ(is->tokenizer.decode(ids, skips), was->tokenizer.decode(ids, skips));
  }
  EXPECT_EQ(*is->never_sampled, *was->never_sampled);
  EXPECT_THAT(is->stop_ids, testing::IsSupersetOf({300, 302}));
  EXPECT_TRUE(is->has_chat());
}

double largest_difference_of(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(static_cast<double>(a[i]) - b[i]));
  return most;
}

class GgufQwen : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!fs::exists(golden_folder(GetParam())))
      GTEST_SKIP() << "PACELINE_SHARED names the folder that holds goldens/" << GetParam();
  }
};

TEST_P(GgufQwen, IsReadBackTensorByTensor) {
  struct Case {
    const char* type;
    double most;
  };
  for (const Case& one : {Case{"BF16", 0}, {"Q8_0", 0.01}, {"Q4_0", 0.1}, {"Q4_K_M", 0.1}}) {
    SCOPED_TRACE(one.type);
    const Files files(GetParam());
    const Status written = files.write(one.type);
    ASSERT_TRUE(written.ok()) << written.error().message;
    expect_tensors(files, one.most);
    expect_config(files);
  }
}

TEST_P(GgufQwen, SpeaksTheSameWords) {
  const Files files(GetParam());
  ASSERT_TRUE(files.write("Q8_0").ok());
  expect_words(files);
}

TEST_P(GgufQwen, ComputesWhatTheFolderDoes) {
  ThreadPool pool(2);
  const Files plain(GetParam());
  ASSERT_TRUE(plain.write("BF16").ok());
  // Sums over the value heads are in the files' order, of which there are none without recurrent layers.
  const double most = GetParam().starts_with("qwen35") ? kF32Tolerance : 0;
  for (const kernels::CpuTable* table : kernels::cpu_tables()) {
    kernels::CpuOps ops(*table, pool);
    const auto want = logits_of(plain.from, ops, pool), got = logits_of(plain.to, ops, pool);
    ASSERT_EQ(want.size(), got.size());
    EXPECT_LE(largest_difference_of(want, got), most) << table->name;
  }
}

// The same file with the numbers that its blocks mean.
void write_unpacked(const Files& files, const fs::path& to) {
  const auto source = *Checkpoint::open(files.from);
  const auto packed = *GgufFiles::open(files.to);
  const auto config = boost::json::parse(source->config_json()).as_object();
  GgufKeys keys;
  ASSERT_TRUE(add_qwen_keys(config, *QwenForm::of(*source, config), &keys).ok());
  ASSERT_TRUE(add_byte_vocabulary_keys(*source, packed.find("token_embd.weight")->shape[0], &keys).ok());
  std::vector<GgufTensorPlan> plans;
  for (const GgufTensor& tensor : packed.headers.front().tensors)
    plans.push_back({std::string(tensor.name), tensor.shape, kWrittenFloats});
  auto writer = GgufWriter::create(to, keys, plans);
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  for (size_t i = 0; i < plans.size(); ++i) {
    const std::vector<float> values = *gguf_floats(packed, packed.headers.front().tensors[i]);
    ASSERT_TRUE(writer->write(i, 0, std::as_bytes(std::span(values))).ok());
  }
  ASSERT_TRUE(writer->finish().ok());
}

TEST_P(GgufQwen, ComputesWithTheNumbersOfItsBlocks) {
  ThreadPool pool(2);
  for (const char* type : {"Q8_0", "Q4_0", "Q4_K_M"}) {
    const Files files(GetParam());
    ASSERT_TRUE(files.write(type).ok());
    const fs::path unpacked = files.scratch.path() / "unpacked.gguf";
    write_unpacked(files, unpacked);
    for (const kernels::CpuTable* table : kernels::cpu_tables()) {
      kernels::CpuOps ops(*table, pool);
      const auto want = logits_of(unpacked, ops, pool), got = logits_of(files.to, ops, pool);
      EXPECT_LE(largest_difference_of(want, got), kF32Tolerance) << type << ", " << table->name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, GgufQwen, testing::Values("qwen3", "qwen3-moe", "qwen35", "qwen35-moe"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Its own drafter is the layer behind the last.
TEST(GgufQwenDrafter, IsInTheFileWithIt) {
  ThreadPool pool(2);
  for (const char* golden : {"qwen35", "qwen35-moe"}) {
    SCOPED_TRACE(golden);
    const Files files(golden, with_random_mtp(golden));
    const Status written = files.write("BF16");
    ASSERT_TRUE(written.ok()) << written.error().message;
    const auto was = qwen::as_qwen(load_model(files.from, pool).value().weights);
    const auto model = load_model(files.to, pool);
    ASSERT_TRUE(model.ok()) << model.error().message;
    const auto is = qwen::as_qwen(model->weights);
    EXPECT_EQ(is->config.layer_count(), was->config.layer_count());
    ASSERT_TRUE(qwen::has_mtp(*is));
    const auto want = qwen::bind_mtp(*was, pool), got = qwen::bind_mtp(*is, pool);
    ASSERT_TRUE(want.ok() && got.ok()) << (got.ok() ? want.error().message : got.error().message);
    EXPECT_EQ((*got)->final_norm, (*want)->final_norm);
    EXPECT_EQ((*got)->embedding_norm, (*want)->embedding_norm);
    EXPECT_EQ((*got)->hidden_norm, (*want)->hidden_norm);
    EXPECT_EQ((*got)->layer.input_norm, (*want)->layer.input_norm);
    EXPECT_EQ((*got)->join.rows, (*want)->join.rows);
    EXPECT_EQ((*got)->layer.attention.q_norm, (*want)->layer.attention.q_norm);
  }
}

TEST(GgufQwenRefuses, WhatTheFormatHasNoWordFor) {
  const auto error_with = [](const char* golden, const char* field, const boost::json::value& value) {
    const Files files(golden);
    const auto source = *Checkpoint::open(files.from);
    auto config = boost::json::parse(source->config_json()).as_object();
    config[field] = value;
    fs::remove(files.from / "config.json");
    files.scratch.write("model/config.json", boost::json::serialize(config));
    const Status written = files.write("Q8_0");
    EXPECT_FALSE(fs::exists(files.to));
    return written.ok() ? "" : written.error().message;
  };
  EXPECT_THAT(error_with("qwen35", "linear_num_value_heads", 6), HasSubstr("value heads"));
  EXPECT_THAT(error_with("qwen35", "linear_num_value_heads", 3), HasSubstr("linear_num_value_heads"));
  EXPECT_THAT(error_with("qwen3", "rope_parameters", boost::json::object{{"rope_type", "linear"}}),
              HasSubstr("rope_type"));
  const Files files("qwen3");
  files.scratch.write("model/tokenizer.json", R"({"model": {"vocab": {"a": 0}, "merges": []}})");
  EXPECT_THAT(files.write("Q8_0").error().message, HasSubstr("Qwen's"));
}

}  // namespace qwen_files
}  // namespace
}  // namespace paceline
