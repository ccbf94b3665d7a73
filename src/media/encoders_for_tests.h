// Picture files made in memory, for tests.
#pragma once

// jpeglib.h wants <cstdio> before it.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on
#include <png.h>
#include <webp/encode.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "media/picture.h"

namespace paceline {

using Bytes = std::vector<uint8_t>;

inline Picture test_picture(int32_t width, int32_t height) {
  Picture picture{width, height, {}};
  for (int32_t y = 0; y < height; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      picture.rgb.push_back(static_cast<uint8_t>(x * 255 / std::max(1, width - 1)));
      picture.rgb.push_back(static_cast<uint8_t>(y * 255 / std::max(1, height - 1)));
      picture.rgb.push_back(static_cast<uint8_t>((x * 7 + y * 13) % 256));
    }
  }
  return picture;
}

struct PngKind {
  int colour = PNG_COLOR_TYPE_RGB;
  int depth = 8;
  bool interlaced = false;
};

// rows: as libpng wants them for the kind, row_bytes each. A palette of 1 << depth grey steps where the kind has one;
// `transparent` of its first entries have alphas 0, 1, 2, ….
inline Bytes encode_png(const PngKind& kind, int32_t width, int32_t height, const Bytes& rows, int transparent = 0) {
  Bytes file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop header = png_create_info_struct(png);
  const auto append = [](png_structp p, png_bytep bytes, size_t count) {
    auto* out = static_cast<Bytes*>(png_get_io_ptr(p));
    out->insert(out->end(), bytes, bytes + count);
  };
  png_set_write_fn(png, &file, append, nullptr);
  png_set_IHDR(png, header, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), kind.depth, kind.colour,
               kind.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_color> palette;
  std::vector<png_byte> alphas;
  if (kind.colour == PNG_COLOR_TYPE_PALETTE) {
    const int count = 1 << kind.depth;
    for (int i = 0; i < count; ++i) {
      const auto grey = static_cast<png_byte>(i * 255 / (count - 1));
      palette.push_back({grey, static_cast<png_byte>(255 - grey), 7});
    }
    png_set_PLTE(png, header, palette.data(), count);
    for (int i = 0; i < transparent; ++i) alphas.push_back(static_cast<png_byte>(i));
    if (transparent > 0) png_set_tRNS(png, header, alphas.data(), transparent, nullptr);
  }
  png_write_info(png, header);
  std::vector<png_bytep> lines;
  const size_t row_bytes = rows.size() / static_cast<size_t>(height);
  for (int32_t y = 0; y < height; ++y)
    lines.push_back(const_cast<png_bytep>(rows.data() + static_cast<size_t>(y) * row_bytes));
  png_write_image(png, lines.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &header);
  return file;
}

struct JpegKind {
  int quality = 95;
  bool progressive = false;
  bool grey = false;
  Bytes app1 = {};  // an EXIF marker's contents; empty: none
};

inline Bytes encode_jpeg(const Picture& picture, const JpegKind& kind = {}) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &memory, &size);
  jpeg.image_width = static_cast<JDIMENSION>(picture.width);
  jpeg.image_height = static_cast<JDIMENSION>(picture.height);
  jpeg.input_components = kind.grey ? 1 : 3;
  jpeg.in_color_space = kind.grey ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, kind.quality, TRUE);
  if (kind.progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  if (!kind.app1.empty())
    jpeg_write_marker(&jpeg, JPEG_APP0 + 1, kind.app1.data(), static_cast<unsigned>(kind.app1.size()));
  Bytes line(static_cast<size_t>(picture.width) * 3);
  for (int32_t y = 0; y < picture.height; ++y) {
    const uint8_t* in = picture.rgb.data() + static_cast<size_t>(y) * line.size();
    if (kind.grey) {
      for (size_t x = 0; x < line.size() / 3; ++x) line[x] = in[x * 3];
    } else {
      line.assign(in, in + line.size());
    }
    JSAMPROW row = line.data();
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  Bytes file(memory, memory + size);
  jpeg_destroy_compress(&jpeg);
  std::free(memory);
  return file;
}

inline Bytes encode_webp(int32_t width, int32_t height, const Bytes& rgba, bool lossless = true) {
  uint8_t* memory = nullptr;
  const size_t size = lossless ? WebPEncodeLosslessRGBA(rgba.data(), width, height, width * 4, &memory)
                               : WebPEncodeRGBA(rgba.data(), width, height, width * 4, 90, &memory);
  Bytes file(memory, memory + size);
  WebPFree(memory);
  return file;
}

}  // namespace paceline
