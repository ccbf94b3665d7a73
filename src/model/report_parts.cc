#include "model/report_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json.hpp>

#include "weights/quantised/declared.h"
#include "weights/quantised/formats.h"
#include "weights/sha256.h"

namespace paceline {
namespace {

std::string format_text(const Matrix& matrix) {
  const char* name = weight_format_name(matrix.format);
  if (matrix.format == WeightFormat::f8 && matrix.group > 0) return fmt::format("{} blocks of {}", name, matrix.group);
  if (!matrix.quantised()) return name;
  return fmt::format("{} group {}{}", name, matrix.group, matrix.columns != nullptr ? ", reordered" : "");
}

}  // namespace

void MatrixTally::add(const char* use, const char* name, const Matrix& matrix, int64_t count) {
  if (!matrix.present()) return;
  MatrixGroup& group = group_of(use, format_text(matrix));
  group.matrices += count;
  group.parameters += count * matrix.rows * matrix.cols;
  group.bytes += static_cast<uint64_t>(count) * matrix.bytes();
  std::string shape = fmt::format("{} [{}, {}]", name, matrix.rows, matrix.cols);
  if (std::find(group.shapes.begin(), group.shapes.end(), shape) == group.shapes.end()) {
    group.shapes.push_back(std::move(shape));
  }
}

MatrixGroup& MatrixTally::group_of(const char* use, const std::string& format) {
  for (MatrixGroup& group : groups) {
    if (group.use == use && group.format == format) return group;
  }
  groups.push_back({use, format, 0, 0, 0, {}});
  return groups.back();
}

Result<FileFacts> file_facts(const Checkpoint& checkpoint, Hashing hashing) {
  FileFacts facts;
  for (const MappedFile& file : checkpoint.files()) facts.bytes += file.bytes().size();
  if (hashing == Hashing::sha256) {
    TRY_ASSIGN(facts.sha256, sha256_hex(checkpoint.files()));
  }
  return facts;
}

std::string quantisation_text(const Checkpoint& checkpoint) {
  const auto declared = declared_quantization(checkpoint);
  if (!declared.ok() || declared->method == QuantMethod::none) return "";
  const auto tensors = checkpoint.tensors();
  const bool scales = std::any_of(tensors.begin(), tensors.end(),
                                  [](const TensorView& tensor) { return is_activation_scale(tensor.name); });
  if (!declared->activations && !scales) return declared->format;
  return declared->format + "; weights only: scales of activations, keys and values are ignored";
}

std::string size_text(uint64_t bytes) {
  const auto size = static_cast<double>(bytes);
  if (bytes >= 1ull << 30) return fmt::format("{:.2f} GiB", size / 0x1p30);
  if (bytes >= 1ull << 20) return fmt::format("{:.1f} MiB", size / 0x1p20);
  return fmt::format("{} bytes", bytes);
}

std::string count_text(int64_t count) {
  const auto number = static_cast<double>(count);
  if (count >= 1'000'000'000) return fmt::format("{:.2f} billion", number / 1e9);
  if (count >= 1'000'000) return fmt::format("{:.1f} million", number / 1e6);
  return fmt::format("{}", count);
}

std::string matrices_text(const std::vector<MatrixGroup>& groups) {
  constexpr const char* kRow = "  {:<20} {:<13} {:>8} {:>14} {:>12}  {}\n";
  std::string text = "\n" + fmt::format(kRow, "weights", "format", "matrices", "parameters", "size", "shapes");
  for (const MatrixGroup& group : groups) {
    text += fmt::format(kRow, group.use, group.format, group.matrices, count_text(group.parameters),
                        size_text(group.bytes), fmt::format("{}", fmt::join(group.shapes, ", ")));
  }
  return text;
}

boost::json::array matrices_json(const std::vector<MatrixGroup>& groups) {
  boost::json::array rows;
  for (const MatrixGroup& group : groups) {
    boost::json::object row;
    row["use"] = group.use;
    row["format"] = group.format;
    row["matrices"] = group.matrices;
    row["parameters"] = group.parameters;
    row["bytes"] = group.bytes;
    row["shapes"] = boost::json::array(group.shapes.begin(), group.shapes.end());
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace paceline
