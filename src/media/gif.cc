// GIF: the first frame, at its place on a white canvas. Transparent pixels let the white through.
#include <array>
#include <string_view>

#include "media/byte_reader.h"
#include "media/deadline.h"
#include "media/formats.h"

namespace paceline {
namespace {

constexpr uint8_t kExtension = 0x21, kImage = 0x2c;
constexpr uint8_t kGraphicControl = 0xf9;
constexpr int kMostBits = 12;
constexpr uint32_t kCodesBetweenLooks = 1 << 16;  // at the clock: well under a millisecond

struct Frame {
  int32_t x = 0, y = 0, width = 0, height = 0;
  bool interlaced = false;
};

struct Palette {
  FileBytes colours;  // [count, 3]
  [[nodiscard]] bool has(int colour) const { return static_cast<size_t>(colour) * 3 + 3 <= colours.size(); }
};

Palette read_palette(ByteReader& reader, uint8_t flags) {
  if ((flags & 0x80) == 0) return {};
  return {reader.take(size_t{3} << ((flags & 7) + 1))};
}

// The bits of a chain of sub-blocks, lowest first.
class CodeReader {
 public:
  explicit CodeReader(ByteReader& reader) : reader_(reader) {}

  // -1 at the end.
  int next(int bits) {
    while (held_ < bits) {
      if (block_left_ == 0) block_left_ = reader_.u8();
      if (block_left_ == 0 || reader_.left() == 0) return -1;
      --block_left_;
      bits_ |= static_cast<uint32_t>(reader_.u8()) << held_;
      held_ += 8;
    }
    const auto code = static_cast<int>(bits_ & ((1u << bits) - 1));
    bits_ >>= bits;
    held_ -= bits;
    return code;
  }

 private:
  ByteReader& reader_;
  uint32_t bits_ = 0;
  int held_ = 0;
  int block_left_ = 0;
};

// Lempel-Ziv-Welch. A code stands for the string of another code and one more colour; strings are written back to
// front.
class Unpacker {
 public:
  Unpacker(CodeReader codes, int colour_bits) : codes_(codes), colour_bits_(colour_bits), clear_(1 << colour_bits) {
    reset();
  }

  // Fills `out`; an error where the codes end or make no sense before that.
  Status run(std::vector<uint8_t>& out, const Deadline& deadline) {
    size_t at = 0;
    for (uint32_t codes = 1; at < out.size(); ++codes) {
      if (codes % kCodesBetweenLooks == 0 && deadline.passed()) return too_late();
      const int code = codes_.next(bits_);
      if (code < 0 || code == clear_ + 1) return Error{"the pixels end too early"};
      if (code == clear_) {
        reset();
        continue;
      }
      // The one code that may not be known yet is the one about to be made: the last string and its own first colour.
      if (code > count_ || (code == count_ && last_ < 0) || (code >= clear_ && code < clear_ + 2)) {
        return Error{"a code that stands for nothing"};
      }
      const bool makes_itself = code == count_;
      if (makes_itself && count_ == 1 << kMostBits) return Error{"a code that stands for nothing"};
      const int known = makes_itself ? last_ : code;
      const size_t length = length_of(known) + (makes_itself ? 1 : 0);
      write(known, length, makes_itself, at, out);
      at += length;
      learn(first_);
      last_ = code;
    }
    return Done{};
  }

 private:
  void reset() {
    bits_ = colour_bits_ + 1;
    count_ = clear_ + 2;
    last_ = -1;
  }

  [[nodiscard]] size_t length_of(int code) const { return code < clear_ ? 1 : length_[static_cast<size_t>(code)]; }

  // As much of the string as fits; leaves its first colour in first_.
  void write(int code, size_t length, bool repeats_first, size_t at, std::vector<uint8_t>& out) {
    size_t end = at + length - (repeats_first ? 1 : 0);
    for (int c = code;; c = prefix_[static_cast<size_t>(c)]) {
      const uint8_t colour = c < clear_ ? static_cast<uint8_t>(c) : suffix_[static_cast<size_t>(c)];
      if (--end < out.size()) out[end] = colour;
      first_ = colour;
      if (c < clear_) break;
    }
    if (repeats_first && at + length - 1 < out.size()) out[at + length - 1] = first_;
  }

  void learn(uint8_t colour) {
    if (last_ < 0 || count_ == 1 << kMostBits) return;
    const auto made = static_cast<size_t>(count_++);
    prefix_[made] = static_cast<int16_t>(last_);
    suffix_[made] = colour;
    length_[made] = static_cast<uint16_t>(length_of(last_) + 1);
    if (count_ == 1 << bits_ && bits_ < kMostBits) ++bits_;
  }

