// Every quantised format of safetensors, module by module: numbers as their descriptions give them, to the bit, and
// errors that name the place where a file says something else.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <numeric>

#include "kernels/portable/matmul.h"
#include "model/quantised_writer_for_tests.h"
#include "model/tensor_binder.h"

namespace paceline {
namespace {

using testing::HasSubstr;

constexpr int64_t kRows = 24, kCols = 256;

FloatMatrix random_matrix(int64_t rows = kRows, int64_t cols = kCols) {
  std::mt19937 random(5);
  std::normal_distribution<float> value(0, 0.1f);
  FloatMatrix made{rows, cols, std::vector<float>(static_cast<size_t>(rows * cols))};
  for (float& v : made.values) v = value(random);
  return made;
}

// A checkpoint of these tensors alone.
class OneModule {
 public:
  explicit OneModule(const std::vector<ChangedCheckpoint::One>& tensors, const std::string& config = "{}") : pool_(2) {
    folder_.write("config.json", config);
    std::vector<TensorPlan> plans;
    for (const auto& one : tensors) plans.push_back(one.plan);
    auto writer = SafetensorsWriter::create(folder_.path() / "model.safetensors", plans, {}).value();
    for (size_t i = 0; i < tensors.size(); ++i) EXPECT_TRUE(writer.write(i, 0, tensors[i].bytes).ok());
    EXPECT_TRUE(writer.finish().ok());
    binder_ = std::make_unique<TensorBinder>(Checkpoint::open(folder_.path()).value(), pool_);
  }

  Status read(int64_t rows, int64_t cols) { return binder_->matrix("m", rows, cols, &matrix); }
  std::string error(int64_t rows = kRows, int64_t cols = kCols) {
    const Status status = read(rows, cols);
    return status.ok() ? "none" : status.error().message;
  }
  TensorBinder& binder() { return *binder_; }

  Matrix matrix;

