// A file that appears under its name only when finish() says that all of it is there; until then, and for ever if
// something fails, it is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "base/result.h"

namespace paceline {

class PartialFile {
 public:
  static Result<PartialFile> create(const std::filesystem::path& path);

  PartialFile(PartialFile&& other) noexcept;
  PartialFile& operator=(PartialFile&& other) noexcept;
  ~PartialFile();

  Status write(uint64_t offset, std::span<const std::byte> bytes);
  Status finish();

 private:
  PartialFile() = default;
  void give_up();

  std::filesystem::path path_, partial_;
  int descriptor_ = -1;
};

}  // namespace paceline
