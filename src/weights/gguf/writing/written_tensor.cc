#include "weights/gguf/writing/written_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>

#include "weights/gguf/writing/block_packing.h"
#include "weights/quantizer.h"

namespace paceline {
namespace {

// Of what is written, made at a time: what bounds the memory in use.
constexpr uint64_t kChunkBytes = 32 << 20;
constexpr int64_t kWrittenRowsAtOnce = 16;

void encode_row(std::span<const float> row, GgufType type, std::byte* out) {
  if (type.in_blocks()) return pack_blocks(type.blocks, row, out);
  if (type.dtype == DType::f32) {
    std::memcpy(out, row.data(), row.size_bytes());
    return;
  }
  for (size_t i = 0; i < row.size(); ++i) {
    const uint16_t half = type.dtype == DType::bf16 ? f32_to_bf16(row[i]) : f32_to_f16(row[i]);
    std::memcpy(out + 2 * i, &half, sizeof half);
  }
}

int64_t elements_of(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t dimension : shape) count *= dimension;
  return count;
}

// A tensor's rows as floats, in the order in which they are written.
class WrittenRows {
 public:
  explicit WrittenRows(const WrittenTensor& tensor)
      : tensor_(tensor), shape_(written_shape(*tensor.sources.front())), of_one_(elements_of(shape_) / cols()) {}

  [[nodiscard]] int64_t cols() const { return shape_.back(); }
  [[nodiscard]] int64_t count() const { return elements_of(tensor_.plan.shape) / cols(); }

  void read(int64_t row, std::vector<float>& out) const {
    const int64_t from = tensor_.row_of ? tensor_.row_of(row) : row;
    const TensorView& source = *tensor_.sources[static_cast<size_t>(from / of_one_)];
    out.resize(static_cast<size_t>(cols()));
    read_weight_row({source.values, source.dtype, of_one_, cols()}, from % of_one_, out);
    if (tensor_.columns.empty()) return;
    const std::vector<float> as_it_was = out;
    for (size_t i = 0; i < out.size(); ++i) out[i] = as_it_was[static_cast<size_t>(tensor_.columns[i])];
  }

 private:
  const WrittenTensor& tensor_;
  std::vector<int64_t> shape_;
  int64_t of_one_;
};

Status write_rows(const WrittenTensor& tensor, size_t number, ThreadPool& pool, GgufWriter& writer) {
  const WrittenRows source(tensor);
  const int64_t rows = source.count();
  const auto row_bytes = tensor.plan.bytes() / static_cast<uint64_t>(rows);
  const auto chunk = static_cast<int64_t>(std::max<uint64_t>(1, kChunkBytes / row_bytes));
  std::vector<std::byte> made;
  std::atomic<bool> finite{true};
  for (int64_t first = 0; first < rows; first += chunk) {
    const int64_t count = std::min(chunk, rows - first);
    made.resize(static_cast<size_t>(count) * row_bytes);
    pool.run(count, kWrittenRowsAtOnce, [&](int64_t begin, int64_t end) {
      std::vector<float> row;
      for (int64_t i = begin; i < end; ++i) {
        source.read(first + i, row);
        if (!std::all_of(row.begin(), row.end(), [](float f) { return std::isfinite(f); })) {
          finite.store(false, std::memory_order_relaxed);
        } else {
          encode_row(row, tensor.plan.type, made.data() + static_cast<uint64_t>(i) * row_bytes);
        }
      }
    });
    if (!finite.load())
      return Error{fmt::format("tensor \"{}\": expected finite weights, found others", tensor.sources.front()->name)};
    TRY(writer.write(number, static_cast<uint64_t>(first) * row_bytes, made));
  }
  return Done{};
}

}  // namespace

std::string plain_written_name(std::string_view name) {
  std::string plain(name);
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kPrefixes = {
      std::pair<std::string_view, std::string_view>{"model.language_model.", "model."},
      {"language_model.model.", "model."},
      {"language_model.lm_head", "lm_head"},
      {"vision_tower.", "model.vision_tower."}};
  for (const auto& [from, to] : kPrefixes) {
    if (!plain.starts_with(from)) continue;
    plain.replace(0, from.size(), to);
    break;
  }
  constexpr std::string_view kLinear = ".linear.";
  if (const size_t at = plain.find(kLinear); at != std::string::npos) plain.replace(at, kLinear.size(), ".");
  return plain;
}

Status check_written_form(const TensorView& tensor) {
  if (is_float(tensor.dtype) && !in_blocks(tensor.blocks)) return Done{};
  return Error{
      fmt::format("tensor \"{}\": expected BF16, F16 or F32 to quantise, found {}; what is packed already "
                  "cannot be packed again",
                  tensor.name, dtype_name(tensor.dtype))};
}

std::vector<int64_t> written_shape(const TensorView& tensor) {
  return tensor.shape.empty() ? std::vector<int64_t>{1} : tensor.shape;
}

std::vector<float> written_floats(const TensorView& tensor) {
  std::vector<float> values(static_cast<size_t>(elements_of(tensor.shape)));
  read_weight_row({tensor.values, tensor.dtype, 1, static_cast<int64_t>(values.size())}, 0, values);
  return values;
}

Status write_tensor(const WrittenTensor& tensor, size_t number, ThreadPool& pool, GgufWriter& writer) {
  if (!tensor.sources.empty()) return write_rows(tensor, number, pool, writer);
  return writer.write(number, 0, std::as_bytes(std::span(tensor.values)));
}

}  // namespace paceline