 private:
  ScratchFolder folder_;
  ThreadPool pool_;
  std::unique_ptr<TensorBinder> binder_;
};

void expect_numbers(const Matrix& m, const std::vector<float>& want) {
  std::vector<float> row(static_cast<size_t>(m.cols));
  for (int32_t n = 0; n < m.rows; ++n) {
    kernels::portable::dequantise(m, n, 1.0f, row.data());
    for (size_t k = 0; k < row.size(); ++k)
      ASSERT_EQ(row[k], want[static_cast<size_t>(n) * row.size() + k]) << n << ", " << k;
  }
}

void expect_values(const WrittenModule& written, WeightFormat format, const std::string& config = "{}",
                   int64_t rows = kRows, int64_t cols = kCols) {
  OneModule one(written.tensors, config);
  const Status status = one.read(rows, cols);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_TRUE(one.binder().untaken().empty()) << one.binder().untaken()[0]->name;
  EXPECT_EQ(one.matrix.format, format);
  expect_numbers(one.matrix, written.values);
}

ChangedCheckpoint::One& tensor_named(WrittenModule& written, std::string_view name) {
  for (auto& one : written.tensors)
    if (one.plan.name == name) return one;
  ADD_FAILURE() << name;
  return written.tensors[0];
}

void reshape(ChangedCheckpoint::One& one, std::vector<int64_t> shape, DType dtype) {
  one.plan.shape = std::move(shape);
  one.plan.dtype = dtype;
  one.bytes.resize(one.plan.bytes());
}

WrittenModule without(WrittenModule written, std::string_view name) {
  std::erase_if(written.tensors, [&](const auto& one) { return one.plan.name == name; });
  return written;
}

WrittenModule with(WrittenModule written, const std::string& name, DType dtype, std::vector<int64_t> shape) {
  TensorPlan plan{name, dtype, std::move(shape)};
  std::vector<std::byte> zeros(plan.bytes());
  written.tensors.push_back({std::move(plan), std::move(zeros)});
  return written;
}

TEST(Nvfp4, HasItsValuesInBothSpellings) {
  for (const bool divides : {true, false})
    expect_values(write_nvfp4("m", random_matrix(), divides), WeightFormat::nvfp4_split);
}

// Every code with every scale, negative ones and the smallest too.
TEST(Nvfp4, EveryCodeWithEveryScale) {
  std::vector<uint8_t> codes, scales;
  std::vector<float> want;
  constexpr float kGlobal = 1234.567f;
  for (int scale = 0; scale < 256; ++scale) {
    scales.push_back(static_cast<uint8_t>((scale & 127) == 127 ? 0 : scale));
    for (int code = 0; code < 16; code += 2) codes.push_back(static_cast<uint8_t>(code | (code + 1) << 4));
    for (const float value : kFp4Values) want.push_back(value * f8_value(scales.back()) / kGlobal);
  }
  WrittenModule written;
  written.add("m.weight_packed", DType::u8, {16, 128}, codes);
  written.add("m.weight_scale", DType::f8_e4m3, {16, 16}, scales);
  written.add("m.weight_global_scale", DType::f32, {1}, std::vector<float>{kGlobal});
  written.values = want;
  expect_values(written, WeightFormat::nvfp4_split, "{}", 16, 256);
}

TEST(Nvfp4, ErrorsNameThePlace) {
  const auto changed = [](std::string_view name, std::vector<int64_t> shape, DType dtype) {
    WrittenModule written = write_nvfp4("m", random_matrix(), true);
    reshape(tensor_named(written, name), std::move(shape), dtype);
    return OneModule(written.tensors).error();
  };
  EXPECT_THAT(changed("m.weight_packed", {kRows, kCols}, DType::u8),
              HasSubstr("\"m.weight_packed\": expected shape [24, 128], found [24, 256]"));
  EXPECT_THAT(changed("m.weight_scale", {kRows, kCols / 32}, DType::f8_e4m3),
              HasSubstr("\"m.weight_scale\": expected shape [24, 16], found [24, 8]"));
  EXPECT_THAT(changed("m.weight_scale", {kRows, kCols / 16}, DType::u8),
              HasSubstr("\"m.weight_scale\": expected F8_E4M3, found U8"));
  EXPECT_THAT(changed("m.weight_global_scale", {2}, DType::f32), HasSubstr("m.weight_global_scale\": expected one"));
  EXPECT_THAT(changed("m.weight_global_scale", {1}, DType::bf16), HasSubstr("found BF16 [1]"));
  const WrittenModule good = write_nvfp4("m", random_matrix(), true);
  EXPECT_THAT(OneModule(good.tensors).error(kRows, kCols + 16), HasSubstr("multiple of 32 columns, found 272"));
  EXPECT_THAT(OneModule(without(good, "m.weight_scale").tensors).error(), HasSubstr("m.weight_scale\": is missing"));
  EXPECT_THAT(OneModule(without(good, "m.weight_global_scale").tensors).error(), HasSubstr("is missing"));
  EXPECT_THAT(OneModule(with(good, "m.weight", DType::bf16, {kRows, kCols}).tensors).error(),
              HasSubstr("\"m.weight\": expected it or weight_packed, found both"));
  for (const int code : {0x7f, 0xff}) {
    WrittenModule none = good;
    tensor_named(none, "m.weight_scale").bytes[5 * kCols / 16] = static_cast<std::byte>(code);
    EXPECT_THAT(OneModule(none.tensors).error(),
                HasSubstr("\"m.weight_scale\": expected numbers, found one that is none near row 0"));
  }
  const auto divided_by = [&](float number) {
    WrittenModule written = good;
    std::memcpy(tensor_named(written, "m.weight_global_scale").bytes.data(), &number, sizeof number);
    return OneModule(written.tensors).error();
  };
  EXPECT_THAT(divided_by(0), HasSubstr("expected a finite number to divide by, found 0"));
  EXPECT_THAT(divided_by(NAN), HasSubstr("found nan"));
}

TEST(Fp8, HasItsValuesForAllScales) {
  const FloatMatrix from = random_matrix(200, 320);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    expect_values(write_fp8("m", from, {0, 0, {1}, dtype}), WeightFormat::f8, "{}", 200, 320);
    expect_values(write_fp8("m", from, {0, 0, {}, dtype}), WeightFormat::f8, "{}", 200, 320);
    expect_values(write_fp8("m", from, {1, 0, {200, 1}, dtype}), WeightFormat::f8, "{}", 200, 320);
    expect_values(write_fp8("m", from, {1, 0, {200}, dtype}), WeightFormat::f8, "{}", 200, 320);
    expect_values(write_fp8("m", from, {128, 128, {2, 3}, dtype}), WeightFormat::f8, "{}", 200, 320);
  }
}

TEST(Fp8, ErrorsNameThePlace) {
  const WrittenModule good = write_fp8("m", random_matrix(), {1, 0, {kRows, 1}});
  const auto changed = [&](std::string_view name, std::vector<int64_t> shape, DType dtype) {
    WrittenModule written = good;
    reshape(tensor_named(written, name), std::move(shape), dtype);
    return OneModule(written.tensors).error();
  };
  EXPECT_THAT(changed("m.weight_scale", {kRows, 2}, DType::f32),
              HasSubstr("\"m.weight_scale\": expected one number, [24, 1] or [1, 2], found [24, 2]"));
  EXPECT_THAT(changed("m.weight_scale", {kRows, 1}, DType::i32), HasSubstr("expected BF16 or F16 or F32, found I32"));
  EXPECT_THAT(changed("m.weight", {kRows, kCols / 2}, DType::f8_e4m3), HasSubstr("expected shape [24, 256]"));
  EXPECT_THAT(changed("m.weight", {kRows, kCols}, DType::f8_e5m2), HasSubstr("found F8_E5M2"));
  EXPECT_THAT(OneModule(without(good, "m.weight_scale").tensors).error(), HasSubstr("F8_E4M3 without a weight_scale"));
  EXPECT_THAT(OneModule(with(good, "m.weight_packed", DType::u32, {1}).tensors).error(), HasSubstr("found both"));
  WrittenModule nan = good;
  tensor_named(nan, "m.weight").bytes[1000] = std::byte{0xff};
  EXPECT_THAT(OneModule(nan.tensors).error(), HasSubstr("\"m.weight\": expected numbers, found one that is none"));
  WrittenModule endless = good;
  const float infinity = std::numeric_limits<float>::infinity();
  std::memcpy(tensor_named(endless, "m.weight_scale").bytes.data() + 3 * sizeof infinity, &infinity, sizeof infinity);
  EXPECT_THAT(OneModule(endless.tensors).error(), HasSubstr("\"m.weight_scale\": number 3 is not finite"));
  const WrittenModule other =
      with(without(good, "m.weight_scale"), "m.weight_scale_inv", DType::f32, {(kRows + 127) / 128, kCols / 128});
  EXPECT_THAT(OneModule(other.tensors).error(), HasSubstr("DeepSeek's spelling is not read"));
}

std::vector<int32_t> shuffled_groups(int64_t group) {
  std::vector<int32_t> order(kCols);
  for (size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int32_t>(static_cast<int64_t>(k) / group);
  std::shuffle(order.begin(), order.end(), std::mt19937(9));
  return order;
}

TEST(PackedIntegers, HaveTheirValues) {
  for (const int bits : {4, 8})
    for (const int64_t group : {int64_t{32}, int64_t{64}, int64_t{128}, kCols})
      for (const bool zeros : {false, true})
        for (const bool shuffled : {false, true}) {
          if (shuffled && group == kCols) continue;
          SCOPED_TRACE(testing::Message() << bits << " bits, groups of " << group << (zeros ? ", zeros" : "")
                                          << (shuffled ? ", shuffled" : ""));
          IntegerGroups how{bits, group, zeros, DType::bf16, {}};
          if (shuffled) how.column_group = shuffled_groups(group);
          expect_values(write_packed("m", random_matrix(), how), bits == 4 ? WeightFormat::q4 : WeightFormat::q8);
        }
}

// Without zero points scales stay 16 bits wide.
TEST(PackedIntegers, KeepNarrowScales) {
  OneModule one(write_packed("m", random_matrix(), {}).tensors);
  ASSERT_TRUE(one.read(kRows, kCols).ok());
  EXPECT_EQ(one.matrix.scale_dtype, DType::bf16);
}

TEST(PackedIntegers, GroupsInOrderNeedNoOrder) {
  IntegerGroups how;
  for (int32_t k = 0; k < kCols; ++k) how.column_group.push_back(k / 32);
  OneModule one(write_packed("m", random_matrix(), how).tensors);
  ASSERT_TRUE(one.read(kRows, kCols).ok());
  EXPECT_EQ(one.matrix.columns, nullptr);
}

// Experts in one tensor.
TEST(PackedIntegers, StacksHaveTheirValues) {
  constexpr int64_t kExperts = 3;
  for (const bool zeros : {false, true}) {
    std::vector<WrittenModule> each;
    std::vector<float> values;
    WrittenModule all;
    for (int64_t e = 0; e < kExperts; ++e) {
      FloatMatrix from = random_matrix();
      for (float& v : from.values) v *= static_cast<float>(e + 1);
      each.push_back(write_packed("s", from, {4, 32, zeros, DType::bf16, {}}));
      values.insert(values.end(), each.back().values.begin(), each.back().values.end());
    }
    for (size_t t = 0; t < each[0].tensors.size(); ++t) {
      ChangedCheckpoint::One one = each[0].tensors[t];
      for (size_t e = 1; e < each.size(); ++e)
        one.bytes.insert(one.bytes.end(), each[e].tensors[t].bytes.begin(), each[e].tensors[t].bytes.end());
      one.plan.shape.insert(one.plan.shape.begin(), kExperts);
      one.plan.name.replace(1, 7, "");  // s.weight_packed: s_packed
      all.tensors.push_back(std::move(one));
    }
    OneModule one(all.tensors);
    MatrixStack stack;
    const Status status = one.binder().plain_stack("s", kExperts, kRows, kCols, &stack);
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_TRUE(one.binder().untaken().empty());
    const size_t size = static_cast<size_t>(kRows * kCols);
    for (int32_t e = 0; e < kExperts; ++e) {
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(e) * size);
      expect_numbers(stack.at(e), {first, first + static_cast<std::ptrdiff_t>(size)});
    }
    OneModule again(all.tensors);
    EXPECT_THAT(again.binder().plain_stack("s", kExperts + 1, kRows, kCols, &stack).error().message,
                HasSubstr("\"s_packed\": expected shape [4, 24, 32], found [3, 24, 32]"));
  }
}

TEST(PackedIntegers, ErrorsNameThePlace) {
  const IntegerGroups how{4, 32, true, DType::bf16, shuffled_groups(32)};
  const WrittenModule good = write_packed("m", random_matrix(), how);
  const auto changed = [&](std::string_view name, std::vector<int64_t> shape, DType dtype) {
    WrittenModule written = good;
    reshape(tensor_named(written, name), std::move(shape), dtype);
    return OneModule(written.tensors).error();
  };
  EXPECT_THAT(OneModule(good.tensors).error(kRows + 1), HasSubstr("expected shape [25, 32], found [24, 32]"));
  EXPECT_THAT(OneModule(good.tensors).error(kRows, 3 * kCols), HasSubstr("found weight_packed [24, 32]"));
  EXPECT_THAT(changed("m.weight_packed", {kRows, kCols / 8}, DType::u32), HasSubstr("expected I32, found U32"));
  EXPECT_THAT(changed("m.weight_packed", {kRows, kCols * 3 / 32}, DType::i32), HasSubstr("packed in 4 or 8 bits"));
  EXPECT_THAT(changed("m.weight_scale", {kRows, 7}, DType::bf16), HasSubstr("groups of 32, 64 or 128"));
  EXPECT_THAT(changed("m.weight_scale", {kRows, 8}, DType::u16), HasSubstr("\"m.weight_scale\": expected BF16"));
  EXPECT_THAT(changed("m.weight_zero_point", {kRows, 8}, DType::i32),
              HasSubstr("\"m.weight_zero_point\": expected shape [3, 8], found [24, 8]"));
  EXPECT_THAT(changed("m.weight_g_idx", {kCols - 1}, DType::i32), HasSubstr("expected shape [256], found [255]"));
  EXPECT_THAT(OneModule(with(good, "m.weight", DType::bf16, {kRows, kCols}).tensors).error(), HasSubstr("found both"));
  const auto grouped = [&](size_t column, int32_t group) {
    WrittenModule written = good;
    std::memcpy(tensor_named(written, "m.weight_g_idx").bytes.data() + 4 * column, &group, sizeof group);
    return OneModule(written.tensors).error();
  };
  EXPECT_THAT(grouped(3, 8), HasSubstr("\"m.weight_g_idx\": expected groups from 0 to 7, found 8 at 3"));
  EXPECT_THAT(grouped(3, -1), HasSubstr("found -1 at 3"));
  EXPECT_THAT(grouped(0, (how.column_group[0] + 1) % 8), HasSubstr("found more of group"));
}

std::string gptq_config(const char* format = "gptq") {
  return fmt::format(R"({{"quantization_config": {{"quant_method": "gptq", "bits": 4, "group_size": 32,
                          "checkpoint_format": "{}"}}}})",
                     format);
}

