#include "weights/gguf/writing/gguf_keys.h"

namespace paceline {

void append_gguf_text(std::string& to, std::string_view text) {
  append_raw<uint64_t>(to, text.size());
  to += text;
}

void GgufKeys::begin(std::string_view name, GgufValueType type) {
  append_gguf_text(bytes_, name);
  append_raw(bytes_, static_cast<uint32_t>(type));
  ++count_;
}

void GgufKeys::begin_array(std::string_view name, GgufValueType element, size_t count) {
  begin(name, GgufValueType::array);
  append_raw(bytes_, static_cast<uint32_t>(element));
  append_raw<uint64_t>(bytes_, count);
}

void GgufKeys::unsigned_integer(std::string_view name, uint32_t value) {
  begin(name, GgufValueType::u32);
  append_raw(bytes_, value);
}

void GgufKeys::number(std::string_view name, float value) {
  begin(name, GgufValueType::f32);
  append_raw(bytes_, value);
}

void GgufKeys::boolean(std::string_view name, bool value) {
  begin(name, GgufValueType::boolean);
  append_raw<uint8_t>(bytes_, value ? 1 : 0);
}

void GgufKeys::text(std::string_view name, std::string_view value) {
  begin(name, GgufValueType::string);
  append_gguf_text(bytes_, value);
}

void GgufKeys::integers(std::string_view name, std::span<const int32_t> values) {
  begin_array(name, GgufValueType::i32, values.size());
  for (const int32_t value : values) append_raw(bytes_, value);
}

void GgufKeys::numbers(std::string_view name, std::span<const float> values) {
  begin_array(name, GgufValueType::f32, values.size());
  for (const float value : values) append_raw(bytes_, value);
}

void GgufKeys::booleans(std::string_view name, const std::vector<bool>& values) {
  begin_array(name, GgufValueType::boolean, values.size());
  for (const bool value : values) append_raw<uint8_t>(bytes_, value ? 1 : 0);
}

void GgufKeys::texts(std::string_view name, std::span<const std::string> values) {
  begin_array(name, GgufValueType::string, values.size());
  for (const std::string& value : values) append_gguf_text(bytes_, value);
}

}  // namespace paceline