  CodeReader codes_;
  int colour_bits_;
  int clear_;
  int bits_ = 0, count_ = 0, last_ = -1;
  uint8_t first_ = 0;
  std::array<int16_t, 1 << kMostBits> prefix_{};
  std::array<uint8_t, 1 << kMostBits> suffix_{};
  std::array<uint16_t, 1 << kMostBits> length_{};
};

// Which line of the frame comes as number i: all in turn, or every eighth, the fourth between them, and so on.
std::vector<int32_t> line_order(const Frame& frame) {
  std::vector<int32_t> order;
  if (!frame.interlaced) {
    for (int32_t y = 0; y < frame.height; ++y) order.push_back(y);
    return order;
  }
  constexpr int32_t kPasses[4][2] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
  for (const auto& [first, step] : kPasses) {
    for (int32_t y = first; y < frame.height; y += step) order.push_back(y);
  }
  return order;
}

struct Canvas {
  Picture picture;
  Palette palette;
  int transparent = -1;
};

// What of the frame lies outside of the canvas is not shown.
Status paint(const std::vector<uint8_t>& colours, const Frame& frame, const Palette& palette, Canvas& canvas) {
  Picture& picture = canvas.picture;
  const uint8_t* line = colours.data();
  for (const int32_t y : line_order(frame)) {
    for (int32_t x = 0; x < frame.width; ++x) {
      const int colour = line[x];
      if (colour == canvas.transparent) continue;
      if (!palette.has(colour)) return Error{"a colour that the palette does not have"};
      if (frame.y + y >= picture.height || frame.x + x >= picture.width) continue;
      const size_t at =
          (static_cast<size_t>(frame.y + y) * static_cast<size_t>(picture.width) + static_cast<size_t>(frame.x + x)) *
          3;
      for (size_t c = 0; c < 3; ++c) picture.rgb[at + c] = palette.colours[static_cast<size_t>(colour) * 3 + c];
    }
    line += frame.width;
  }
  return Done{};
}

void skip_extension(ByteReader& reader, Canvas& canvas) {
  const uint8_t label = reader.u8();
  uint8_t size = reader.u8();
  if (label == kGraphicControl && size == 4) {
    const uint8_t flags = reader.u8();
    reader.skip(2);
    const uint8_t colour = reader.u8();
    canvas.transparent = (flags & 1) != 0 ? colour : -1;
    size = reader.u8();
  }
  for (; size > 0 && !reader.overran(); size = reader.u8()) reader.skip(size);
}

Status read_frame(ByteReader& reader, const PictureLimits& limits, Canvas& canvas) {
  const Deadline deadline(limits.time, limits.stops);
  Frame frame;
  frame.x = reader.u16();
  frame.y = reader.u16();
  frame.width = reader.u16();
  frame.height = reader.u16();
  const uint8_t flags = reader.u8();
  frame.interlaced = (flags & 0x40) != 0;
  const Palette own = read_palette(reader, flags);
  const int colour_bits = reader.u8();
  if (reader.overran()) return Error{"the file ends too early"};
  TRY(check_size(frame.width, frame.height, limits));
  if (colour_bits < 1 || colour_bits > 8) return Error{"expected 1 to 8 bits for a colour, found others"};
  std::vector<uint8_t> colours(static_cast<size_t>(frame.width) * static_cast<size_t>(frame.height));
  TRY(Unpacker(CodeReader(reader), colour_bits).run(colours, deadline));
  canvas.picture.rgb.assign(static_cast<size_t>(canvas.picture.width) * static_cast<size_t>(canvas.picture.height) * 3,
                            255);
  return paint(colours, frame, own.colours.empty() ? canvas.palette : own, canvas);
}

}  // namespace

Result<Picture> decode_gif(FileBytes file, const PictureLimits& limits) {
  ByteReader reader(file);
  reader.skip(6);
  Canvas canvas;
  canvas.picture.width = reader.u16();
  canvas.picture.height = reader.u16();
  const uint8_t flags = reader.u8();
  reader.skip(2);
  canvas.palette = read_palette(reader, flags);
  if (reader.overran()) return Error{"the file ends too early"};
  TRY(check_size(canvas.picture.width, canvas.picture.height, limits));
  while (!reader.overran()) {
    const uint8_t kind = reader.u8();
    if (kind == kExtension) {
      skip_extension(reader, canvas);
    } else if (kind == kImage) {
      TRY(read_frame(reader, limits, canvas));
      return std::move(canvas.picture);
    } else {
      break;
    }
  }
  return Error{"no picture in it"};
}

}  // namespace paceline
