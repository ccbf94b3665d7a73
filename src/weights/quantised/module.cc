#include "weights/quantised/module.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "weights/safetensors/safetensors.h"

namespace paceline {

float float_element(const TensorView& tensor, size_t i) {
  const std::byte* at = tensor.values + i * dtype_bytes(tensor.dtype);
  if (tensor.dtype == DType::f32) {
    float value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  uint16_t half = 0;
  std::memcpy(&half, at, sizeof half);
  return tensor.dtype == DType::bf16 ? bf16_to_f32(half) : f16_to_f32(half);
}

uint32_t word_element(const TensorView& tensor, size_t i) {
  uint32_t word = 0;
  std::memcpy(&word, tensor.values + i * sizeof word, sizeof word);
  return word;
}

std::string QuantisedModule::full_name(std::string_view part) const {
  constexpr std::string_view kWeight = ".weight";
  if (stacked_ && part.starts_with(kWeight)) part.remove_prefix(kWeight.size());
  return name_ + std::string(part);
}

const TensorView* QuantisedModule::find(std::string_view part) const { return source_.use.find(full_name(part)); }

void QuantisedModule::skip(std::string_view part) { (void)source_.use.take(full_name(part)); }

Error QuantisedModule::wrong(std::string_view part, std::string_view text) const {
  return Error{fmt::format("tensor \"{}\": {}", full_name(part), text)};
}

Result<const TensorView*> QuantisedModule::take(std::string_view part, std::span<const DType> dtypes,
                                                const Shape& shape) {
  Shape expected = shape;
  if (stacked_) expected.insert(expected.begin(), shape_[0]);
  const TensorView* tensor = source_.use.take(full_name(part));
  if (tensor == nullptr) return wrong(part, fmt::format("is missing; expected shape {}", shape_text(expected)));
  if (std::find(dtypes.begin(), dtypes.end(), tensor->dtype) == dtypes.end()) {
    std::string names;
    for (const DType t : dtypes) names += (names.empty() ? "" : " or ") + std::string(dtype_name(t));
    return wrong(part, fmt::format("expected {}, found {}", names, dtype_name(tensor->dtype)));
  }
  if (tensor->shape != expected)
    return wrong(part, fmt::format("expected shape {}, found {}", shape_text(expected), shape_text(tensor->shape)));
  return tensor;
}

Result<float> QuantisedModule::number(std::string_view part) {
  const TensorView* tensor = source_.use.take(full_name(part));
  if (tensor == nullptr) return wrong(part, "is missing; expected one number of F32");
  const bool one = tensor->shape.empty() || tensor->shape == Shape{1};
  if (tensor->dtype != DType::f32 || !one)
    return wrong(part, fmt::format("expected one number of F32, found {} {}", dtype_name(tensor->dtype),
                                   shape_text(tensor->shape)));
  return float_element(*tensor, 0);
}

Status QuantisedModule::only_numbers(std::string_view part, const TensorView& tensor) const {
  std::atomic<int64_t> found = -1;
  constexpr int64_t kPiece = 1 << 16;
  pool().run(static_cast<int64_t>(tensor.bytes), kPiece, [&](int64_t begin, int64_t end) {
    // Without branches, some at a time.
    for (int64_t i = begin; i < end; i += kPiece) {
      const int64_t last = std::min(end, i + kPiece);
      uint8_t most = 0;
      for (int64_t k = i; k < last; ++k)
        most = std::max(most, static_cast<uint8_t>(std::to_integer<uint8_t>(tensor.values[k]) & 0x7f));
      if (most == 0x7f) found = i;
    }
  });
  if (found < 0) return Done{};
  return wrong(part,
               fmt::format("expected numbers, found one that is none near row {}", found.load() / tensor.shape.back()));
}

const void* QuantisedModule::in_place(const TensorView& tensor) {
  if (tensor.aligned()) return tensor.values;
  auto* copy = memory<std::byte>(tensor.bytes);
  std::memcpy(copy, tensor.values, tensor.bytes);
  return copy;
}

}  // namespace paceline
