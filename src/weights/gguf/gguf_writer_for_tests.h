// For tests: GGUF files byte by byte, written from the format's description and not from our reader.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace paceline {

class GgufBytes {
 public:
  template <class T>
  static std::string raw(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
  }
  static std::string text(std::string_view value) { return raw<uint64_t>(value.size()) + std::string(value); }

  uint32_t version = 3;
  uint64_t alignment = 32;

  GgufBytes& key(std::string_view name, uint32_t type, const std::string& value) {
    keys_ += text(name) + raw(type) + value;
    ++key_count_;
    return *this;
  }
  GgufBytes& u32(std::string_view name, uint32_t value) { return key(name, 4, raw(value)); }
  GgufBytes& f32(std::string_view name, float value) { return key(name, 6, raw(value)); }
  GgufBytes& string(std::string_view name, std::string_view value) { return key(name, 8, text(value)); }
  GgufBytes& booleans(std::string_view name, const std::vector<bool>& values) {
    std::string bytes = raw<uint32_t>(7) + raw<uint64_t>(values.size());
    for (const bool value : values) bytes += static_cast<char>(value);
    return key(name, 9, bytes);
  }
  GgufBytes& strings(std::string_view name, const std::vector<std::string>& values) {
    std::string bytes = raw<uint32_t>(8) + raw<uint64_t>(values.size());
    for (const std::string& value : values) bytes += text(value);
    return key(name, 9, bytes);
  }
  // dims: the length of a row first.
  GgufBytes& tensor(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type, const std::string& bytes) {
    tensors_ += text(name) + raw<uint32_t>(static_cast<uint32_t>(dims.size()));
    for (const uint64_t dim : dims) tensors_ += raw(dim);
    tensors_ += raw(type) + raw<uint64_t>(values_.size());
    values_ += bytes;
    pad(values_);
    ++tensor_count_;
    return *this;
  }

  [[nodiscard]] std::string bytes() const {
    std::string file = "GGUF" + raw(version) + raw(tensor_count_) + raw(key_count_) + keys_ + tensors_;
    pad(file);
    return file + values_;
  }

 private:
  void pad(std::string& bytes) const { bytes.resize((bytes.size() + alignment - 1) / alignment * alignment, '\0'); }

  std::string keys_, tensors_, values_;
  uint64_t key_count_ = 0, tensor_count_ = 0;
};

}  // namespace paceline
