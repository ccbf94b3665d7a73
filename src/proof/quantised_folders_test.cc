// Whole folders in every quantised format of safetensors, written from a golden's weights: the model that opens them
// computes what it computes from their numbers in float32, and drafts change none of its tokens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <numeric>
#include <optional>

#include "kernels/cpu_ops.h"
#include "model/gemma4/place.h"
#include "model/gemma4/report.h"
#include "model/load.h"
#include "model/quantised_writer_for_tests.h"
#include "proof/golden_engine_for_tests.h"
#include "proof/goldens.h"
#include "proof/identity.h"
#include "proof/long_form_for_tests.h"
#include "proof/wide_weights.h"
#include "weights/made_memory.h"

namespace paceline {
namespace {

struct Scheme {
  const char* name;
  const char* config;  // quantization_config
  std::function<std::optional<WrittenModule>(const std::string&, const FloatMatrix&)> write;
  bool integers = false;  // multiplied with activations in 8 bits, whatever the precision
  bool stacked = false;   // experts in one tensor

  friend void PrintTo(const Scheme& scheme, std::ostream* out) { *out << scheme.name; }
};

std::vector<int32_t> scattered_groups(int64_t cols, int64_t group) {
  std::vector<int32_t> order;
  for (int64_t k = 0; k < cols; ++k) order.push_back(static_cast<int32_t>(k % (cols / group)));
  return order;
}

bool of_attention(const std::string& name) { return name.find("attn.") != std::string::npos; }

std::vector<Scheme> schemes() {
  const IntegerGroups f16_groups{4, 32, true, DType::f16, {}};
  return {
      {"nvfp4_compressed", R"({"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized"})",
       [](const auto& name, const auto& from) { return write_nvfp4(name, from, true); }},
      {"nvfp4_modelopt", R"({"quant_method": "modelopt", "quant_algo": "NVFP4"})",
       [](const auto& name, const auto& from) { return write_nvfp4(name, from, false); }},
      {"fp8_channels", R"({"quant_method": "compressed-tensors", "format": "float-quantized"})",
       [](const auto& name, const auto& from) {
         return write_fp8(name, from, {1, 0, {from.rows, 1}, DType::bf16});
       }},
      {"fp8_blocks", R"({"quant_method": "compressed-tensors", "format": "float-quantized"})",
       [](const auto& name, const auto& from) {
         return write_fp8(name, from, {128, 128, {(from.rows + 127) / 128, (from.cols + 127) / 128}, DType::bf16});
       }},
      {"fp8_modelopt", R"({"quant_method": "modelopt", "quant_algo": "FP8"})",
       [](const auto& name, const auto& from) {
         return write_fp8(name, from, {0, 0, {}, DType::f32});
       }},
      {"mixture", R"({"quant_method": "compressed-tensors", "format": "mixed-precision", "config_groups": {
                      "a": {"format": "float-quantized", "weights": {"num_bits": 8, "type": "float"}},
                      "b": {"format": "nvfp4-pack-quantized", "weights": {"num_bits": 4, "type": "float"}}}})",
       [](const auto& name, const auto& from) {
         return of_attention(name) ? write_fp8(name, from, {1, 0, {from.rows, 1}, DType::bf16})
                                   : write_nvfp4(name, from, true);
       }},
      {"packed", R"({"quant_method": "compressed-tensors", "format": "pack-quantized"})",
       [](const auto& name, const auto& from) {
         return write_packed(name, from, {4, 32, false, DType::bf16, {}});
       },
       true},
      {"packed_stacks", R"({"quant_method": "compressed-tensors", "format": "pack-quantized"})",
       [](const auto& name, const auto& from) {
         return write_packed(name, from, {4, 32, true, DType::bf16, {}});
       },
       true, true},
      {"packed_8_bits", R"({"quant_method": "compressed-tensors", "format": "pack-quantized"})",
       [](const auto& name, const auto& from) {
         return write_packed(name, from, {8, 32, true, DType::bf16, {}});
       },
       true},
      {"packed_scattered", R"({"quant_method": "compressed-tensors", "format": "pack-quantized"})",
       [](const auto& name, const auto& from) {
         IntegerGroups how{4, 32, true, DType::bf16, {}};
         if (name.find("experts") == std::string::npos) how.column_group = scattered_groups(from.cols, 32);
         return write_packed(name, from, how);
       },
       true},
      {"gptq", R"({"quant_method": "gptq", "bits": 4, "group_size": 32})",
       [f16_groups](const auto& name, const auto& from) { return write_gptq(name, from, f16_groups, true); }, true},
      {"awq", R"({"quant_method": "awq", "bits": 4, "group_size": 32})",
       [f16_groups](const auto& name, const auto& from) { return write_awq(name, from, f16_groups); }, true},
      {"nf4", R"({"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_type": "nf4"})",
       [](const auto& name, const auto& from) -> std::optional<WrittenModule> {
         if (from.cols % 64 != 0) return std::nullopt;
         return write_bitsandbytes(name, from, "nf4", true);
       }},
  };
}

