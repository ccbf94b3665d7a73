#include "weights/safetensors/safetensors_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "weights/safetensors/safetensors.h"

namespace paceline {
namespace {

namespace json = boost::json;

// Of the first tensor: a cache line, and more than any vector load wants.
constexpr size_t kDataAlignment = 64;

json::object entry_json(const TensorPlan& tensor, uint64_t begin) {
  json::object entry;
  entry["dtype"] = dtype_name(tensor.dtype);
  entry["shape"] = json::array(tensor.shape.begin(), tensor.shape.end());
  entry["data_offsets"] = {begin, begin + tensor.bytes()};
  return entry;
}

std::vector<size_t> file_order(const std::vector<TensorPlan>& tensors) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return dtype_bytes(tensors[a].dtype) > dtype_bytes(tensors[b].dtype); });
  return order;
}

}  // namespace

uint64_t TensorPlan::bytes() const {
  uint64_t product = dtype_bytes(dtype);
  for (const int64_t dimension : shape) product *= static_cast<uint64_t>(dimension);
  return product;
}

Result<SafetensorsWriter> SafetensorsWriter::create(const std::filesystem::path& path, std::vector<TensorPlan> tensors,
                                                    const std::map<std::string, std::string>& metadata) {
  json::object header;
  if (!metadata.empty()) {
    json::object texts;
    for (const auto& [key, text] : metadata) texts[key] = text;
    header["__metadata__"] = std::move(texts);
  }
  TRY_ASSIGN(PartialFile file, PartialFile::create(path));
  SafetensorsWriter writer(std::move(file), tensors.size());
  uint64_t begin = 0;
  for (const size_t i : file_order(tensors)) {
    if (header.contains(tensors[i].name)) return Error{fmt::format("tensor \"{}\" is given twice", tensors[i].name)};
    header[tensors[i].name] = entry_json(tensors[i], begin);
    writer.tensors_[i] = {tensors[i].name, begin, tensors[i].bytes(), 0};
    begin += tensors[i].bytes();
  }
  std::string text = json::serialize(header);
  // The format allows spaces after the JSON.
  text.append((kDataAlignment - (kLengthBytes + text.size()) % kDataAlignment) % kDataAlignment, ' ');
  for (Placed& tensor : writer.tensors_) tensor.begin += kLengthBytes + text.size();

  std::string front(kLengthBytes, '\0');
  for (size_t i = 0; i < kLengthBytes; ++i) front[i] = static_cast<char>(text.size() >> (8 * i));
  TRY(writer.file_.write(0, std::as_bytes(std::span(front))));
  TRY(writer.file_.write(kLengthBytes, std::as_bytes(std::span(text))));
  return writer;
}

Status SafetensorsWriter::write(size_t tensor, uint64_t offset, std::span<const std::byte> bytes) {
  CHECK(tensor < tensors_.size());
  Placed& placed = tensors_[tensor];
  CHECK(offset <= placed.bytes && bytes.size() <= placed.bytes - offset);
  placed.written += bytes.size();
  return file_.write(placed.begin + offset, bytes);
}

Status SafetensorsWriter::finish() {
  for (const Placed& tensor : tensors_) {
    if (tensor.written == tensor.bytes) continue;
    return Error{fmt::format("tensor \"{}\": expected {} bytes, got {}", tensor.name, tensor.bytes, tensor.written)};
  }
  return file_.finish();
}

}  // namespace paceline