TEST(Gptq, HasItsValues) {
  for (const int bits : {4, 8})
    for (const int64_t group : {int64_t{32}, int64_t{128}, kCols})
      for (const bool zeros : {false, true})
        for (const bool shuffled : {false, true})
          for (const bool less : {false, true}) {
            if (shuffled && group == kCols) continue;
            SCOPED_TRACE(testing::Message() << bits << " bits, groups of " << group << (shuffled ? ", shuffled" : ""));
            IntegerGroups how{bits, group, zeros, DType::f16, {}};
            if (shuffled) how.column_group = shuffled_groups(group);
            expect_values(write_gptq("m", random_matrix(), how, less), bits == 4 ? WeightFormat::q4 : WeightFormat::q8,
                          gptq_config(less ? "gptq" : "gptq_v2"));
          }
}

std::string auto_round_config(const std::string& packing, bool symmetric) {
  return fmt::format(R"({{"quantization_config": {{"quant_method": "auto-round", "bits": 4, "group_size": 128,
                          "sym": {}, "packing_format": "{}"}}}})",
                     symmetric, packing);
}

// AutoRound subtracts one where it packs for AutoGPTQ, and nowhere else: not for GPTQModel, and not in the form that it
// takes for asymmetric files.
TEST(AutoRound, ZerosAreOneTooSmallForAutoGptqAlone) {
  for (const bool zeros : {false, true})
    for (const char* packing : {"auto_round:auto_gptq", "auto_round:gptqmodel", "auto_round", "auto_round:exllamav2",
                                "auto_round:tritonv2"}) {
      SCOPED_TRACE(testing::Message() << packing << (zeros ? ", asymmetric" : ""));
      const bool less = std::string_view(packing) == "auto_round:auto_gptq";
      const IntegerGroups how{4, 128, zeros, DType::f16, {}};
      // It writes no g_idx.
      const WrittenModule written = without(write_gptq("m", random_matrix(), how, less), "m.g_idx");
      expect_values(written, WeightFormat::q4, auto_round_config(packing, false));
      if (!zeros) expect_values(written, WeightFormat::q4, auto_round_config(packing, true));
    }
}

