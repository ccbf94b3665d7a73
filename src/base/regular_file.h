// Files that somebody names, for reading. What is no regular file is refused by name: opening a pipe waits for whoever
// writes into it, and a device may have no end.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace paceline {

class RegularFile {
 public:
  static Result<RegularFile> open(const std::filesystem::path& path);
  RegularFile(RegularFile&& other) noexcept;
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;
  RegularFile& operator=(RegularFile&&) = delete;
  ~RegularFile();

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] size_t size() const { return size_; }

 private:
  RegularFile() = default;

  int descriptor_ = -1;
  size_t size_ = 0;
};

// Says what could not be done with a file, and errno's reason.
Error file_error(const std::filesystem::path& path, const char* what);

// The whole of a small file; an error when it is absent, or larger than `most_bytes`.
Result<std::string> read_file(const std::filesystem::path& path, size_t most_bytes);

}  // namespace paceline
