// A GGUF model as one or several files: <stem>-00001-of-00003.gguf and so on, all metadata in the first.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "weights/gguf/gguf_header.h"
#include "weights/mapped_file.h"

namespace paceline {

struct GgufFiles {
  std::vector<MappedFile> files;
  std::vector<GgufHeader> headers;  // one for each file, views into it

  // Any one of several will do. An error names the file.
  static Result<GgufFiles> open(const std::filesystem::path& file);

  [[nodiscard]] const GgufMetadata& metadata() const { return headers.front().metadata; }
  // "" where the file does not say.
  [[nodiscard]] std::string architecture() const;
  // nullptr where there is none of that name.
  [[nodiscard]] const GgufTensor* find(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  [[nodiscard]] const std::byte* bytes_of(const GgufTensor& tensor) const;
};

// Whether the name is that of one of several files, and not of the first.
bool is_later_part(const std::filesystem::path& file);

}  // namespace paceline
