#include "weights/gguf/gguf_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <unordered_set>

#include "base/utf8.h"

namespace paceline {
namespace {

constexpr std::string_view kMagic = "GGUF";
// What the shortest key and the shortest tensor of a list take.
constexpr uint64_t kLeastKeyBytes = 8 + 4 + 1, kLeastTensorBytes = 8 + 4 + 8 + 4 + 8;
constexpr uint64_t kMostNameBytes = 1024;
constexpr uint32_t kMostDimensions = 4;
constexpr uint64_t kDefaultAlignment = 32;
constexpr int64_t kMostAlignment = 1 << 16;
constexpr uint32_t kLastValueType = static_cast<uint32_t>(GgufValueType::f64);

// Reads on, and never beyond the end.
class GgufReader {
 public:
  explicit GgufReader(std::span<const std::byte> file) : file_(file) {}

  [[nodiscard]] uint64_t at() const { return at_; }
  [[nodiscard]] uint64_t left() const { return file_.size() - at_; }
  [[nodiscard]] const std::byte* here() const { return file_.data() + at_; }

  Error cut_off(std::string_view what) const {
    return Error{fmt::format("byte {}: expected {}, found the file's end after {} more", at_, what, left())};
  }
  Status skip(uint64_t bytes, std::string_view what) {
    if (bytes > left()) return cut_off(what);
    at_ += bytes;
    return Done{};
  }
  template <class T>
  Result<T> number(std::string_view what) {
    if (sizeof(T) > left()) return cut_off(what);
    T value;
    std::memcpy(&value, here(), sizeof value);
    at_ += sizeof value;
    return value;
  }
  Result<std::string_view> string(std::string_view what) {
    const uint64_t begin = at_;
    TRY_ASSIGN(const uint64_t length, number<uint64_t>(what));
    if (length > left()) {
      return Error{fmt::format("byte {}: expected {} within the {} bytes that are left, found a length of {}", begin,
                               what, left(), length)};
    }
    const std::string_view text(reinterpret_cast<const char*>(here()), static_cast<size_t>(length));
    at_ += length;
    return text;
  }

