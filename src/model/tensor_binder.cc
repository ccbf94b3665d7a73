#include "model/tensor_binder.h"

#include <fmt/format.h>

#include <cstring>

#include "weights/quantised/formats.h"
#include "weights/safetensors/safetensors.h"

namespace paceline {
namespace {

// Enough for one thread to earn its waking.
constexpr int64_t kConvertPiece = 1 << 16;

WeightFormat format_of(DType t) {
  switch (t) {
    case DType::f32: return WeightFormat::f32;
    case DType::f16: return WeightFormat::f16;
    case DType::bf16: return WeightFormat::bf16;
    default: return WeightFormat::none;
  }
}

Error wrong_dtype(const TensorView& tensor, std::string_view expected) {
  const char* found = in_blocks(tensor.blocks) ? weight_format_name(tensor.blocks) : dtype_name(tensor.dtype);
  return Error{fmt::format("tensor \"{}\": expected {}, found {}", tensor.name, expected, found)};
}

bool has_floats(const TensorView& tensor) { return !in_blocks(tensor.blocks) && is_float(tensor.dtype); }

int64_t integer_element(const TensorView& tensor, size_t i) {
  const std::byte* at = tensor.values + i * dtype_bytes(tensor.dtype);
  if (tensor.dtype == DType::i64) {
    int64_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  int32_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

Status check_columns(std::string_view name, int64_t cols) {
  if (cols <= kMaxColumns) return Done{};
  return Error{fmt::format("tensor \"{}\": expected at most {} columns, found {}", name, kMaxColumns, cols)};
}

// What the packed width says of a row of `cols` weights; 0 where nothing fits.
int32_t packed_bits(int64_t packed_cols, int64_t cols) {
  for (const int32_t bits : {4, 8}) {
    if (packed_cols * 32 == cols * bits) return bits;
  }
  return 0;
}

int32_t packed_group(int64_t scale_cols, int64_t cols) {
  for (const int32_t group : {32, 64, 128}) {
    if (scale_cols * group == cols) return group;
  }
  return 0;
}

// Of a stack seen as one tall matrix.
int32_t rows_in_all(const std::vector<int64_t>& shape) {
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  return static_cast<int32_t>(rows);
}

}  // namespace

TensorBinder::TensorBinder(std::shared_ptr<const Checkpoint> checkpoint, ThreadPool& pool)
    : checkpoint_(std::move(checkpoint)),
      declared_(declared_quantization(*checkpoint_)),
      pool_(pool),
      use_(*checkpoint_) {
  owners_.push_back(checkpoint_);
}

Result<const TensorView*> TensorBinder::take(std::string_view name, const Shape& shape) {
  const TensorView* tensor = use_.take(name);
  if (tensor == nullptr) {
    return Error{fmt::format("tensor \"{}\" is missing; expected it with shape {}", name, shape_text(shape))};
  }
  if (tensor->shape != shape) {
    return Error{
        fmt::format("tensor \"{}\": expected shape {}, found {}", name, shape_text(shape), shape_text(tensor->shape))};
  }
  return tensor;
}

Status TensorBinder::vector(std::string_view name, int64_t length, Vector* out) { return floats(name, {length}, out); }

Status TensorBinder::floats(std::string_view name, const Shape& shape, Vector* out) {
  TRY_ASSIGN(const TensorView* tensor, take(name, shape));
  if (!has_floats(*tensor)) return wrong_dtype(*tensor, "BF16, F16 or F32");
  out->resize(tensor->bytes / dtype_bytes(tensor->dtype));
  for (size_t i = 0; i < out->size(); ++i) (*out)[i] = float_element(*tensor, i);
  return Done{};
}

Status TensorBinder::scalar(std::string_view name, float* out) {
  Vector one;
  TRY(vector(name, 1, &one));
  *out = one[0];
  return Done{};
}

Status TensorBinder::number(std::string_view name, float* out) {
  const TensorView* found = use_.take(name);
  if (found == nullptr || !found->shape.empty()) return scalar(name, out);
  if (!has_floats(*found)) return wrong_dtype(*found, "BF16, F16 or F32");
  *out = float_element(*found, 0);
  return Done{};
}

Status TensorBinder::ids(std::string_view name, int64_t length, int64_t limit, std::vector<TokenId>* out) {
  TRY_ASSIGN(const TensorView* tensor, take(name, {length}));
  if (tensor->dtype != DType::i64 && tensor->dtype != DType::i32) return wrong_dtype(*tensor, "I64 or I32");
  out->resize(static_cast<size_t>(length));
  for (size_t i = 0; i < out->size(); ++i) {
    const int64_t id = integer_element(*tensor, i);
    if (id < 0 || id >= limit) {
      return Error{
          fmt::format("tensor \"{}\": expected ids from 0 to {}, found {} at {}", tensor->name, limit - 1, id, i)};
    }
    (*out)[i] = static_cast<TokenId>(id);
  }
  return Done{};
}

Result<const void*> TensorBinder::in_place(const TensorView& tensor) {
  if (tensor.aligned()) return static_cast<const void*>(tensor.values);
  // operator new[] aligns for every dtype.
  std::shared_ptr<std::byte[]> copy(new std::byte[tensor.bytes]);
  std::memcpy(copy.get(), tensor.values, tensor.bytes);
  owners_.push_back(copy);
  return static_cast<const void*>(copy.get());
}

Status TensorBinder::plain(const std::string& tensor_name, const Shape& shape, Matrix* out) {
  TRY(check_columns(tensor_name, shape.back()));
  TRY_ASSIGN(const TensorView* tensor, take(tensor_name, shape));
  out->rows = rows_in_all(shape);
  out->cols = static_cast<int32_t>(shape.back());
  if (in_blocks(tensor->blocks)) {
    out->format = tensor->blocks;
    out->group = block_shape(tensor->blocks).group;
    out->values = tensor->values;
    out->factors = tensor->factors;
    return Done{};
  }
  if (!is_float(tensor->dtype)) return wrong_dtype(*tensor, "BF16, F16 or F32");
  out->format = format_of(tensor->dtype);
  TRY_ASSIGN(out->values, in_place(*tensor));
  return Done{};
}

Status TensorBinder::quantised(const std::string& name, const Shape& shape, Matrix* out) {
  const int64_t cols = shape.back();
  TRY(check_columns(name, cols));
  const TensorView* packed = use_.take(name + ".weight");
  const TensorView* scale = use_.take(name + ".scales");
  if (packed == nullptr) return Error{fmt::format("tensor \"{}.weight\" is missing beside its scales", name)};
  if (packed->dtype != DType::u32) return wrong_dtype(*packed, "U32, as it has scales");
  const int32_t bits = packed->shape.size() == shape.size() ? packed_bits(packed->shape.back(), cols) : 0;
  const int32_t group = scale->shape.size() == shape.size() ? packed_group(scale->shape.back(), cols) : 0;
  if (bits == 0 || group == 0) {
    return Error{
        fmt::format("tensor \"{}\": expected {} packed in 4 or 8 bits with groups of 32, 64 or 128; found "
                    "weight {} and scales {}",
                    name, shape_text(shape), shape_text(packed->shape), shape_text(scale->shape))};
  }
  Shape packed_shape = shape, scale_shape = shape;
  packed_shape.back() = cols * bits / 32;
  scale_shape.back() = cols / group;
  TRY(take(name + ".weight", packed_shape));
  TRY(take(name + ".scales", scale_shape));
  TRY_ASSIGN(const TensorView* bias, take(name + ".biases", scale_shape));
  out->format = bits == 8 ? WeightFormat::q8 : WeightFormat::q4;
  out->rows = rows_in_all(shape);
  out->cols = static_cast<int32_t>(cols);
  out->group = group;
  TRY_ASSIGN(out->values, in_place(*packed));
  return scales(*scale, *bias, out);
}

Status TensorBinder::scales(const TensorView& scale, const TensorView& bias, Matrix* out) {
  if (!is_float(scale.dtype)) return wrong_dtype(scale, "BF16, F16 or F32");
  if (!is_float(bias.dtype)) return wrong_dtype(bias, "BF16, F16 or F32");
  if (scale.dtype == bias.dtype && scale.dtype != DType::f16) {
    out->scale_dtype = scale.dtype;
    TRY_ASSIGN(out->scales, in_place(scale));
    TRY_ASSIGN(out->biases, in_place(bias));
    return Done{};
  }
  out->scale_dtype = DType::f32;
  out->scales = as_f32(scale);
  out->biases = as_f32(bias);
  return Done{};
}

const void* TensorBinder::as_f32(const TensorView& tensor) {
  const size_t count = tensor.bytes / dtype_bytes(tensor.dtype);
  std::shared_ptr<float[]> converted(new float[count]);
  pool_.run(static_cast<int64_t>(count), kConvertPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) converted[i] = float_element(tensor, static_cast<size_t>(i));
  });
  owners_.push_back(converted);
  return converted.get();
}

Status TensorBinder::matrix(const std::string& name, int64_t rows, int64_t cols, Matrix* out) {
  TRY_ASSIGN(const bool read, read_quantised(name, {rows, cols}, out));
  if (read) return Done{};
  if (has(name + ".scales")) return quantised(name, {rows, cols}, out);
  return plain(name + ".weight", {rows, cols}, out);
}

Result<bool> TensorBinder::read_quantised(const std::string& name, const Shape& shape, Matrix* out) {
  if (!declared_.ok()) return declared_.error();
  QuantisedModule module({use_, pool_, owners_, *declared_}, name, shape);
  for (const QuantisedFormat& format : quantised_formats()) {
    if (!format.fits(module)) continue;
    TRY(check_columns(name, shape.back()));
    TRY(format.read(module, out));
    return true;
  }
  return false;
}

bool TensorBinder::has_module(const std::string& name) const {
  for (const std::string_view part : kWeightParts)
    if (has(name + std::string(part))) return true;
  return false;
}

std::vector<const TensorView*> TensorBinder::untaken() const {
  std::vector<const TensorView*> all = use_.untaken();
  std::erase_if(all, [](const TensorView* tensor) { return is_activation_scale(tensor->name); });
  return all;
}

Status TensorBinder::stack(const std::string& name, int64_t count, int64_t rows, int64_t cols, MatrixStack* out) {
  const Shape shape = {count, rows, cols};
  TRY(has(name + ".scales") ? quantised(name, shape, &out->first) : plain(name + ".weight", shape, &out->first));
  out->first.rows = static_cast<int32_t>(rows);
  out->count = static_cast<int32_t>(count);
  out->stride_rows = rows;
  return Done{};
}

Status TensorBinder::plain_stack(const std::string& name, int64_t count, int64_t rows, int64_t cols, MatrixStack* out) {
  TRY_ASSIGN(const bool read, read_quantised(name, {count, rows, cols}, &out->first));
  if (!read) TRY(plain(name, {count, rows, cols}, &out->first));
  out->first.rows = static_cast<int32_t>(rows);
  out->count = static_cast<int32_t>(count);
  out->stride_rows = rows;
  return Done{};
}

Status TensorBinder::stack_of(const std::string& before, const std::string& behind, const Shape& shape,
                              MatrixStack* out) {
  auto each = std::make_shared<std::vector<Matrix>>(static_cast<size_t>(shape[0]));
  for (size_t i = 0; i < each->size(); ++i) {
    Matrix& one = (*each)[i];
    const Matrix& first = each->front();
    const std::string name = fmt::format("{}{}{}", before, i, behind);
    TRY(matrix(name, shape[1], shape[2], &one));
    if (one.columns != nullptr)
      return Error{fmt::format(
          "tensor \"{}\": expected an expert's groups in the order of its columns, found another (act-order, "
          "desc_act; that is read of matrices outside experts)",
          name)};
    if (one.format == first.format && one.group == first.group && one.scale_dtype == first.scale_dtype) continue;
    return Error{
        fmt::format("tensor \"{}\": expected {} in groups of {} as the first of them, found {} in groups of {}", name,
                    weight_format_name(first.format), first.group, weight_format_name(one.format), one.group)};
  }
  out->first = each->front();
  out->count = static_cast<int32_t>(shape[0]);
  out->each = each->data();
  owners_.push_back(each);
  return Done{};
}

}  // namespace paceline