FloatMatrix floats_of(const ChangedCheckpoint::One& one, int64_t first_row, int64_t rows) {
  FloatMatrix made{rows, one.plan.shape.back(), {}};
  for (int64_t i = first_row * made.cols; i < (first_row + rows) * made.cols; ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, one.bytes.data() + 2 * i, 2);
    made.values.push_back(bf16_to_f32(bits));
  }
  return made;
}

bool is_linear(const TensorPlan& plan) {
  if (plan.shape.size() != 2 || plan.name.find("layers.") == std::string::npos) return false;
  return plan.name.ends_with("_proj.weight");
}

// A golden's folder in a scheme, and another one with the same numbers in float32.
class Folders {
 public:
  ScratchFolder quantised, plain;
  int modules = 0;

  Folders(const std::string& golden, const Scheme& scheme) : scheme_(scheme), changed_(golden), reference_(golden) {
    const ChangedCheckpoint all(golden);
    for (const auto& one : all.all) {
      if (is_linear(one.plan))
        put(one, one.plan.name.substr(0, one.plan.name.size() - 7));
      else if (one.plan.name.ends_with("experts.gate_up_proj") || one.plan.name.ends_with("experts.down_proj"))
        put_experts(one);
    }
    boost::json::object config = boost::json::parse(changed_.config).as_object();
    config["quantization_config"] = boost::json::parse(scheme.config);
    changed_.config = boost::json::serialize(config);
    changed_.write(quantised);
    reference_.write(plain);
    // For tests/gpu/quantised_values.py.
    if (const char* kept = std::getenv("PACELINE_KEEP_QUANTISED")) keep(kept, golden);
  }

 private:
  void put_values(const std::string& name, const std::vector<float>& values) {
    ChangedCheckpoint::One& one = reference_.at(name);
    one.plan.dtype = DType::f32;
    const auto bytes = std::as_bytes(std::span(values));
    one.bytes.assign(bytes.begin(), bytes.end());
  }

  void keep(const std::filesystem::path& where, const std::string& golden) const {
    const auto folder = where / (std::string(scheme_.name) + "-" + golden.substr(0, golden.find('/')));
    std::filesystem::create_directories(folder);
    constexpr auto kAll = std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing;
    std::filesystem::copy(quantised.path(), folder / "quantised", kAll);
    std::filesystem::copy(plain.path(), folder / "plain", kAll);
  }

  void add(WrittenModule&& written) {
    for (auto& tensor : written.tensors) changed_.all.push_back(std::move(tensor));
    ++modules;
  }

  void put(const ChangedCheckpoint::One& one, const std::string& module) {
    auto written = scheme_.write(module, floats_of(one, 0, one.plan.shape[0]));
    if (!written) return;
    changed_.erase(one.plan.name);
    put_values(one.plan.name, written->values);
    add(std::move(*written));
  }

  // All experts in one tensor: their parts one behind the other, and no ".weight" in the names.
  void put_stack(const ChangedCheckpoint::One& one) {
    const int64_t experts = one.plan.shape[0], rows = one.plan.shape[1];
    WrittenModule all;
    for (int64_t e = 0; e < experts; ++e) {
      WrittenModule written = *scheme_.write(one.plan.name, floats_of(one, e * rows, rows));
      all.values.insert(all.values.end(), written.values.begin(), written.values.end());
      for (size_t i = 0; i < written.tensors.size(); ++i) {
        auto& tensor = written.tensors[i];
        if (e == 0) {
          tensor.plan.name.erase(one.plan.name.size(), std::string_view(".weight").size());
          tensor.plan.shape.insert(tensor.plan.shape.begin(), experts);
          all.tensors.push_back(std::move(tensor));
        } else {
          auto& bytes = all.tensors[i].bytes;
          bytes.insert(bytes.end(), tensor.bytes.begin(), tensor.bytes.end());
        }
      }
    }
    changed_.erase(one.plan.name);
    put_values(one.plan.name, all.values);
    add(std::move(all));
  }

