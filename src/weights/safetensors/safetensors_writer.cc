#include "weights/safetensors/safetensors_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <system_error>
#include <utility>

#include "weights/mapped_file.h"
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
  SafetensorsWriter writer;
  writer.path_ = path;
  writer.partial_ = path.string() + ".partial";
  writer.tensors_.resize(tensors.size());
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
  writer.descriptor_ = ::open(writer.partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (writer.descriptor_ < 0) return file_error(writer.partial_, "cannot create");
  TRY(writer.write_at(0, std::as_bytes(std::span(front))));
  TRY(writer.write_at(kLengthBytes, std::as_bytes(std::span(text))));
  return writer;
}

SafetensorsWriter::SafetensorsWriter(SafetensorsWriter&& other) noexcept
    : path_(std::move(other.path_)),
      partial_(std::move(other.partial_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      tensors_(std::move(other.tensors_)) {}

SafetensorsWriter::~SafetensorsWriter() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(partial_.c_str());
}

Status SafetensorsWriter::write_at(uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return file_error(partial_, "cannot write");
    bytes = bytes.subspan(static_cast<size_t>(put));
    offset += static_cast<uint64_t>(put);
  }
  return Done{};
}

Status SafetensorsWriter::write(size_t tensor, uint64_t offset, std::span<const std::byte> bytes) {
  CHECK(tensor < tensors_.size());
  Placed& placed = tensors_[tensor];
  CHECK(offset <= placed.bytes && bytes.size() <= placed.bytes - offset);
  placed.written += bytes.size();
  return write_at(placed.begin + offset, bytes);
}

Status SafetensorsWriter::finish() {
  for (const Placed& tensor : tensors_) {
    if (tensor.written == tensor.bytes) continue;
    return Error{fmt::format("tensor \"{}\": expected {} bytes, got {}", tensor.name, tensor.bytes, tensor.written)};
  }
  if (::fsync(descriptor_) != 0) return file_error(partial_, "cannot flush");
  if (::rename(partial_.c_str(), path_.c_str()) != 0) return file_error(path_, "cannot rename to");
  ::close(std::exchange(descriptor_, -1));
  return Done{};
}

}  // namespace paceline
