// The keys and values of a GGUF file, as views into its bytes. They were counted and measured when the header was read
// (gguf_header.h), so that walking them needs no more care; what they mean is not known here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace paceline {

enum class GgufValueType : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

// Bytes of a value of fixed size; 0: a string or an array.
size_t gguf_value_bytes(GgufValueType type);

struct GgufValue {
  GgufValueType type = GgufValueType::u8;
  GgufValueType element = GgufValueType::u8;  // of an array
  uint64_t count = 0;                         // of an array
  const std::byte* bytes = nullptr;           // the value; of an array, the first element

  [[nodiscard]] bool is_array() const { return type == GgufValueType::array; }
};

// Strings of an array one after the other, in place.
class GgufStrings {
 public:
  GgufStrings(const std::byte* at, uint64_t count) : at_(at), left_(count) {}
  [[nodiscard]] bool more() const { return left_ > 0; }
  std::string_view next();

 private:
  const std::byte* at_;
  uint64_t left_;
};

// Reading by name. An error names the key, what was expected, and what was found. Any integer type will do for an
// integer: writers differ.
class GgufMetadata {
 public:
  // An error: the key is there already.
  Status add(std::string_view key, const GgufValue& value);

  [[nodiscard]] const GgufValue* find(std::string_view key) const;
  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
  [[nodiscard]] size_t size() const { return values_.size(); }

  [[nodiscard]] Result<int64_t> integer(std::string_view key, int64_t least, int64_t most) const;
  [[nodiscard]] Result<int64_t> integer_or(std::string_view key, int64_t otherwise, int64_t least, int64_t most) const;
  [[nodiscard]] Result<double> number_or(std::string_view key, double otherwise, double least, double most) const;
  [[nodiscard]] Result<bool> boolean_or(std::string_view key, bool otherwise) const;
  [[nodiscard]] Result<std::string> text(std::string_view key) const;
  [[nodiscard]] Result<std::string> text_or(std::string_view key, std::string_view otherwise) const;
  // One value for each of `count`: an array of so many, or one that holds for all.
  [[nodiscard]] Result<std::vector<int64_t>> integers(std::string_view key, size_t count, int64_t least,
                                                      int64_t most) const;
  // Of any length; none where the key is absent.
  [[nodiscard]] Result<std::vector<int64_t>> integer_list(std::string_view key, int64_t least, int64_t most) const;
  [[nodiscard]] Result<std::vector<bool>> booleans(std::string_view key, size_t count) const;
  // An array of strings, whose number is `count`.
  [[nodiscard]] Result<GgufStrings> strings(std::string_view key, uint64_t* count) const;

  [[nodiscard]] Error wrong(std::string_view key, const std::string& expected) const;

 private:
  std::map<std::string_view, GgufValue> values_;
};

}  // namespace paceline
