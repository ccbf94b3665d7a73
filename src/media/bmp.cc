// BMP as Windows and OS/2 write it: 1 to 32 bits, palettes, bit fields, run lengths.
#include <fmt/format.h>

#include <array>

#include "media/byte_reader.h"
#include "media/deadline.h"
#include "media/formats.h"

namespace paceline {
namespace {

constexpr uint32_t kFileHeaderBytes = 14;
constexpr uint32_t kPlain = 0, kRuns8 = 1, kRuns4 = 2, kFields = 3, kFieldsWithAlpha = 6;

struct Header {
  uint32_t pixels_at = 0;
  int64_t width = 0, height = 0;
  bool top_down = false;
  int bits = 0;
  uint32_t compression = kPlain;
  std::array<uint32_t, 4> masks{};  // red, green, blue, alpha
  FileBytes palette;
  size_t palette_stride = 4;  // bytes of an entry: blue, green, red
};

Status check_header(const Header& header) {
  const int bits = header.bits;
  const uint32_t how = header.compression;
  const bool fits =
      (how == kPlain && (bits == 1 || bits == 4 || bits == 8 || bits == 16 || bits == 24 || bits == 32)) ||
      (how == kRuns8 && bits == 8 && !header.top_down) || (how == kRuns4 && bits == 4 && !header.top_down) ||
      ((how == kFields || how == kFieldsWithAlpha) && (bits == 16 || bits == 32));
  if (!fits) return Error{fmt::format("{} bits with compression {} are not read", bits, how), kUnknownFormat};
  return Done{};
}

Result<Header> read_header(FileBytes file) {
  ByteReader reader(file);
  Header header;
  reader.skip(10);
  header.pixels_at = reader.u32();
  const uint32_t size = reader.u32();
  uint32_t colours = 0;
  if (size == 12) {
    header.width = reader.u16();
    header.height = reader.u16();
    reader.skip(2);
    header.bits = reader.u16();
    header.palette_stride = 3;
  } else if (size == 40 || size == 52 || size == 56 || size == 64 || size == 108 || size == 124) {
    header.width = static_cast<int32_t>(reader.u32());
    header.height = static_cast<int32_t>(reader.u32());
    header.top_down = header.height < 0;
    if (header.top_down) header.height = -header.height;
    reader.skip(2);
    header.bits = reader.u16();
    header.compression = reader.u32();
    reader.skip(12);
    colours = reader.u32();
    reader.skip(4);
  } else {
    return Error{fmt::format("expected a header of 12, 40, 52, 56, 64, 108 or 124 bytes, found {}", size)};
  }
  TRY(check_header(header));
  if (header.compression == kFields || header.compression == kFieldsWithAlpha) {
    for (size_t i = 0; i < 3; ++i) header.masks[i] = reader.u32();
    if (header.compression == kFieldsWithAlpha || size >= 56) header.masks[3] = reader.u32();
  } else if (header.bits == 16) {
    header.masks = {0x7c00, 0x03e0, 0x001f, 0};
  } else if (header.bits == 32) {
    header.masks = {0xff0000, 0x00ff00, 0x0000ff, 0};
  }
  // Behind a short header the masks stand before the palette.
  const bool masks_outside = size == 40 && header.compression >= kFields;
  const size_t mask_bytes = masks_outside ? (header.compression == kFieldsWithAlpha ? 16 : 12) : 0;
  if (header.bits <= 8) {
    const uint32_t most = 1u << header.bits;
    reader.seek(size_t{kFileHeaderBytes} + size + mask_bytes);
    header.palette = reader.take((colours == 0 || colours > most ? most : colours) * header.palette_stride);
  }
  if (reader.overran() || header.pixels_at > file.size()) return Error{"the file ends too early"};
  return header;
}

// The bits under a mask, widened or narrowed to eight.
uint8_t field(uint32_t pixel, uint32_t mask) {
  if (mask == 0) return 0;
  const int low = __builtin_ctz(mask);
  const uint64_t most = mask >> low, value = (pixel & mask) >> low;
  return static_cast<uint8_t>((value * 255 + most / 2) / most);
}

class Pixels {
 public:
  Pixels(const Header& header, FileBytes bytes, const Deadline& deadline, Picture& picture)
      : header_(header),
        reader_(bytes),
        deadline_(deadline),
        picture_(picture),
        width_(static_cast<size_t>(picture.width)) {}

  Status read() {
    if (header_.compression == kRuns8 || header_.compression == kRuns4) return read_runs();
    const size_t row_bytes = (width_ * static_cast<size_t>(header_.bits) + 31) / 32 * 4;
    for (int32_t y = 0; y < picture_.height; ++y) {
      if (deadline_.passed()) return too_late();
      // The padding behind the last row is sometimes left out.
      const FileBytes row = reader_.take(row_bytes);
      if (row.size() * 8 < width_ * static_cast<size_t>(header_.bits)) return Error{"the file ends too early"};
      TRY(read_row(row, y));
    }
    return Done{};
  }

