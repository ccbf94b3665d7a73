#include "weights/gguf/gguf_tensors.h"

#include <fmt/format.h>

#include <cstring>

#include "tensor/blocks.h"

namespace paceline {
namespace {

constexpr std::string_view kWeight = ".weight", kScale = ".scale";
// Of experts' way down the scales are Gemma 4's own: router.per_expert_scale has them.
bool is_own_scale(const GgufFiles& files, std::string_view name) {
  return name.ends_with("ffn_down_exps.scale") && files.architecture() == "gemma4";
}

const GgufTensor* matrix_scale(const GgufFiles& files, const GgufTensor& tensor) {
  const std::string_view name = tensor.name;
  if (tensor.type.blocks != WeightFormat::nvfp4 || !name.ends_with(kWeight)) return nullptr;
  const std::string scale = fmt::format("{}{}", name.substr(0, name.size() - kWeight.size()), kScale);
  return is_own_scale(files, scale) ? nullptr : files.find(scale);
}

}  // namespace

bool is_matrix_scale(const GgufFiles& files, std::string_view name) {
  if (!name.ends_with(kScale) || is_own_scale(files, name)) return false;
  const GgufTensor* matrix = files.find(fmt::format("{}{}", name.substr(0, name.size() - kScale.size()), kWeight));
  return matrix != nullptr && matrix->type.blocks == WeightFormat::nvfp4;
}

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

Status GgufTensors::add_scaled(std::string name, const GgufFiles& files, const GgufTensor& tensor,
                               std::vector<int64_t> shape) {
  const GgufTensor* scale = matrix_scale(files, tensor);
  add(std::move(name), files, tensor, std::move(shape));
  if (scale == nullptr) return Done{};
  TRY_ASSIGN(const std::vector<float> values, gguf_floats(files, *scale));
  const size_t matrices = tensor.shape.size() > 2 ? static_cast<size_t>(tensor.shape.front()) : 1;
  if (values.size() != 1 && values.size() != matrices) {
    return Error{fmt::format("tensor \"{}\": expected 1 number{}, found {}", scale->name,
                             matrices > 1 ? fmt::format(" or {}", matrices) : "", values.size())};
  }
  size_t rows = 1;
  for (size_t i = 0; i + 1 < tensor.shape.size(); ++i) rows *= static_cast<size_t>(tensor.shape[i]);
  auto factors = std::make_shared<std::vector<double>>(rows);
  for (size_t row = 0; row < rows; ++row)
    (*factors)[row] = static_cast<double>(values[values.size() == 1 ? 0 : row / (rows / matrices)]);
  views_.back().factors = factors->data();
  owners_.push_back(std::move(factors));
  return Done{};
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
