// Matrices and rows of random numbers, for tests.
#pragma once

#include <cstring>
#include <random>
#include <vector>

#include "tensor/blocks.h"
#include "tensor/matrix.h"

namespace paceline::kernels {

class RandomMatrix {
 public:
  Matrix view;

  RandomMatrix(WeightFormat format, int32_t rows, int32_t cols, int32_t group, DType scales, std::mt19937& random) {
    view.format = format;
    view.rows = rows;
    view.cols = cols;
    view.group = group;
    view.scale_dtype = scales;
    values_.resize(static_cast<size_t>(rows) * view.row_value_bytes());
    if (in_blocks(format)) {
      fill_blocks(random);
    } else if (view.quantised()) {
      for (auto& byte : values_) byte = static_cast<unsigned char>(random());
      const size_t count = static_cast<size_t>(rows) * static_cast<size_t>(cols / group);
      scales_ = numbers(count, scales, 0.0005f, 0.002f, random);
      biases_ = numbers(count, scales, -0.2f, 0.05f, random);
      view.scales = scales_.data();
      view.biases = biases_.data();
    } else if (is_small_float(format)) {
      for (auto& byte : values_) {
        byte = static_cast<unsigned char>(random());
        // Of f8 any but the two that are no numbers.
        if (format == WeightFormat::f8 && (byte & 0x7f) == 0x7f) byte = 0;
      }
      if (format == WeightFormat::nf4) {
        for (int i = 0; i < 16; ++i)
          levels_.push_back(0.01f * static_cast<float>(static_cast<int>(random() % 200) - 100));
        view.levels = levels_.data();
      }
      if (group > 0) {
        const auto groups = static_cast<size_t>((cols + group - 1) / group);
        scales_ = numbers(static_cast<size_t>(rows) * groups, DType::f32, -0.2f, 0.2f, random);
        view.scales = scales_.data();
      }
    } else {
      const DType dtype =
          format == WeightFormat::f32 ? DType::f32 : (format == WeightFormat::f16 ? DType::f16 : DType::bf16);
      values_ = numbers(static_cast<size_t>(rows) * static_cast<size_t>(cols), dtype, -0.2f, 0.2f, random);
    }
    view.values = values_.data();
  }
  RandomMatrix(const RandomMatrix&) = delete;
  RandomMatrix& operator=(const RandomMatrix&) = delete;

  // Blocks of one byte over and over, none of whose numbers is larger than `largest`.
  void fill_blocks(unsigned char byte, float largest) {
    std::fill(values_.begin(), values_.end(), byte);
    limit_blocks([&] { return largest; });
    put_split_scales([] { return static_cast<unsigned char>(1); });
  }

  // All values, scales and biases alike.
  void fill(unsigned char byte, float scale, float bias) {
    std::fill(values_.begin(), values_.end(), byte);
    put_all(scales_, scale);
    put_all(biases_, bias);
  }

 private:
  using Bytes = std::vector<unsigned char>;

  // Any codes, and scales of sizes that weights have.
  void fill_blocks(std::mt19937& random) {
    for (auto& byte : values_) byte = static_cast<unsigned char>(random());
    limit_blocks([&] { return 0.1f + 0.01f * static_cast<float>(random() % 20); });
    put_split_scales([&] { return static_cast<unsigned char>(1 + random() % 24); });
  }

  // Those of nvfp4_split, bytes of E4M3.
  template <class Scale>
  void put_split_scales(const Scale& scale) {
    if (view.format != WeightFormat::nvfp4_split) return;
    view.scale_dtype = DType::f8_e4m3;
    scales_.resize(static_cast<size_t>(view.rows) * view.row_scale_bytes());
    for (unsigned char& one : scales_) one = scale();
    view.scales = scales_.data();
  }

  template <class Largest>
  void limit_blocks(const Largest& largest) {
    const auto size = static_cast<size_t>(block_shape(view.format).bytes);
    for (size_t block = 0; block < values_.size(); block += size)
      limit_block(view.format, largest(), values_.data() + block);
  }

  static void put(Bytes& bytes, size_t i, DType dtype, float value) {
    if (dtype == DType::f32) {
      std::memcpy(bytes.data() + 4 * i, &value, 4);
      return;
    }
    const uint16_t bits = dtype == DType::f16 ? f32_to_f16(value) : f32_to_bf16(value);
    std::memcpy(bytes.data() + 2 * i, &bits, 2);
  }

  void put_all(Bytes& bytes, float value) const {
    for (size_t i = 0; i < bytes.size() / dtype_bytes(view.scale_dtype); ++i) put(bytes, i, view.scale_dtype, value);
  }

  static Bytes numbers(size_t count, DType dtype, float low, float high, std::mt19937& random) {
    Bytes bytes(count * dtype_bytes(dtype));
    std::uniform_real_distribution<float> value(low, high);
    for (size_t i = 0; i < count; ++i) put(bytes, i, dtype, value(random));
    return bytes;
  }

  Bytes values_, scales_, biases_;
  std::vector<float> levels_;
};

inline std::vector<float> random_rows(int32_t rows, int32_t cols, std::mt19937& random) {
  std::normal_distribution<float> value(0, 1);
  std::vector<float> x(static_cast<size_t>(rows) * static_cast<size_t>(cols));
  for (float& v : x) v = value(random);
  return x;
}

}  // namespace paceline::kernels
