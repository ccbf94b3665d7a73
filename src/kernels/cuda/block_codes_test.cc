// What is taken apart stands for what it was, to the last bit; no device is needed to see it.
#include "kernels/cuda/block_codes.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/random_matrix.h"

namespace paceline::kernels::cuda {
namespace {

struct Apart {
  std::vector<uint8_t> codes;
  std::vector<std::byte> scales, biases;
};

int number_of(const Weight& w, const Apart& row, int32_t col) {
  const auto at = static_cast<size_t>(col);
  int code = w.format == Format::q8 ? row.codes[at] : row.codes[at / 2] >> (col % 2 * 4) & 15;
  const int codes = w.format == Format::q8 ? 256 : 16;
  if (signed_codes(w.scales) && code >= codes / 2) code -= codes;
  return code;
}

template <class T>
T read(const std::vector<std::byte>& from, size_t at) {
  T value;
  std::memcpy(&value, from.data() + at, sizeof value);
  return value;
}

float element_of(const Weight& w, const Apart& row, int32_t col) {
  const auto code = static_cast<float>(number_of(w, row, col));
  const auto group = static_cast<size_t>(col / w.group), run = static_cast<size_t>(col % kStepK / w.group);
  if (pairs(w.scales)) return read<float>(row.scales, group * 4) * code + read<float>(row.biases, group * 4);
  if (w.scales == Scales::centred) return f16_to_f32(read<uint16_t>(row.scales, group * 2)) * code;
  const size_t at = static_cast<size_t>(col / kStepK) * static_cast<size_t>(record_bytes(w.scales));
  const float factor = f16_to_f32(read<uint16_t>(row.scales, at));
  const auto byte = static_cast<float>(read<uint8_t>(row.scales, at + 4 + run));
  if (w.scales == Scales::signed_products) return factor * (byte - 128) * code;
  const float least = f16_to_f32(read<uint16_t>(row.scales, at + 2));
  return factor * byte * code - least * static_cast<float>(read<uint8_t>(row.scales, at + 8 + run));
}

TEST(BlockCodes, StandForWhatTheFileHas) {
  std::mt19937 random(3);
  for (int f = static_cast<int>(WeightFormat::q8_0); f <= static_cast<int>(WeightFormat::iq4_xs); ++f) {
    const auto format = static_cast<WeightFormat>(f);
    if (format == WeightFormat::nvfp4_split) continue;  // its scales lie apart
    SCOPED_TRACE(weight_format_name(format));
    const BlockShape shape = block_shape(format);
    const RandomMatrix m(format, 3, shape.elements == 256 ? 512 : 192, shape.group, DType::bf16, random);
    Weight w;
    w.format = block_form(format).format;
    w.scales = block_form(format).scales;
    w.cols = m.view.cols;
    w.group = shape.group;
    for (int32_t row = 0; row < 3; ++row) {
      Apart apart{std::vector<uint8_t>(code_bytes(w)), std::vector<std::byte>(raw_scale_bytes(w)),
                  std::vector<std::byte>(raw_scale_bytes(w))};
      take_apart(m.view, row, w, {apart.codes.data(), apart.scales.data(), apart.biases.data()});
      std::vector<float> want(static_cast<size_t>(w.cols));
      dequantise_blocks(m.view, row, want.data());
      for (int32_t col = 0; col < w.cols; ++col)
        ASSERT_EQ(element_of(w, apart, col), want[static_cast<size_t>(col)]) << "row " << row << ", column " << col;
    }
  }
}

}  // namespace
}  // namespace paceline::kernels::cuda