 private:
  std::span<const std::byte> file_;
  uint64_t at_ = 0;
};

Result<GgufValueType> read_value_type(GgufReader& reader, std::string_view key) {
  TRY_ASSIGN(const uint32_t type, reader.number<uint32_t>("a value's type"));
  if (type <= kLastValueType) return static_cast<GgufValueType>(type);
  return Error{fmt::format("key \"{}\": expected a type from 0 to {}, found {}", with_invalid_utf8_replaced(key),
                           kLastValueType, type)};
}

Status skip_array(GgufReader& reader, std::string_view key, GgufValue* value) {
  TRY_ASSIGN(value->element, read_value_type(reader, key));
  if (value->element == GgufValueType::array) {
    return Error{fmt::format("key \"{}\": expected an array of values, found an array of arrays",
                             with_invalid_utf8_replaced(key))};
  }
  TRY_ASSIGN(value->count, reader.number<uint64_t>("an array's length"));
  const size_t fixed = gguf_value_bytes(value->element);
  const uint64_t least = fixed > 0 ? fixed : sizeof(uint64_t);
  if (value->count > reader.left() / least) {
    return Error{fmt::format("key \"{}\": expected an array within the {} bytes that are left, found one of {}",
                             with_invalid_utf8_replaced(key), reader.left(), value->count)};
  }
  value->bytes = reader.here();
  if (fixed > 0) return reader.skip(value->count * fixed, "an array");
  for (uint64_t i = 0; i < value->count; ++i) TRY(reader.string("a string of an array"));
  return Done{};
}

Status read_value(GgufReader& reader, std::string_view key, GgufValue* value) {
  TRY_ASSIGN(value->type, read_value_type(reader, key));
  if (value->is_array()) return skip_array(reader, key, value);
  value->bytes = reader.here();
  if (value->type != GgufValueType::string) return reader.skip(gguf_value_bytes(value->type), "a value");
  TRY(reader.string("a string"));
  return Done{};
}

Status read_keys(GgufReader& reader, uint64_t count, GgufMetadata* metadata) {
  for (uint64_t i = 0; i < count; ++i) {
    TRY_ASSIGN(const std::string_view key, reader.string("a key's name"));
    if (key.size() > kMostNameBytes)
      return Error{fmt::format("key {}: expected a name of at most {} bytes, found {}", i, kMostNameBytes, key.size())};
    GgufValue value;
    TRY(read_value(reader, key, &value));
    TRY(metadata->add(key, value));
  }
  return Done{};
}

// The file's order is the other way round.
Status read_shape(GgufReader& reader, const std::string& name, GgufTensor* tensor, uint64_t* elements) {
  TRY_ASSIGN(const uint32_t dimensions, reader.number<uint32_t>("a tensor's dimensions"));
  if (dimensions < 1 || dimensions > kMostDimensions) {
    return Error{
        fmt::format("tensor \"{}\": expected 1 to {} dimensions, found {}", name, kMostDimensions, dimensions)};
  }
  *elements = 1;
  for (uint32_t i = 0; i < dimensions; ++i) {
    TRY_ASSIGN(const uint64_t size, reader.number<uint64_t>("a tensor's shape"));
    constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    if (size < 1 || size > kMost / *elements) {
      return Error{fmt::format("tensor \"{}\": expected dimensions of at least 1 whose product is below 2^63, found {}",
                               name, size)};
    }
    *elements *= size;
    tensor->shape.insert(tensor->shape.begin(), static_cast<int64_t>(size));
  }
  return Done{};
}

Result<GgufTensor> read_tensor(GgufReader& reader) {
  GgufTensor tensor;
  TRY_ASSIGN(tensor.name, reader.string("a tensor's name"));
  if (tensor.name.size() > kMostNameBytes || !is_valid_utf8(tensor.name)) {
    return Error{
        fmt::format("byte {}: expected a tensor's name of at most {} bytes of UTF-8", reader.at(), kMostNameBytes)};
  }
  const std::string name(tensor.name);
  uint64_t elements = 0;
  TRY(read_shape(reader, name, &tensor, &elements));
  TRY_ASSIGN(tensor.type_number, reader.number<uint32_t>("a tensor's type"));
  TRY_ASSIGN(tensor.begin, reader.number<uint64_t>("a tensor's offset"));
  const auto type = gguf_type(tensor.type_number);
  if (!type) return Error{fmt::format("type {} of {} is not read", gguf_type_name(tensor.type_number), name)};
  tensor.type = *type;
  const BlockShape block = type->shape();
  if (tensor.shape.back() % block.elements != 0) {
    return Error{fmt::format("tensor \"{}\": expected rows of a multiple of {}, as {} has it, found {}", name,
                             block.elements, gguf_type_name(tensor.type_number), tensor.shape.back())};
  }
  const uint64_t blocks = elements / static_cast<uint64_t>(block.elements);
  if (blocks > std::numeric_limits<uint64_t>::max() / static_cast<uint64_t>(block.bytes))
    return Error{fmt::format("tensor \"{}\": its {} elements have too many bytes", name, elements)};
  tensor.bytes = blocks * static_cast<uint64_t>(block.bytes);
  return tensor;
}

Status check_unique(const std::vector<GgufTensor>& tensors) {
  std::unordered_set<std::string_view> seen;
  for (const GgufTensor& tensor : tensors)
    if (!seen.insert(tensor.name).second)
      return Error{fmt::format("tensor \"{}\": expected the name once, found it again", tensor.name)};
  return Done{};
}

// Offsets count from the first aligned byte behind the header.
Status place_tensors(uint64_t header_bytes, uint64_t alignment, uint64_t file_bytes, std::vector<GgufTensor>* tensors) {
  const uint64_t start = (header_bytes + alignment - 1) / alignment * alignment;
  const uint64_t room = file_bytes < start ? 0 : file_bytes - start;
  std::vector<const GgufTensor*> order;
  for (GgufTensor& tensor : *tensors) {
    if (tensor.begin % alignment != 0) {
      return Error{fmt::format("tensor \"{}\": expected an offset that is a multiple of {}, found {}", tensor.name,
                               alignment, tensor.begin)};
    }
    if (tensor.bytes > room || tensor.begin > room - tensor.bytes) {
      return Error{
          fmt::format("tensor \"{}\": expected its {} bytes within the file's {} behind the header, found "
                      "them at {}",
                      tensor.name, tensor.bytes, room, tensor.begin)};
    }
    tensor.begin += start;
    order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->begin < b->begin; });
  for (size_t i = 1; i < order.size(); ++i) {
    if (order[i - 1]->begin + order[i - 1]->bytes <= order[i]->begin) continue;
    return Error{fmt::format("tensor \"{}\": expected bytes of its own, found some of \"{}\"", order[i]->name,
                             order[i - 1]->name)};
  }
  return Done{};
}

Status check_version(uint32_t version) {
  if (version == 2 || version == 3) return Done{};
  if (version == 0x02000000 || version == 0x03000000)
    return Error{"expected a little-endian GGUF, found a big-endian one"};
  return Error{fmt::format("expected GGUF version 2 or 3, found {}", version)};
}

Status check_count(std::string_view what, uint64_t count, uint64_t least_bytes, uint64_t left) {
  if (count <= left / least_bytes) return Done{};
  return Error{fmt::format("expected as many {} as the {} bytes behind the header's begin can hold, found {}", what,
                           left, count)};
}

}  // namespace

bool begins_as_gguf(std::span<const std::byte> file) {
  return file.size() >= kMagic.size() && std::memcmp(file.data(), kMagic.data(), kMagic.size()) == 0;
}

Result<GgufHeader> parse_gguf(std::span<const std::byte> file) {
  if (!begins_as_gguf(file)) return Error{"expected a GGUF file, which begins with \"GGUF\""};
  GgufReader reader(file);
  TRY(reader.skip(kMagic.size(), kMagic));
  TRY_ASSIGN(const uint32_t version, reader.number<uint32_t>("the version"));
  TRY(check_version(version));
  TRY_ASSIGN(const uint64_t tensors, reader.number<uint64_t>("the number of tensors"));
  TRY_ASSIGN(const uint64_t keys, reader.number<uint64_t>("the number of keys"));
  TRY(check_count("tensors", tensors, kLeastTensorBytes, reader.left()));
  TRY(check_count("keys", keys, kLeastKeyBytes, reader.left()));
  GgufHeader header;
  TRY(read_keys(reader, keys, &header.metadata));
  TRY_ASSIGN(const int64_t alignment,
             header.metadata.integer_or("general.alignment", kDefaultAlignment, 1, kMostAlignment));
  if (!std::has_single_bit(static_cast<uint64_t>(alignment)))
    return header.metadata.wrong("general.alignment", "a power of two");
  header.tensors.reserve(static_cast<size_t>(tensors));
  for (uint64_t i = 0; i < tensors; ++i) {
    TRY_ASSIGN(GgufTensor tensor, read_tensor(reader));
    header.tensors.push_back(std::move(tensor));
  }
  TRY(check_unique(header.tensors));
  TRY(place_tensors(reader.at(), static_cast<uint64_t>(alignment), file.size(), &header.tensors));
  return header;
}

}  // namespace paceline
