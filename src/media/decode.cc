#include "media/decode.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "media/refusal_codes.h"

namespace paceline {
namespace {

bool starts_with(FileBytes file, std::string_view start, size_t at = 0) {
  if (file.size() < at + start.size()) return false;
  return std::string_view(reinterpret_cast<const char*>(file.data()) + at, start.size()) == start;
}

struct Format {
  const char* name;
  bool (*is_it)(FileBytes file);
  Result<Picture> (*decode)(FileBytes file, const PictureLimits& limits);
};

constexpr std::array<Format, 5> kFormats = {{
    {"JPEG", [](FileBytes f) { return starts_with(f, "\xff\xd8\xff"); }, decode_jpeg},
    {"PNG", [](FileBytes f) { return starts_with(f, "\x89PNG\r\n\x1a\n"); }, decode_png},
    {"WebP", [](FileBytes f) { return starts_with(f, "RIFF") && starts_with(f, "WEBP", 8); }, decode_webp},
    {"GIF", [](FileBytes f) { return starts_with(f, "GIF87a") || starts_with(f, "GIF89a"); }, decode_gif},
    {"BMP", [](FileBytes f) { return starts_with(f, "BM"); }, decode_bmp},
}};

const Format* find_format(FileBytes file) {
  for (const Format& format : kFormats) {
    if (format.is_it(file)) return &format;
  }
  return nullptr;
}

}  // namespace

const char* picture_format(FileBytes file) {
  const Format* format = find_format(file);
  return format == nullptr ? "" : format->name;
}

// The decoders say it themselves, and stop there: no pixel is too many for none.
int64_t picture_pixels(FileBytes file) {
  int64_t pixels = 0;
  PictureLimits none;
  none.pixels = 0;
  none.found = &pixels;
  (void)decode_picture(file, none);
  return pixels;
}

Result<Picture> decode_picture(FileBytes file, const PictureLimits& limits) {
  if (file.size() > limits.bytes) {
    return Error{fmt::format("the file has {} bytes; at most {} are read", file.size(), limits.bytes), kTooLarge};
  }
  const Format* format = find_format(file);
  if (format == nullptr)
    return Error{"expected a picture in JPEG, PNG, WebP, GIF or BMP, found none of them", kUnknownFormat};
  const RefusedMemory memory;
  auto picture = format->decode(file, limits);
  if (picture.ok()) return picture;
  const Error why = with_media_code(picture.error(), memory);
  return Error{fmt::format("{}: {}", format->name, why.message), why.code};
}

}  // namespace paceline
