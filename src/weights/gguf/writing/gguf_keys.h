// Keys and values of a GGUF file, as bytes in the order in which they were given.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weights/gguf/gguf_metadata.h"

namespace paceline {

class GgufKeys {
 public:
  void unsigned_integer(std::string_view name, uint32_t value);
  void number(std::string_view name, float value);
  void boolean(std::string_view name, bool value);
  void text(std::string_view name, std::string_view value);
  void integers(std::string_view name, std::span<const int32_t> values);
  void numbers(std::string_view name, std::span<const float> values);
  void booleans(std::string_view name, const std::vector<bool>& values);
  void texts(std::string_view name, std::span<const std::string> values);

  [[nodiscard]] uint64_t count() const { return count_; }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void begin(std::string_view name, GgufValueType type);
  void begin_array(std::string_view name, GgufValueType element, size_t count);

  std::string bytes_;
  uint64_t count_ = 0;
};

// The bytes of a number as they lie in a file, and of a text with its length before it.
template <class T>
void append_raw(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void append_gguf_text(std::string& to, std::string_view text);

}  // namespace paceline