TEST(AutoRound, IsReadAsAwqWhereItPacksForThat) {
  for (const bool zeros : {false, true})
    expect_values(write_awq("m", random_matrix(), {4, 128, zeros, DType::f16, {}}), WeightFormat::q4,
                  auto_round_config("auto_round:auto_awq", false));
}

TEST(Gptq, ExpertsWithActOrderAreRefusedByName) {
  std::vector<ChangedCheckpoint::One> tensors;
  for (const int expert : {0, 1}) {
    IntegerGroups how{4, 32, true, DType::f16, {}};
    if (expert == 1) how.column_group = shuffled_groups(32);
    const WrittenModule one = write_gptq(fmt::format("e.{}.down_proj", expert), random_matrix(), how, true);
    tensors.insert(tensors.end(), one.tensors.begin(), one.tensors.end());
  }
  OneModule experts(tensors, gptq_config());
  MatrixStack stack;
  const Status bound = experts.binder().stack_of("e.", ".down_proj", {2, kRows, kCols}, &stack);
  ASSERT_FALSE(bound.ok());
  EXPECT_THAT(bound.error().message, testing::AllOf(HasSubstr("e.1.down_proj"), HasSubstr("desc_act"),
                                                    HasSubstr("order of its columns"), HasSubstr("outside experts")));
}

