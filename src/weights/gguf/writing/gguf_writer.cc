#include "weights/gguf/writing/gguf_writer.h"

#include <fmt/format.h>

#include "base/check.h"

namespace paceline {
namespace {

constexpr uint64_t kAlignment = 32;
constexpr uint32_t kVersion = 3;
// The format's limit for names.
constexpr size_t kMostName = 63;

uint64_t aligned(uint64_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

uint64_t GgufTensorPlan::bytes() const {
  uint64_t elements = 1;
  for (const int64_t dimension : shape) elements *= static_cast<uint64_t>(dimension);
  const BlockShape block = type.shape();
  return elements / static_cast<uint64_t>(block.elements) * static_cast<uint64_t>(block.bytes);
}

Result<GgufWriter> GgufWriter::create(const std::filesystem::path& path, const GgufKeys& keys,
                                      const std::vector<GgufTensorPlan>& tensors) {
  std::string front = "GGUF";
  append_raw(front, kVersion);
  append_raw<uint64_t>(front, tensors.size());
  append_raw(front, keys.count());
  front += keys.bytes();
  std::vector<Placed> placed;
  uint64_t offset = 0;
  for (const GgufTensorPlan& tensor : tensors) {
    if (tensor.name.size() > kMostName)
      return Error{fmt::format("tensor \"{}\": expected a name of at most {} bytes", tensor.name, kMostName)};
    append_gguf_text(front, tensor.name);
    append_raw(front, static_cast<uint32_t>(tensor.shape.size()));
    for (auto dimension = tensor.shape.rbegin(); dimension != tensor.shape.rend(); ++dimension)
      append_raw(front, static_cast<uint64_t>(*dimension));
    append_raw(front, gguf_type_number(tensor.type));
    append_raw(front, offset);
    placed.push_back({offset, tensor.bytes(), 0});
    offset = aligned(offset + tensor.bytes());
  }
  front.resize(aligned(front.size()), '\0');
  for (Placed& tensor : placed) tensor.begin += front.size();
  TRY_ASSIGN(PartialFile file, PartialFile::create(path));
  GgufWriter writer(std::move(file), std::move(placed));
  writer.end_ = front.size() + offset;
  TRY(writer.file_.write(0, std::as_bytes(std::span(front))));
  return writer;
}

Status GgufWriter::write(size_t tensor, uint64_t offset, std::span<const std::byte> bytes) {
  CHECK(tensor < tensors_.size());
  Placed& placed = tensors_[tensor];
  CHECK(offset <= placed.bytes && bytes.size() <= placed.bytes - offset);
  placed.written += bytes.size();
  return file_.write(placed.begin + offset, bytes);
}

Status GgufWriter::finish() {
  for (const Placed& tensor : tensors_) CHECK(tensor.written == tensor.bytes);
  // The last tensor, too, is padded.
  if (!tensors_.empty()) {
    const uint64_t written = tensors_.back().begin + tensors_.back().bytes;
    const std::vector<std::byte> zeros(static_cast<size_t>(end_ - written));
    TRY(file_.write(written, zeros));
  }
  return file_.finish();
}

}  // namespace paceline