  // One module for each expert, gate and up apart.
  void put_experts(const ChangedCheckpoint::One& one) {
    if (scheme_.stacked) return put_stack(one);
    const int64_t experts = one.plan.shape[0], rows = one.plan.shape[1];
    const bool gates = one.plan.name.ends_with("gate_up_proj");
    const std::string before = one.plan.name.substr(0, one.plan.name.rfind("experts.") + 8);
    const std::vector<const char*> names = gates ? std::vector{"gate_proj", "up_proj"} : std::vector{"down_proj"};
    const int64_t part = rows / static_cast<int64_t>(names.size());
    std::vector<float> values;
    std::vector<WrittenModule> made;
    for (int64_t e = 0; e < experts; ++e)
      for (size_t i = 0; i < names.size(); ++i) {
        const FloatMatrix from = floats_of(one, e * rows + static_cast<int64_t>(i) * part, part);
        auto written = scheme_.write(before + std::to_string(e) + "." + names[i], from);
        if (!written) return;
        values.insert(values.end(), written->values.begin(), written->values.end());
        made.push_back(std::move(*written));
      }
    changed_.erase(one.plan.name);
    put_values(one.plan.name, values);
    for (WrittenModule& written : made) add(std::move(written));
  }

  const Scheme& scheme_;
  ChangedCheckpoint changed_, reference_;
};

class QuantisedFoldersTest : public testing::TestWithParam<Scheme> {
 protected:
  QuantisedFoldersTest() : pool_(2), ops_(*kernels::cpu_tables().front(), pool_) {}

  LoadedModel load(const ScratchFolder& folder) {
    auto model = load_model(folder.path(), pool_, {});
    EXPECT_TRUE(model.ok()) << model.error().message;
    return std::move(*model);
  }

  static std::vector<float> logits(Forward& forward) {
    const std::vector<TokenId> text = text_of(40);
    KvCache kv(forward.kv_layout(), 40);
    std::vector<int32_t> rows(text.size());
    std::iota(rows.begin(), rows.end(), 0);
    const SeqRows seq{&kv, 40};
    const ForwardOutput output = forward.run({text, {&seq, 1}, rows, {}});
    return {output.logits, output.logits + text.size() * static_cast<size_t>(forward.config().vocab)};
  }

  static double difference(const std::vector<float>& a, const std::vector<float>& b) {
    double most = 0;
    for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::fabs(static_cast<double>(a[i] - b[i])));
    return most;
  }

  static double mean_difference(const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += std::fabs(static_cast<double>(a[i] - b[i]));
    return sum / static_cast<double>(a.size());
  }

  ThreadPool pool_;
  kernels::CpuOps ops_;
};

TEST_P(QuantisedFoldersTest, HaveTheLogitsOfTheirNumbers) {
  // Activations of bf16 or eight bits move these models' logits by some hundredths (and a row's by more where another
  // expert is chosen); numbers in wrong places move them by units.
  constexpr double kRounded = 0.1;
  for (const char* golden : {"dense/target", "moe/target", "qwen3/target"}) {
    SCOPED_TRACE(golden);
    const Folders folders(golden, GetParam());
    EXPECT_GT(folders.modules, 5);
    const LoadedModel model = load(folders.quantised), plain = load(folders.plain);
    const auto reference = plain.weights->placed_for(ops_)->make_forward(ops_, Precision::f32);
    const std::vector<float> want = logits(*reference);
    for (const kernels::CpuTable* table : kernels::cpu_tables()) {
      kernels::CpuOps ops(*table, pool_);
      const auto placed = model.weights->placed_for(ops);
      const std::vector<float> found = logits(*placed->make_forward(ops, Precision::f32));
      if (!GetParam().integers) {
        EXPECT_LE(difference(found, want), kF32Tolerance) << table->name;
      }
      EXPECT_LE(mean_difference(found, want), kRounded) << table->name;
      EXPECT_LE(mean_difference(logits(*placed->make_forward(ops, Precision::bf16)), want), kRounded) << table->name;
    }
    if (!GetParam().integers || std::string_view(golden) != "dense/target") continue;
    const auto wide = in_float32(*as_gemma4(model.weights), ops_.table())->make_forward(ops_, Precision::f32);
    EXPECT_LE(difference(logits(*wide), want), kF32Tolerance);
  }
}