// Writers do not agree on what they store then.
TEST(Gptq, ZerosOfSymmetricFilesAreTheMiddle) {
  const std::string config = R"({"quantization_config": {"quant_method": "gptq", "bits": 4, "sym": true}})";
  for (const bool less : {false, true})
    expect_values(write_gptq("m", random_matrix(), {4, 64, false, DType::f16, {}}, less), WeightFormat::q4, config);
}

TEST(Gptq, ErrorsNameThePlace) {
  const WrittenModule good = write_gptq("m", random_matrix(), {4, 32, false, DType::f16, {}}, true);
  const auto changed = [&](std::string_view name, std::vector<int64_t> shape, DType dtype) {
    WrittenModule written = good;
    reshape(tensor_named(written, name), std::move(shape), dtype);
    return OneModule(written.tensors, gptq_config()).error();
  };
  EXPECT_THAT(changed("m.qweight", {kCols / 8, kRows - 1}, DType::i32), HasSubstr("expected shape [32, 24]"));
  EXPECT_THAT(changed("m.qweight", {kCols / 8, kRows}, DType::u32), HasSubstr("expected I32, found U32"));
  EXPECT_THAT(changed("m.qweight", {7, kRows}, DType::i32), HasSubstr("packed in 4 or 8 bits"));
  EXPECT_THAT(changed("m.scales", {7, kRows}, DType::f16), HasSubstr("groups of 32, 64 or 128"));
  EXPECT_THAT(changed("m.scales", {8, kRows}, DType::i16), HasSubstr("\"m.scales\": expected BF16"));
  EXPECT_THAT(changed("m.qzeros", {8, kRows}, DType::i32), HasSubstr("\"m.qzeros\": expected shape [8, 3]"));
  EXPECT_THAT(changed("m.g_idx", {kCols}, DType::u32), HasSubstr("\"m.g_idx\": expected I32"));
  EXPECT_THAT(OneModule(without(good, "m.qzeros").tensors, gptq_config()).error(), HasSubstr("is missing"));
  EXPECT_THAT(OneModule(good.tensors).error(), HasSubstr("config.json declares neither gptq"));
  EXPECT_THAT(OneModule(with(good, "m.weight", DType::bf16, {kRows, kCols}).tensors, gptq_config()).error(),
              HasSubstr("found both"));
}

