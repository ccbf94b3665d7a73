#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "kernels/portable/matmul.h"
#include "model/tensor_binder.h"
#include "weights/safetensors/safetensors_writer.h"
#include "weights/scratch_folder.h"

namespace paceline {
namespace {

using testing::HasSubstr;

constexpr int64_t kRows = 16, kCols = 64;

// A module "m" as compressed-tensors writes it, from the format's description.
class PackedModule {
 public:
  int bits = 4;
  int64_t group = 32;
  bool with_zeros = false;

  [[nodiscard]] int32_t code(int64_t n, int64_t k) const { return static_cast<int32_t>((n * 7 + k * 3) % (1 << bits)); }
  [[nodiscard]] int32_t zero(int64_t n, int64_t g) const {
    return with_zeros ? static_cast<int32_t>((n + 2 * g + 5) % (1 << bits)) : 1 << (bits - 1);
  }
  [[nodiscard]] static float scale(int64_t n, int64_t g) {
    return bf16_to_f32(f32_to_bf16(0.01f * static_cast<float>(n + 1) + 0.003f * static_cast<float>(g)));
  }
  [[nodiscard]] float value(int64_t n, int64_t k) const {
    const int64_t g = k / group;
    return static_cast<float>(code(n, k) - zero(n, g)) * scale(n, g);
  }

  Result<std::shared_ptr<const Checkpoint>> open(const ScratchFolder& folder) const {
    const int64_t groups = kCols / group, in_word = 32 / bits;
    std::vector<uint32_t> packed(static_cast<size_t>(kRows * kCols / in_word), 0);
    std::vector<uint32_t> zeros(static_cast<size_t>((kRows + in_word - 1) / in_word * groups), 0);
    std::vector<uint16_t> scales;
    for (int64_t n = 0; n < kRows; ++n) {
      for (int64_t k = 0; k < kCols; ++k)
        packed[static_cast<size_t>((n * kCols + k) / in_word)] |= static_cast<uint32_t>(code(n, k))
                                                                  << (k % in_word * bits);
      for (int64_t g = 0; g < groups; ++g) {
        scales.push_back(f32_to_bf16(scale(n, g)));
        zeros[static_cast<size_t>(n / in_word * groups + g)] |= static_cast<uint32_t>(zero(n, g))
                                                                << (n % in_word * bits);
      }
    }
    std::vector<TensorPlan> plan = {{"m.weight_packed", DType::i32, {kRows, kCols / in_word}},
                                    {"m.weight_scale", DType::bf16, {kRows, groups}}};
    if (with_zeros) plan.push_back({"m.weight_zero_point", DType::i32, {kRows / in_word, groups}});
    folder.write("config.json", "{}");
    auto writer = SafetensorsWriter::create(folder.path() / "model.safetensors", plan, {});
    if (!writer.ok()) return writer.error();
    TRY(writer->write(0, 0, std::as_bytes(std::span(packed))));
    TRY(writer->write(1, 0, std::as_bytes(std::span(scales))));
    if (with_zeros) TRY(writer->write(2, 0, std::as_bytes(std::span(zeros))));
    TRY(writer->finish());
    return Checkpoint::open(folder.path());
  }
};

void expect_values(const PackedModule& module) {
  const ScratchFolder folder;
  ThreadPool pool(1);
  const auto checkpoint = module.open(folder);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message;
  TensorBinder binder(*checkpoint, pool);
  Matrix m;
  const Status bound = binder.matrix("m", kRows, kCols, &m);
  ASSERT_TRUE(bound.ok()) << bound.error().message;
  EXPECT_TRUE(binder.untaken().empty());
  float row[kCols];
  for (int32_t n = 0; n < kRows; ++n) {
    kernels::portable::dequantise(m, n, 1.0f, row);
    for (int64_t k = 0; k < kCols; ++k) ASSERT_NEAR(row[k], module.value(n, k), 1e-6) << n << ", " << k;
  }
}

TEST(PackedIntegers, HaveTheirValues) {
  for (const int bits : {4, 8})
    for (const int64_t group : {32, 64})
      for (const bool with_zeros : {false, true}) {
        SCOPED_TRACE(testing::Message() << bits << " bits, groups of " << group << (with_zeros ? ", zeros" : ""));
        PackedModule module;
        module.bits = bits;
        module.group = group;
        module.with_zeros = with_zeros;
        expect_values(module);
      }
}

TEST(PackedIntegers, ShapesAreChecked) {
  const ScratchFolder folder;
  ThreadPool pool(1);
  const auto checkpoint = PackedModule().open(folder).value();
  TensorBinder binder(checkpoint, pool);
  Matrix m;
  EXPECT_THAT(binder.matrix("m", kRows + 1, kCols, &m).error().message, HasSubstr("expected [17, 64] packed"));
  EXPECT_THAT(binder.matrix("m", kRows, kCols * 3, &m).error().message, HasSubstr("found weight_packed [16, 8]"));
}

}  // namespace
}  // namespace paceline
