#include "weights/safetensors/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "weights/safetensors/safetensors_header.h"

namespace paceline {
namespace {

Result<uint64_t> header_length(std::span<const std::byte> file) {
  if (file.size() < kLengthBytes) {
    return Error{fmt::format("expected at least {} bytes, found {}", kLengthBytes, file.size())};
  }
  uint64_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) length |= std::to_integer<uint64_t>(file[i]) << (8 * i);
  if (length > kMaxSafetensorsHeaderBytes) {
    return Error{
        fmt::format("expected a header of at most {} bytes, found one of {}", kMaxSafetensorsHeaderBytes, length)};
  }
  if (length > file.size() - kLengthBytes) {
    return Error{fmt::format("the header should have {} bytes, but only {} follow its length", length,
                             file.size() - kLengthBytes)};
  }
  return length;
}

// dtype × shape in bytes, or an error where that is beyond 63 bits.
Result<uint64_t> bytes_of(const HeaderEntry& entry) {
  uint64_t product = dtype_bytes(entry.dtype);
  for (const int64_t dimension : entry.shape) {
    if (__builtin_mul_overflow(product, static_cast<uint64_t>(dimension), &product) || product > INT64_MAX) {
      return Error{fmt::format("tensor \"{}\": shape {} is larger than any file", entry.name, shape_text(entry.shape))};
    }
  }
  return product;
}

Status check_range(const HeaderEntry& entry, uint64_t room) {
  TRY_ASSIGN(const uint64_t expected, bytes_of(entry));
  if (entry.data_begin > entry.data_end || entry.data_end > room) {
    return Error{fmt::format("tensor \"{}\": data_offsets [{}, {}] are not inside the {} bytes after the header",
                             entry.name, entry.data_begin, entry.data_end, room)};
  }
  const uint64_t found = entry.data_end - entry.data_begin;
  if (found != expected) {
    return Error{fmt::format("tensor \"{}\": {} {} takes {} bytes, but data_offsets [{}, {}] hold {}", entry.name,
                             dtype_name(entry.dtype), shape_text(entry.shape), expected, entry.data_begin,
                             entry.data_end, found)};
  }
  return Done{};
}

// Sorted by begin, each must start where the one before it ended.
Status check_cover(const std::vector<HeaderEntry>& entries, uint64_t room) {
  uint64_t covered = 0;
  std::string_view before = "the header";
  for (const HeaderEntry& entry : entries) {
    if (entry.data_begin != covered) {
      return Error{fmt::format("tensor \"{}\": begins at {}, but \"{}\" before it ends at {}: {}", entry.name,
                               entry.data_begin, before, covered,
                               entry.data_begin < covered ? "they overlap" : "there is a hole")};
    }
    covered = entry.data_end;
    before = entry.name;
  }
  if (covered != room) {
    return Error{fmt::format("the tensors take {} bytes, but {} follow the header", covered, room)};
  }
  return Done{};
}

}  // namespace

std::string shape_text(std::span<const int64_t> shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

Result<SafetensorsHeader> parse_safetensors(std::span<const std::byte> file) {
  TRY_ASSIGN(const uint64_t length, header_length(file));
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + kLengthBytes, length);
  TRY_ASSIGN(HeaderJson parsed, parse_header_json(text));
  const uint64_t data_start = kLengthBytes + length;
  const uint64_t room = file.size() - data_start;
  for (const HeaderEntry& entry : parsed.entries) TRY(check_range(entry, room));
  std::sort(parsed.entries.begin(), parsed.entries.end(), [](const HeaderEntry& a, const HeaderEntry& b) {
    return std::tie(a.data_begin, a.data_end, a.name) < std::tie(b.data_begin, b.data_end, b.name);
  });
  TRY(check_cover(parsed.entries, room));

  SafetensorsHeader header;
  header.metadata = std::move(parsed.metadata);
  header.tensors.reserve(parsed.entries.size());
  for (HeaderEntry& entry : parsed.entries) {
    header.tensors.push_back({std::move(entry.name), entry.dtype, std::move(entry.shape), data_start + entry.data_begin,
                              data_start + entry.data_end});
  }
  return header;
}

}  // namespace paceline