constexpr const char* kAwqConfig =
    R"({"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 64, "zero_point": true}})";

TEST(Awq, HasItsValues) {
  for (const int64_t group : {int64_t{32}, int64_t{128}})
    for (const bool zeros : {false, true})
      expect_values(write_awq("m", random_matrix(), {4, group, zeros, DType::f16, {}}), WeightFormat::q4, kAwqConfig);
}

TEST(Awq, ErrorsNameThePlace) {
  const WrittenModule good = write_awq("m", random_matrix(), {4, 64, true, DType::f16, {}});
  const auto changed = [&](std::string_view name, std::vector<int64_t> shape, DType dtype) {
    WrittenModule written = good;
    reshape(tensor_named(written, name), std::move(shape), dtype);
    return OneModule(written.tensors, kAwqConfig).error();
  };
  EXPECT_THAT(changed("m.qweight", {kCols / 8, kRows}, DType::i32), HasSubstr("expected shape [256, 3]"));
  EXPECT_THAT(changed("m.qweight", {kCols, kRows / 8}, DType::u32), HasSubstr("expected I32"));
  EXPECT_THAT(changed("m.qzeros", {4, kRows}, DType::i32), HasSubstr("\"m.qzeros\": expected shape [4, 3]"));
  EXPECT_THAT(changed("m.scales", {5, kRows}, DType::f16), HasSubstr("expected groups of 32, 64 or 128"));
}

