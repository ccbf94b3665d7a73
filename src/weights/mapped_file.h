// A file mapped read-only into memory, for as long as the object lives.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "base/result.h"

namespace paceline {

class MappedFile {
 public:
  static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const { return {start_, size_}; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  // Whether these bytes are of this file; if so, the memory they take is given back. Reading them again is allowed, and
  // fetches them anew.
  bool forget(std::span<const std::byte> part) const;

 private:
  MappedFile() = default;
  void unmap();

  std::filesystem::path path_;
  const std::byte* start_ = nullptr;
  size_t size_ = 0;
};

}  // namespace paceline
