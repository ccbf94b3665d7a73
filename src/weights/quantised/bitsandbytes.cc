// bitsandbytes in four bits: codes of 16 levels that the file brings along, a largest number for each block of the flat
// matrix, which may itself be in 8 bits. What the blocks are is in a short JSON text that stands in a tensor.
#include <fmt/format.h>

#include <cstring>

#include "weights/quantised/formats.h"
#include "weights/safetensors/safetensors.h"

namespace paceline {
namespace {

namespace json = boost::json;

constexpr size_t kMostStateBytes = 4096;
constexpr int64_t kLeastBlock = 32, kMostBlock = 4096;

bool fits_bitsandbytes(const QuantisedModule& module) {
  const TensorView* weight = module.find(".weight");
  return !module.stacked() && weight != nullptr && weight->dtype == DType::u8 && module.has(".weight.absmax");
}

struct QuantState {
  int64_t block = 0, nested_block = 0;
  float nested_offset = 0;
  bool nested = false;
};

Result<int64_t> block_size(const JsonFields& fields, const char* name) {
  TRY_ASSIGN(const int64_t found, fields.integer(name, kLeastBlock, kMostBlock));
  return found;
}

Status check_state_shape(const JsonFields& fields, const QuantisedModule& module) {
  const json::value* shape = fields.find("shape");
  const std::string expected = fmt::format("[{}, {}]", module.rows(), module.cols());
  if (shape == nullptr || !shape->is_array() || shape->get_array().size() != 2) return fields.wrong("shape", expected);
  const auto rows = json_integer(shape->get_array()[0]), cols = json_integer(shape->get_array()[1]);
  if (rows != module.rows() || cols != module.cols()) return fields.wrong("shape", expected);
  return Done{};
}

Result<QuantState> read_state(QuantisedModule& module) {
  constexpr std::string_view kParts[] = {".weight.quant_state.bitsandbytes__nf4",
                                         ".weight.quant_state.bitsandbytes__fp4"};
  const std::string_view part = module.has(kParts[0]) ? kParts[0] : kParts[1];
  const TensorView* tensor = module.find(part);
  if (tensor == nullptr) return module.wrong(kParts[0], "is missing");
  if (tensor->bytes > kMostStateBytes)
    return module.wrong(part,
                        fmt::format("expected at most {} bytes of JSON, found {}", kMostStateBytes, tensor->bytes));
  TRY(module.take(part, DType::u8, {static_cast<int64_t>(tensor->bytes)}));
  const std::string text(reinterpret_cast<const char*>(tensor->values), tensor->bytes);
  TRY_ASSIGN(const json::object document, parse_json_object(text, tensor->name));
  const JsonFields fields(document, tensor->name);
  QuantState state;
  TRY_ASSIGN(const std::string type, fields.text("quant_type"));
  if (!part.ends_with(type)) return fields.wrong("quant_type", part.substr(part.size() - 3));
  TRY(check_state_shape(fields, module));
  TRY_ASSIGN(state.block, block_size(fields, "blocksize"));
  state.nested = fields.find("nested_blocksize") != nullptr;
  if (!state.nested) return state;
  TRY_ASSIGN(state.nested_block, block_size(fields, "nested_blocksize"));
  TRY_ASSIGN(const double offset, fields.number_or("nested_offset", 0, -1e30, 1e30));
  state.nested_offset = static_cast<float>(offset);
  return state;
}

// The largest numbers, widened where they are nested.
Result<const float*> block_scales(QuantisedModule& module, const QuantState& state) {
  const int64_t blocks = module.rows() * module.cols() / state.block;
  const auto count = static_cast<size_t>(blocks);
  float* const made = module.memory<float>(count);
  if (!state.nested) {
    TRY_ASSIGN(const TensorView* plain, module.take(".weight.absmax", DType::f32, {blocks}));
    std::memcpy(made, plain->values, plain->bytes);
    return static_cast<const float*>(made);
  }
  const int64_t outer = (blocks + state.nested_block - 1) / state.nested_block;
  TRY_ASSIGN(const TensorView* codes, module.take(".weight.absmax", DType::u8, {blocks}));
  TRY_ASSIGN(const TensorView* scales, module.take(".weight.nested_absmax", DType::f32, {outer}));
  TRY_ASSIGN(const TensorView* levels, module.take(".weight.nested_quant_map", DType::f32, {256}));
  for (size_t i = 0; i < count; ++i) {
    const float level = float_element(*levels, std::to_integer<size_t>(codes->values[i]));
    const float product = level * float_element(*scales, i / static_cast<size_t>(state.nested_block));
    made[i] = product + state.nested_offset;
  }
  return static_cast<const float*>(made);
}

Status read_bitsandbytes(QuantisedModule& module, Matrix* out) {
  const int64_t rows = module.rows(), cols = module.cols();
  TRY_ASSIGN(const QuantState state, read_state(module));
  if (cols % state.block != 0)
    return module.wrong(".weight",
                        fmt::format("blocks of {} that run across rows of {} are not read", state.block, cols));
  TRY_ASSIGN(const TensorView* weight, module.take(".weight", DType::u8, {rows * cols / 2, 1}));
  TRY_ASSIGN(const TensorView* levels, module.take(".weight.quant_map", DType::f32, {16}));
  TRY_ASSIGN(const float* scales, block_scales(module, state));
  float* const copied = module.memory<float>(16);
  std::memcpy(copied, levels->values, levels->bytes);
  out->format = WeightFormat::nf4;
  out->rows = static_cast<int32_t>(rows);
  out->cols = static_cast<int32_t>(cols);
  out->group = static_cast<int32_t>(state.block);
  out->values = weight->values;
  out->scale_dtype = DType::f32;
  out->scales = scales;
  out->levels = copied;
  return Done{};
}

}  // namespace

const QuantisedFormat kBitsandbytesFormat = {fits_bitsandbytes, read_bitsandbytes};

}  // namespace paceline