TEST(Bitsandbytes, HasItsValues) {
  for (const char* type : {"nf4", "fp4"})
    for (const bool nested : {false, true})
      expect_values(write_bitsandbytes("m", random_matrix(), type, nested), WeightFormat::nf4);
}

TEST(Bitsandbytes, ErrorsNameThePlace) {
  const WrittenModule good = write_bitsandbytes("m", random_matrix(), "nf4", true);
  const auto changed = [&](std::string_view name, std::vector<int64_t> shape, DType dtype) {
    WrittenModule written = good;
    reshape(tensor_named(written, name), std::move(shape), dtype);
    return OneModule(written.tensors).error();
  };
  const std::string state = "m.weight.quant_state.bitsandbytes__nf4";
  const auto with_state = [&](const std::string& text) {
    WrittenModule written = without(good, state);
    written.add(state, DType::u8, {static_cast<int64_t>(text.size())}, std::vector<char>(text.begin(), text.end()));
    return OneModule(written.tensors).error();
  };
  EXPECT_THAT(changed("m.weight", {kRows * kCols / 2}, DType::u8), HasSubstr("expected shape [3072, 1]"));
  EXPECT_THAT(changed("m.weight.absmax", {95}, DType::u8), HasSubstr("expected shape [96], found [95]"));
  EXPECT_THAT(changed("m.weight.absmax", {96}, DType::f32), HasSubstr("expected U8, found F32"));
  EXPECT_THAT(changed("m.weight.nested_absmax", {2}, DType::f32), HasSubstr("expected shape [1], found [2]"));
  EXPECT_THAT(changed("m.weight.nested_quant_map", {255}, DType::f32), HasSubstr("expected shape [256]"));
  EXPECT_THAT(changed("m.weight.quant_map", {15}, DType::f32), HasSubstr("expected shape [16]"));
  EXPECT_THAT(OneModule(without(good, state).tensors).error(), HasSubstr("bitsandbytes__nf4\": is missing"));
  EXPECT_THAT(with_state(std::string(5000, ' ')), HasSubstr("at most 4096 bytes of JSON, found 5000"));
  EXPECT_THAT(with_state(std::string(4000, '[')), HasSubstr("bitsandbytes__nf4: expected JSON"));
  EXPECT_THAT(with_state("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(with_state(R"({"quant_type": "fp4"})"), HasSubstr("quant_type: expected nf4"));
  EXPECT_THAT(with_state(R"({"quant_type": "nf4", "shape": [24, 257]})"), HasSubstr("shape: expected [24, 256]"));
  EXPECT_THAT(with_state(R"({"quant_type": "nf4", "shape": [24, 256], "blocksize": 0})"),
              HasSubstr("blocksize: expected a whole number from 32"));
  EXPECT_THAT(with_state(R"({"quant_type": "nf4", "shape": [24, 256], "blocksize": 512})"),
              HasSubstr("run across rows"));
}

// What a file declares that is not read hears so, whatever its tensors are.
TEST(Quantisation, AnErrorOfTheConfigComesWithTheFirstMatrix) {
  const WrittenModule good = write_packed("m", random_matrix(), {});
  EXPECT_THAT(OneModule(good.tensors, R"({"quantization_config": {"quant_method": "quark"}})").error(),
              HasSubstr("quant_method: expected compressed-tensors, modelopt"));
}

}  // namespace
}  // namespace paceline