 private:
  // Row 0 of the file is the lowest one, unless the header says otherwise.
  uint8_t* pixel(size_t x, int32_t file_row) {
    const int32_t y = header_.top_down ? file_row : picture_.height - 1 - file_row;
    return picture_.rgb.data() + (static_cast<size_t>(y) * width_ + x) * 3;
  }

  Status put(size_t x, int32_t file_row, uint32_t colour) {
    const size_t at = colour * header_.palette_stride;
    if (at + 3 > header_.palette.size()) return Error{"a colour that the palette does not have"};
    uint8_t* out = pixel(x, file_row);
    for (size_t c = 0; c < 3; ++c) out[c] = header_.palette[at + 2 - c];
    return Done{};
  }

  Status read_row(FileBytes row, int32_t y) {
    const auto bits = static_cast<size_t>(header_.bits);
    for (size_t x = 0; x < width_; ++x) {
      if (bits <= 8) {
        const uint32_t byte = row[x * bits / 8];
        TRY(put(x, y, (byte >> (8 - bits - x * bits % 8)) & ((1u << bits) - 1)));
        continue;
      }
      const uint8_t* in = row.data() + x * bits / 8;
      uint8_t* out = pixel(x, y);
      if (bits == 24) {
        for (int c = 0; c < 3; ++c) out[c] = in[2 - c];
        continue;
      }
      uint32_t value = in[0] | static_cast<uint32_t>(in[1]) << 8;
      if (bits == 32) value |= static_cast<uint32_t>(in[2]) << 16 | static_cast<uint32_t>(in[3]) << 24;
      const uint32_t alpha = header_.masks[3] == 0 ? 255 : field(value, header_.masks[3]);
      for (size_t c = 0; c < 3; ++c) out[c] = over_white(field(value, header_.masks[c]), alpha);
    }
    return Done{};
  }

  // Pairs of bytes: a count and a colour, or zero and what to do.
  Status read_runs() {
    TRY(fill_with_first_colour());
    size_t x = 0;
    int64_t y = 0;
    while (y < picture_.height && !reader_.overran()) {
      const uint8_t count = reader_.u8(), second = reader_.u8();
      if (reader_.overran()) break;
      if (count > 0) {
        TRY(put_run(x, y, count, [&](size_t) { return second; }));
      } else if (second == 0) {
        if (deadline_.passed()) return too_late();
        x = 0;
        ++y;
      } else if (second == 1) {
        return Done{};
      } else if (second == 2) {
        x += reader_.u8();
        y += reader_.u8();
      } else {
        const size_t bytes = header_.compression == kRuns8 ? second : (second + 1u) / 2;
        const FileBytes literal = reader_.take(bytes + bytes % 2);
        if (literal.size() < bytes) break;
        const bool halves = header_.compression == kRuns4;
        TRY(put_run(x, y, second, [&](size_t i) { return literal[halves ? i / 2 : i]; }));
      }
    }
    if (y >= picture_.height) return Done{};
    return Error{"the file ends too early"};
  }

  // What the runs leave out.
  Status fill_with_first_colour() {
    for (int32_t y = 0; y < picture_.height; ++y) {
      for (size_t x = 0; x < width_; ++x) TRY(put(x, y, 0));
    }
    return Done{};
  }

  // byte_of(i): where colour i stands; with four bits it is the byte's upper half for even i, the lower for odd.
  template <class ByteOf>
  Status put_run(size_t& x, int64_t y, size_t count, ByteOf byte_of) {
    for (size_t i = 0; i < count; ++i, ++x) {
      if (x >= width_) continue;
      const uint32_t byte = byte_of(i);
      const uint32_t colour = header_.compression == kRuns8 ? byte : (i % 2 == 0 ? byte >> 4 : byte & 15);
      TRY(put(x, static_cast<int32_t>(y), colour));
    }
    return Done{};
  }

  const Header& header_;
  ByteReader reader_;
  const Deadline& deadline_;
  Picture& picture_;
  size_t width_;
};

}  // namespace

Result<Picture> decode_bmp(FileBytes file, const PictureLimits& limits) {
  TRY_ASSIGN(const Header header, read_header(file));
  TRY(check_size(header.width, header.height, limits));
  Picture picture{static_cast<int32_t>(header.width), static_cast<int32_t>(header.height), {}};
  picture.rgb.resize(static_cast<size_t>(header.width * header.height) * 3);
  TRY(Pixels(header, file.subspan(header.pixels_at), Deadline(limits.time, limits.stops), picture).read());
  return picture;
}

}  // namespace paceline
