// Numbers out of a file's bytes, in either byte order. Reading beyond the end gives zeros and is remembered.
#pragma once

#include <cstdint>

#include "media/formats.h"

namespace paceline {

class ByteReader {
 public:
  explicit ByteReader(FileBytes bytes, bool big_endian = false) : bytes_(bytes), big_endian_(big_endian) {}

  [[nodiscard]] bool overran() const { return overran_; }
  [[nodiscard]] size_t at() const { return at_; }
  [[nodiscard]] size_t left() const { return bytes_.size() - at_; }
  void set_big_endian(bool big_endian) { big_endian_ = big_endian; }

  // Beyond the end counts as having read beyond it.
  void seek(size_t at) {
    if (at > bytes_.size()) overran_ = true;
    at_ = at > bytes_.size() ? bytes_.size() : at;
  }
  void skip(size_t count) { count > left() ? seek(bytes_.size() + 1) : seek(at_ + count); }

  uint8_t u8() {
    if (at_ == bytes_.size()) {
      overran_ = true;
      return 0;
    }
    return bytes_[at_++];
  }
  uint16_t u16() {
    const uint32_t first = u8(), second = u8();
    return static_cast<uint16_t>(big_endian_ ? first << 8 | second : second << 8 | first);
  }
  uint32_t u32() {
    const uint32_t first = u16(), second = u16();
    return big_endian_ ? first << 16 | second : second << 16 | first;
  }
  // Up to `count` bytes, fewer at the end.
  FileBytes take(size_t count) {
    const FileBytes taken = bytes_.subspan(at_, count < left() ? count : left());
    if (taken.size() < count) overran_ = true;
    at_ += taken.size();
    return taken;
  }

 private:
  FileBytes bytes_;
  size_t at_ = 0;
  bool big_endian_;
  bool overran_ = false;
};

}  // namespace paceline
