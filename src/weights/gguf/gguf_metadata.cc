#include "weights/gguf/gguf_metadata.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/utf8.h"

namespace paceline {
namespace {

template <class T>
T value_at(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

// Nothing where it is no integer, or one that is too large.
std::optional<int64_t> integer_at(GgufValueType type, const std::byte* p) {
  switch (type) {
    case GgufValueType::u8: return value_at<uint8_t>(p);
    case GgufValueType::i8: return value_at<int8_t>(p);
    case GgufValueType::u16: return value_at<uint16_t>(p);
    case GgufValueType::i16: return value_at<int16_t>(p);
    case GgufValueType::u32: return value_at<uint32_t>(p);
    case GgufValueType::i32: return value_at<int32_t>(p);
    case GgufValueType::i64: return value_at<int64_t>(p);
    case GgufValueType::u64: {
      const auto value = value_at<uint64_t>(p);
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
      return static_cast<int64_t>(value);
    }
    default: return std::nullopt;
  }
}

std::optional<double> number_at(GgufValueType type, const std::byte* p) {
  if (type == GgufValueType::f32) return value_at<float>(p);
  if (type == GgufValueType::f64) return value_at<double>(p);
  if (const auto integer = integer_at(type, p)) return static_cast<double>(*integer);
  return std::nullopt;
}

std::string_view string_at(const std::byte* p) {
  return {reinterpret_cast<const char*>(p) + sizeof(uint64_t), static_cast<size_t>(value_at<uint64_t>(p))};
}

const char* value_type_name(GgufValueType type) {
  switch (type) {
    case GgufValueType::boolean: return "a boolean";
    case GgufValueType::string: return "a string";
    case GgufValueType::array: return "an array";
    case GgufValueType::f32:
    case GgufValueType::f64: return "a number";
    default: return "an integer";
  }
}

std::string found_text(const GgufValue& value) {
  constexpr size_t kMostShown = 64;
  if (value.is_array()) return fmt::format("an array of {}", value.count);
  if (value.type == GgufValueType::string) {
    return fmt::format("\"{}\"", with_invalid_utf8_replaced(string_at(value.bytes).substr(0, kMostShown)));
  }
  if (const auto number = number_at(value.type, value.bytes)) return fmt::format("{}", *number);
  return value_type_name(value.type);
}

}  // namespace

size_t gguf_value_bytes(GgufValueType type) {
  switch (type) {
    case GgufValueType::u8:
    case GgufValueType::i8:
    case GgufValueType::boolean: return 1;
    case GgufValueType::u16:
    case GgufValueType::i16: return 2;
    case GgufValueType::u32:
    case GgufValueType::i32:
    case GgufValueType::f32: return 4;
    case GgufValueType::u64:
    case GgufValueType::i64:
    case GgufValueType::f64: return 8;
    case GgufValueType::string:
    case GgufValueType::array: return 0;
  }
  return 0;
}

std::string_view GgufStrings::next() {
  const std::string_view text = string_at(at_);
  at_ += sizeof(uint64_t) + text.size();
  --left_;
  return text;
}

Status GgufMetadata::add(std::string_view key, const GgufValue& value) {
  if (values_.emplace(key, value).second) return Done{};
  return Error{fmt::format("key \"{}\": expected it once, found it again", with_invalid_utf8_replaced(key))};
}

const GgufValue* GgufMetadata::find(std::string_view key) const {
  const auto at = values_.find(key);
  return at == values_.end() ? nullptr : &at->second;
}

Error GgufMetadata::wrong(std::string_view key, const std::string& expected) const {
  const GgufValue* value = find(key);
  return Error{
      fmt::format("key \"{}\": expected {}, found {}", key, expected, value == nullptr ? "none" : found_text(*value))};
}

Result<int64_t> GgufMetadata::integer(std::string_view key, int64_t least, int64_t most) const {
  const GgufValue* value = find(key);
  const auto found = value == nullptr ? std::nullopt : integer_at(value->type, value->bytes);
  if (found && *found >= least && *found <= most) return *found;
  return wrong(key, fmt::format("an integer from {} to {}", least, most));
}

Result<int64_t> GgufMetadata::integer_or(std::string_view key, int64_t otherwise, int64_t least, int64_t most) const {
  if (!has(key)) return otherwise;
  return integer(key, least, most);
}

Result<double> GgufMetadata::number_or(std::string_view key, double otherwise, double least, double most) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return otherwise;
  const auto found = number_at(value->type, value->bytes);
  // (No comparison holds of what is not a number.)
  if (found && *found >= least && *found <= most) return *found;
  return wrong(key, fmt::format("a number from {} to {}", least, most));
}

Result<bool> GgufMetadata::boolean_or(std::string_view key, bool otherwise) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return otherwise;
  if (value->type != GgufValueType::boolean) return wrong(key, "a boolean");
  return value_at<uint8_t>(value->bytes) != 0;
}

Result<std::string> GgufMetadata::text(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr || value->type != GgufValueType::string) return wrong(key, "a string");
  const std::string_view found = string_at(value->bytes);
  if (!is_valid_utf8(found)) return wrong(key, "UTF-8");
  return std::string(found);
}

Result<std::string> GgufMetadata::text_or(std::string_view key, std::string_view otherwise) const {
  if (!has(key)) return std::string(otherwise);
  return text(key);
}

Result<std::vector<int64_t>> GgufMetadata::integer_list(std::string_view key, int64_t least, int64_t most) const {
  std::vector<int64_t> list;
  const GgufValue* value = find(key);
  if (value == nullptr) return list;
  const std::string expected = fmt::format("an array of integers from {} to {}", least, most);
  if (!value->is_array()) return wrong(key, expected);
  const size_t step = gguf_value_bytes(value->element);
  for (uint64_t i = 0; i < value->count; ++i) {
    const auto found = integer_at(value->element, value->bytes + i * step);
    if (!found || *found < least || *found > most) return wrong(key, expected);
    list.push_back(*found);
  }
  return list;
}

Result<std::vector<int64_t>> GgufMetadata::integers(std::string_view key, size_t count, int64_t least,
                                                    int64_t most) const {
  const GgufValue* value = find(key);
  if (value == nullptr || !value->is_array()) {
    TRY_ASSIGN(const int64_t one, integer(key, least, most));
    return std::vector<int64_t>(count, one);
  }
  if (value->count != count) return wrong(key, fmt::format("an array of {}", count));
  return integer_list(key, least, most);
}

Result<std::vector<bool>> GgufMetadata::booleans(std::string_view key, size_t count) const {
  const GgufValue* value = find(key);
  if (value == nullptr || !value->is_array() || value->element != GgufValueType::boolean || value->count != count) {
    return wrong(key, fmt::format("an array of {} booleans", count));
  }
  std::vector<bool> list;
  for (uint64_t i = 0; i < value->count; ++i) list.push_back(value_at<uint8_t>(value->bytes + i) != 0);
  return list;
}

Result<GgufStrings> GgufMetadata::strings(std::string_view key, uint64_t* count) const {
  const GgufValue* value = find(key);
  if (value == nullptr || !value->is_array() || value->element != GgufValueType::string) {
    return wrong(key, "an array of strings");
  }
  *count = value->count;
  return GgufStrings(value->bytes, value->count);
}

}  // namespace paceline
