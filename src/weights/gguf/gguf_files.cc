#include "weights/gguf/gguf_files.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostParts = 99999;

// <stem>-00002-of-00003.gguf
struct PartName {
  std::string stem;
  int number = 0, count = 0;

  [[nodiscard]] std::string of(int part) const { return fmt::format("{}-{:05}-of-{:05}.gguf", stem, part, count); }
};

std::optional<int> five_digits(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.size() != 5 || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<PartName> part_name(const fs::path& file) {
  constexpr std::string_view kBetween = "-of-", kEnd = ".gguf";
  const std::string name = file.filename().string();
  const std::string_view view = name;
  constexpr size_t kTail = 1 + 5 + kBetween.size() + 5 + kEnd.size();
  if (view.size() <= kTail || !view.ends_with(kEnd)) return std::nullopt;
  const std::string_view tail = view.substr(view.size() - kTail);
  const auto number = five_digits(tail.substr(1, 5)), count = five_digits(tail.substr(6 + kBetween.size(), 5));
  if (tail[0] != '-' || tail.substr(6, kBetween.size()) != kBetween || !number || !count) return std::nullopt;
  if (*number < 1 || *number > *count) return std::nullopt;
  return PartName{std::string(view.substr(0, view.size() - kTail)), *number, *count};
}

Status add_gguf_file(const fs::path& path, GgufFiles* files) {
  TRY_ASSIGN(MappedFile file, MappedFile::open(path));
  auto header = parse_gguf(file.bytes());
  if (!header.ok()) return Error{fmt::format("{}: {}", path.string(), header.error().message)};
  files->files.push_back(std::move(file));
  files->headers.push_back(std::move(*header));
  return Done{};
}

Status check_part(const GgufMetadata& metadata, int number, int count) {
  TRY_ASSIGN(const int64_t own, metadata.integer("split.no", 0, kMostParts));
  TRY_ASSIGN(const int64_t all, metadata.integer("split.count", 1, kMostParts));
  if (own != number - 1) return metadata.wrong("split.no", fmt::format("{}, as the name says", number - 1));
  if (all != count) return metadata.wrong("split.count", fmt::format("{}, as the name says", count));
  return Done{};
}

Status check_tensor_count(const GgufFiles& files) {
  size_t found = 0;
  for (const GgufHeader& header : files.headers) found += header.tensors.size();
  TRY_ASSIGN(const int64_t said, files.metadata().integer_or("split.tensors.count", static_cast<int64_t>(found), 0,
                                                             std::numeric_limits<int64_t>::max()));
  if (static_cast<size_t>(said) == found) return Done{};
  return Error{fmt::format("{}: split.tensors.count: expected {} tensors in all files, found {}",
                           files.files.front().path().string(), said, found)};
}

}  // namespace

bool is_later_part(const fs::path& file) {
  const auto part = part_name(file);
  return part && part->number != 1;
}

Result<GgufFiles> GgufFiles::open(const fs::path& file) {
  GgufFiles opened;
  const auto part = part_name(file);
  if (!part) {
    TRY(add_gguf_file(file, &opened));
    TRY_ASSIGN(const int64_t parts, opened.metadata().integer_or("split.count", 1, 0, kMostParts));
    if (parts > 1) {
      return Error{fmt::format("{}: one of {} files; expected its name to end in -00001-of-{:05}.gguf", file.string(),
                               parts, parts)};
    }
    return opened;
  }
  for (int number = 1; number <= part->count; ++number) {
    const fs::path path = file.parent_path() / part->of(number);
    TRY(add_gguf_file(path, &opened));
    const Status fits = check_part(opened.headers.back().metadata, number, part->count);
    if (!fits.ok()) return Error{fmt::format("{}: {}", path.string(), fits.error().message)};
  }
  TRY(check_tensor_count(opened));
  return opened;
}

std::string GgufFiles::architecture() const {
  return metadata().text_or("general.architecture", "").ok() ? *metadata().text_or("general.architecture", "") : "";
}

const GgufTensor* GgufFiles::find(std::string_view name) const {
  for (const GgufHeader& header : headers)
    for (const GgufTensor& tensor : header.tensors)
      if (tensor.name == name) return &tensor;
  return nullptr;
}

const std::byte* GgufFiles::bytes_of(const GgufTensor& tensor) const {
  for (size_t i = 0; i < headers.size(); ++i) {
    const auto& tensors = headers[i].tensors;
    if (!tensors.empty() && &tensor >= tensors.data() && &tensor < tensors.data() + tensors.size())
      return files[i].bytes().data() + tensor.begin;
  }
  return nullptr;
}

}  // namespace paceline