TEST_P(QuantisedFoldersTest, DraftsChangeNothing) {
  for (const char* golden : {"dense/target", "moe/target"}) {
    SCOPED_TRACE(golden);
    const Folders folders(golden, GetParam());
    const auto forward = load(folders.quantised).weights->placed_for(ops_)->make_forward(ops_, Precision::bf16);
    IdentityPlan plan;
    plan.text = text_of(100);
    plan.prompt_tokens = {1, 70};
    plan.seeds = {7};
    plan.depths = {1, 3, 8, 15};
    plan.max_tokens = 16;
    plan.stride = long_form() ? 3 : 31;
    int64_t compared = 0;
    for (const IdentityCount& count : check_identity(*forward, {}, plan).kinds) {
      EXPECT_EQ(count.runs_equal, count.runs) << drafter_kind_name(count.kind);
      compared += count.tokens;
    }
    EXPECT_GT(compared, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, QuantisedFoldersTest, testing::ValuesIn(schemes()),
                         [](const auto& run) { return std::string(run.param.name); });

// What was rearranged on the way goes once it is placed; what is read stays.
TEST(QuantisedFolders, MemoryMadeOnTheWayGoes) {
  ThreadPool pool(2);
  const auto made = [](const std::vector<std::shared_ptr<const void>>& owners) {
    size_t bytes = 0;
    for (const auto& owner : owners)
      if (const auto* memory = std::get_deleter<MadeMemory>(owner)) bytes += memory->bytes;
    return bytes;
  };
  for (const Scheme& scheme : schemes()) {
    if (std::string_view(scheme.name) != "gptq") continue;
    const Folders folders("dense/target", scheme);
    const auto weights = as_gemma4(load_model(folders.quantised.path(), pool, {}).value().weights);
    const size_t all = made(weights->owners);
    EXPECT_GT(all, weights->total_bytes() / 2);
    for (const kernels::CpuTable* table : kernels::cpu_tables()) {
      kernels::CpuOps ops(*table, pool);
      const size_t left = made(place_weights(weights, ops, {})->owners);
      // The order of columns that are in order is not needed either.
      EXPECT_EQ(left > 0, table->packed_bytes == nullptr) << table->name;
      EXPECT_TRUE(left == 0 || left > all * 9 / 10) << table->name;
    }
  }
}

// What inspect prints.
TEST(QuantisedFolders, AreNamedInReports) {
  ThreadPool pool(2);
  const auto text_of_scheme = [&](size_t scheme) {
    const Folders folders(scheme == 3 ? "dense/target" : "moe/target", schemes()[scheme]);
    const LoadedModel model = load_model(folders.quantised.path(), pool, {}).value();
    return report_text(make_report(model, Hashing::skip).value());
  };
  const std::string nvfp4 = text_of_scheme(1);
  EXPECT_THAT(nvfp4,
              testing::HasSubstr("  quantised      ModelOpt NVFP4; weights only: scales of activations, keys and "
                                 "values are ignored\n"));
  EXPECT_THAT(nvfp4, testing::ContainsRegex("experts +nvfp4 +144 "));
  EXPECT_THAT(text_of_scheme(3), testing::ContainsRegex("ffn +fp8 blocks of 128 "));
  EXPECT_THAT(text_of_scheme(6), testing::HasSubstr("  quantised      compressed-tensors pack-quantized\n"));
}

// ModelOpt's older folders say so in a file of their own.
TEST(QuantisedFolders, AFileBesideTheConfigIsReadToo) {
  const Scheme nvfp4 = schemes()[1];
  Folders folders("dense/target", nvfp4);
  ThreadPool pool(2);
  std::string config = Checkpoint::open(folders.quantised.path()).value()->config_json();
  boost::json::object without = boost::json::parse(config).as_object();
  without.erase("quantization_config");
  folders.quantised.write("config.json", boost::json::serialize(without));
  folders.quantised.write("hf_quant_config.json", R"({"quantization": {"quant_algo": "NVFP4", "group_size": 16}})");
  EXPECT_TRUE(load_model(folders.quantised.path(), pool, {}).ok());
  folders.quantised.write("hf_quant_config.json", R"({"quantization": {"quant_algo": "W4A8_AWQ"}})");
  EXPECT_THAT(load_model(folders.quantised.path(), pool, {}).error().message,
              testing::HasSubstr("hf_quant_config.json.quantization.quant_algo: expected NVFP4"));
}

}  // namespace
}  // namespace paceline
