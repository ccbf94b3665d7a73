#include "weights/gguf/gguf_tensors.h"

#include <fmt/format.h>

#include <cstring>

#include "tensor/blocks.h"

namespace paceline {

void GgufTensors::add(std::string name, const GgufFiles& files, const GgufTensor& tensor, std::vector<int64_t> shape) {
  TensorView view;
  view.name = std::move(name);
  view.dtype = tensor.type.dtype;
  view.blocks = tensor.type.blocks;
  view.shape = shape.empty() ? tensor.shape : std::move(shape);
  view.values = files.bytes_of(tensor);
  view.bytes = static_cast<size_t>(tensor.bytes);
  views_.push_back(std::move(view));
}

void GgufTensors::add_floats(std::string name, std::vector<int64_t> shape, std::vector<float> values) {
  auto owned = std::make_shared<const std::vector<float>>(std::move(values));
  TensorView view;
  view.name = std::move(name);
  view.dtype = DType::f32;
  view.shape = std::move(shape);
  view.values = reinterpret_cast<const std::byte*>(owned->data());
  view.bytes = owned->size() * sizeof(float);
  owners_.push_back(owned);
  views_.push_back(std::move(view));
}

Result<std::vector<float>> gguf_floats(const GgufFiles& files, const GgufTensor& tensor) {
  const BlockShape shape = tensor.type.shape();
  const size_t count =
      static_cast<size_t>(tensor.bytes) / static_cast<size_t>(shape.bytes) * static_cast<size_t>(shape.elements);
  std::vector<float> values(count);
  const std::byte* from = files.bytes_of(tensor);
  if (tensor.type.in_blocks()) {
    dequantise_blocks(tensor.type.blocks, from, static_cast<int64_t>(count), values.data());
    return values;
  }
  if (!is_float(tensor.type.dtype)) {
    return Error{
        fmt::format("tensor \"{}\": expected floats, found {}", tensor.name, gguf_type_name(tensor.type_number))};
  }
  for (size_t i = 0; i < count; ++i) {
    if (tensor.type.dtype == DType::f32) {
      std::memcpy(&values[i], from + 4 * i, sizeof(float));
      continue;
    }
    uint16_t half = 0;
    std::memcpy(&half, from + 2 * i, sizeof half);
    values[i] = tensor.type.dtype == DType::bf16 ? bf16_to_f32(half) : f16_to_f32(half);
  }
  return values;
}

}  // namespace paceline
