// Pictures through the decoders: what each format can hold, and files that mean harm.
#include "media/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <string_view>

#include "base/sanitized.h"
#include "media/clips_for_tests.h"
#include "media/encoders_for_tests.h"
#include "media/orientation.h"
#include "media/refusal_codes.h"

namespace paceline {
namespace {

using testing::HasSubstr;

Bytes opaque(const Bytes& rgb) {
  Bytes rgba;
  for (size_t i = 0; i < rgb.size(); i += 3) rgba.insert(rgba.end(), {rgb[i], rgb[i + 1], rgb[i + 2], 255});
  return rgba;
}

std::string error_of(const Bytes& file, const PictureLimits& limits = {}) {
  const auto result = decode_picture(file, limits);
  return result.ok() ? "" : result.error().message;
}

Bytes pixels_of(const Bytes& file) {
  const auto result = decode_picture(file);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() ? result->rgb : Bytes{};
}

Bytes repeated(const Bytes& rgb, int times) {
  Bytes all;
  for (int i = 0; i < times; ++i) all.insert(all.end(), rgb.begin(), rgb.end());
  return all;
}

int largest_step(const Bytes& a, const Bytes& b) {
  EXPECT_EQ(a.size(), b.size());
  int largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST(PngTest, EveryColourTypeDepthAndInterlacing) {
  const Picture picture = test_picture(13, 9);
  for (const bool interlaced : {false, true}) {
    EXPECT_EQ(pixels_of(encode_png({PNG_COLOR_TYPE_RGB, 8, interlaced}, 13, 9, picture.rgb)), picture.rgb);

    Bytes rgba, wide, grey, grey_rgb, grey_alpha;
    for (size_t i = 0; i < picture.rgb.size(); i += 3) {
      for (size_t c = 0; c < 3; ++c) {
        rgba.push_back(picture.rgb[i + c]);
        wide.push_back(picture.rgb[i + c]);
        wide.push_back(picture.rgb[i + c]);
        grey_rgb.push_back(picture.rgb[i]);
      }
      rgba.push_back(255);
      grey.push_back(picture.rgb[i]);
      grey_alpha.push_back(picture.rgb[i]);
      grey_alpha.push_back(255);
    }
    EXPECT_EQ(pixels_of(encode_png({PNG_COLOR_TYPE_RGB_ALPHA, 8, interlaced}, 13, 9, rgba)), picture.rgb);
    EXPECT_EQ(pixels_of(encode_png({PNG_COLOR_TYPE_RGB, 16, interlaced}, 13, 9, wide)), picture.rgb);
    EXPECT_EQ(pixels_of(encode_png({PNG_COLOR_TYPE_GRAY, 8, interlaced}, 13, 9, grey)), grey_rgb);
    EXPECT_EQ(pixels_of(encode_png({PNG_COLOR_TYPE_GRAY_ALPHA, 8, interlaced}, 13, 9, grey_alpha)), grey_rgb);
  }
  // Depths below eight: two bits, pixels 0 1 2 3.
  EXPECT_EQ(pixels_of(encode_png({PNG_COLOR_TYPE_GRAY, 2}, 4, 1, {0b00011011})),
            (Bytes{0, 0, 0, 85, 85, 85, 170, 170, 170, 255, 255, 255}));
  EXPECT_EQ(pixels_of(encode_png({PNG_COLOR_TYPE_PALETTE, 2}, 4, 1, {0b00011011})),
            (Bytes{0, 255, 7, 85, 170, 7, 170, 85, 7, 255, 0, 7}));
  // A palette's transparent entry is white.
  EXPECT_EQ(pixels_of(encode_png({PNG_COLOR_TYPE_PALETTE, 1}, 2, 1, {0b01000000}, 1)),
            (Bytes{255, 255, 255, 255, 0, 7}));
}

TEST(PngTest, AlphaLiesOverWhite) {
  const Bytes rgba{0, 100, 255, 0, 0, 100, 255, 128, 0, 100, 255, 255};
  Bytes expected;
  for (const double alpha : {0.0, 128.0, 255.0}) {
    for (const double value : {0.0, 100.0, 255.0})
      expected.push_back(static_cast<uint8_t>(std::lround((value * alpha + 255 * (255 - alpha)) / 255)));
  }
  EXPECT_EQ(pixels_of(encode_png({PNG_COLOR_TYPE_RGB_ALPHA, 8}, 3, 1, rgba)), expected);
}

void append_chunk(Bytes& file, const char* type, const Bytes& contents) {
  const auto number = [&](uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) file.push_back(static_cast<uint8_t>(value >> shift));
  };
  number(static_cast<uint32_t>(contents.size()));
  const size_t from = file.size();
  file.insert(file.end(), type, type + 4);
  file.insert(file.end(), contents.begin(), contents.end());
  number(static_cast<uint32_t>(crc32(0, file.data() + from, static_cast<uInt>(file.size() - from))));
}

Bytes huge_png(uint32_t side) {
  Bytes file{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  Bytes header;
  for (int i = 0; i < 2; ++i)
    for (int shift = 24; shift >= 0; shift -= 8) header.push_back(static_cast<uint8_t>(side >> shift));
  header.insert(header.end(), {8, 2, 0, 0, 0});
  append_chunk(file, "IHDR", header);
  append_chunk(file, "IDAT", Bytes(900, 0));
  append_chunk(file, "IEND", {});
  return file;
}

TEST(HostilePictureTest, HugeSizesAreRefusedFromTheHeader) {
  EXPECT_LT(huge_png(60000).size(), 1024u);
  EXPECT_THAT(error_of(huge_png(60000)), HasSubstr("60000 × 60000 pixels; a side"));
  EXPECT_THAT(error_of(huge_png(20000)), HasSubstr("20000 × 20000 = 400000000 pixels"));
  Bytes gif{'G', 'I', 'F', '8', '9', 'a', 0xff, 0xff, 0xff, 0xff, 0, 0, 0};
  EXPECT_THAT(error_of(gif), HasSubstr("65535 × 65535"));
  Bytes bmp = {'B', 'M', 0, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 64, 1, 0, 24, 0};
  bmp.resize(54);
  EXPECT_THAT(error_of(bmp), HasSubstr("1073741824 × 1073741824"));
  Bytes jpeg = encode_jpeg(test_picture(16, 16));
  for (size_t i = 0; i + 9 < jpeg.size(); ++i) {
    if (jpeg[i] != 0xff || jpeg[i + 1] != 0xc0) continue;
    for (size_t k = 5; k < 9; ++k) jpeg[i + k] = 0xea;
    break;
  }
  EXPECT_THAT(error_of(jpeg), HasSubstr("60138 × 60138"));
}

TEST(HostilePictureTest, LimitsAreTheCallers) {
  const Bytes file = encode_png({}, 20, 10, test_picture(20, 10).rgb);
  EXPECT_EQ(error_of(file, {.pixels = 200}), "");
  EXPECT_THAT(error_of(file, {.pixels = 199}), HasSubstr("at most 199"));
  EXPECT_THAT(error_of(file, {.bytes = 50}), HasSubstr("at most 50"));
  EXPECT_THAT(error_of(file, {.side = 19}), HasSubstr("at most 19"));
}

TEST(HostilePictureTest, ReasonsHaveAWordForPrograms) {
  const Picture picture = test_picture(20, 10);
  const auto code_of = [](const Bytes& file, const PictureLimits& limits = {}) {
    return std::string(decode_picture(file, limits).error().code);
  };
  const std::vector<Bytes> files{encode_png({}, 20, 10, picture.rgb), encode_jpeg(picture),
                                 encode_webp(20, 10, opaque(picture.rgb))};
  for (Bytes file : files) {
    EXPECT_EQ(code_of(file, {.bytes = 50}), kTooLarge);
    EXPECT_EQ(code_of(file, {.pixels = 199}), kTooLarge);
    EXPECT_EQ(code_of(file, {.side = 19}), kTooLarge);
    EXPECT_EQ(code_of(file, {.time = std::chrono::milliseconds(0)}), kTooSlow);
    file.resize(40);
    EXPECT_EQ(code_of(file), kBroken);
    file[0] = 'x';
    EXPECT_EQ(code_of(file), kUnknownFormat);
  }
}

// Little is left once there is room for the pixels: the decoder is not let run into that, which it would not survive.
TEST(HostilePictureTest, MemoryThatEndsIsNoFaultOfTheFile) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory counts among what is limited";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  constexpr int32_t kSide = 2000;
  const auto decode = [](const Bytes& file) {
    ::malloc_trim(0);
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const auto limit = static_cast<rlim_t>(pages * ::getpagesize()) + rlim_t{6} * kSide * kSide;
    const rlimit memory{limit, limit};
    if (::setrlimit(RLIMIT_AS, &memory) != 0) std::_Exit(100);
    const auto picture = decode_picture(file);
    if (picture.ok()) std::_Exit(101);
    std::cerr << picture.error().message;
    std::_Exit(std::string_view(picture.error().code) == kNoMemory ? 0 : 102);
  };
  const Bytes file = encode_webp(kSide, kSide, Bytes(size_t{4} * kSide * kSide));
  EXPECT_EXIT(decode(file), testing::ExitedWithCode(0), "WebP: not enough memory");
}

// What a header says, though the rest of the file is missing: nothing is decoded for it.
TEST(HostilePictureTest, PixelsAreKnownBeforeTheyAreDecoded) {
  const Picture picture = test_picture(300, 200);
  for (Bytes file :
       {encode_png({}, 300, 200, picture.rgb), encode_jpeg(picture), encode_webp(300, 200, opaque(picture.rgb))}) {
    EXPECT_EQ(picture_pixels(file), 300 * 200);
    file.resize(file.size() * 2 / 3);
    EXPECT_EQ(picture_pixels(file), 300 * 200);
    file.resize(12);
    EXPECT_EQ(picture_pixels(file), 0);
  }
  EXPECT_EQ(picture_pixels({}), 0);
}

TEST(HostilePictureTest, DecodingEndsWhenNobodyWantsIt) {
  const Picture picture = test_picture(400, 400);
  int asked = 0;
  const std::function<bool()> stops = [&] { return ++asked > 3; };
  PictureLimits limits;
  limits.stops = &stops;
  for (const Bytes& file : {encode_png({}, 400, 400, picture.rgb), encode_jpeg(picture, {.progressive = true})}) {
    asked = 0;
    EXPECT_NE(error_of(file, limits), "");
    EXPECT_EQ(asked, 4);
  }
}

TEST(HostilePictureTest, DecodingEndsWhenItsTimeIsUp) {
  const PictureLimits none{.time = std::chrono::milliseconds(0)};
  Picture noise = test_picture(400, 400);
  uint32_t random = 1;
  for (uint8_t& value : noise.rgb) value = static_cast<uint8_t>((random = random * 1664525 + 1013904223) >> 24);
  Bytes bmp{'B', 'M', 0, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 24, 0};
  bmp.resize(58);
  const std::vector<Bytes> files{encode_png({}, 400, 400, noise.rgb),
                                 encode_jpeg(noise),
                                 encode_jpeg(noise, {.progressive = true}),
                                 encode_webp(300, 400, noise.rgb),
                                 encode_clip({.container = "gif", .codec = "gif", .layout = AV_PIX_FMT_RGB8}, {noise}),
                                 bmp};
  for (const Bytes& file : files) {
    EXPECT_EQ(error_of(file), "");
    EXPECT_THAT(error_of(file, none), HasSubstr("longer than it may")) << picture_format(file);
  }
}

TEST(HostilePictureTest, WhatIsNoPictureIsNamed) {
  EXPECT_THAT(error_of({}), HasSubstr("expected a picture"));
  EXPECT_THAT(error_of({'h', 'e', 'l', 'l', 'o'}), HasSubstr("expected a picture"));
}

std::vector<Bytes> one_of_each() {
  const Picture picture = test_picture(24, 17);
  Bytes rgba;
  for (size_t i = 0; i < picture.rgb.size(); ++i) {
    rgba.push_back(picture.rgb[i]);
    if (i % 3 == 2) rgba.push_back(static_cast<uint8_t>(i));
  }
  Bytes bmp{'B', 'M', 0, 0, 0, 0, 0, 0, 0, 0, 62, 0, 0, 0, 40, 0, 0, 0, 8, 0, 0, 0, 2, 0, 0, 0, 1,
            0,   8,   0, 1, 0, 0, 0, 0, 0, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0};
  bmp.insert(bmp.end(), {1, 2, 3, 0, 4, 5, 6, 0, 8, 1, 0, 0, 0, 4, 1, 0, 1, 0, 2, 1, 0, 1});
  const Bytes gif{'G', 'I',  'F', '8', '9', 'a', 2, 0, 2, 0, 0x80, 0, 0, 0,    0,    0,    255, 1,
                  2,   0x2c, 0,   0,   0,   0,   2, 0, 2, 0, 0x40, 2, 3, 0x44, 0x02, 0x05, 0,   0x3b};
  return {encode_jpeg(picture),
          encode_jpeg(picture, {.progressive = true}),
          encode_png({}, 24, 17, picture.rgb),
          encode_png({PNG_COLOR_TYPE_RGB_ALPHA, 8, true}, 24, 17, rgba),
          encode_webp(24, 17, rgba),
          encode_webp(24, 17, rgba, false),
          gif,
          bmp};
}

// No crash and no hang, with sanitizers too; a message wherever it fails.
TEST(HostilePictureTest, CutAndChangedFiles) {
  std::minstd_rand random(7);
  const PictureLimits limits{.pixels = 1 << 20};
  for (const Bytes& file : one_of_each()) {
    EXPECT_EQ(error_of(file), "") << picture_format(file);
    for (size_t length = 0; length < file.size(); length += 1 + length / 16) {
      const auto cut = decode_picture({file.data(), length}, limits);
      if (!cut.ok()) {
        EXPECT_NE(cut.error().message, "");
      }
    }
    for (int i = 0; i < 300; ++i) {
      Bytes changed = file;
      for (int k = 0; k < 3; ++k) changed[random() % changed.size()] = static_cast<uint8_t>(random());
      const auto result = decode_picture(changed, limits);
      if (result.ok()) {
        EXPECT_EQ(result->rgb.size(), static_cast<size_t>(result->width) * static_cast<size_t>(result->height) * 3);
      }
    }
  }
}

TEST(JpegTest, BaselineProgressiveAndGrey) {
  const Picture picture = test_picture(64, 48);
  Picture smooth = picture;
  for (size_t i = 2; i < smooth.rgb.size(); i += 3) smooth.rgb[i] = 90;
  for (const bool progressive : {false, true}) {
    const Bytes got = pixels_of(encode_jpeg(smooth, {.quality = 98, .progressive = progressive}));
    EXPECT_LE(largest_step(got, smooth.rgb), 12);
  }
  const auto grey = decode_picture(encode_jpeg(smooth, {.grey = true}));
  ASSERT_TRUE(grey.ok());
  for (size_t i = 0; i < grey->rgb.size(); i += 3) {
    EXPECT_EQ(grey->rgb[i], grey->rgb[i + 1]);
    EXPECT_NEAR(grey->rgb[i], smooth.rgb[i], 8);
  }
}

Bytes exif(int orientation, bool big_endian) {
  Bytes app1{'E', 'x', 'i', 'f', 0, 0};
  const auto value = static_cast<uint8_t>(orientation);
  const Bytes little{'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, value, 0, 0, 0, 0, 0, 0, 0};
  const Bytes big{'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, value, 0, 0, 0, 0, 0, 0};
  const Bytes& tiff = big_endian ? big : little;
  app1.insert(app1.end(), tiff.begin(), tiff.end());
  return app1;
}

TEST(OrientationTest, IsReadInBothByteOrdersAndNonsenseIsUpright) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const bool big : {false, true}) EXPECT_EQ(exif_orientation(exif(orientation, big)), orientation);
  }
  EXPECT_EQ(exif_orientation(exif(9, true)), 1);
  EXPECT_EQ(exif_orientation({}), 1);
  const Bytes whole = exif(6, false);
  for (size_t length = 0; length + 8 < whole.size(); ++length) EXPECT_EQ(exif_orientation({whole.data(), length}), 1);
}

// Stored pixels 0 1 2 / 3 4 5; what is seen, by the table of the EXIF standard (where row 0 and column 0 lie).
TEST(OrientationTest, TurnsAndMirrors) {
  const std::vector<std::vector<uint8_t>> seen = {{0, 1, 2, 3, 4, 5}, {2, 1, 0, 5, 4, 3}, {5, 4, 3, 2, 1, 0},
                                                  {3, 4, 5, 0, 1, 2}, {0, 3, 1, 4, 2, 5}, {3, 0, 4, 1, 5, 2},
                                                  {5, 2, 4, 1, 3, 0}, {2, 5, 1, 4, 0, 3}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    Picture stored{3, 2, {}};
    for (uint8_t i = 0; i < 6; ++i) stored.rgb.insert(stored.rgb.end(), 3, i);
    const Picture upright = turned_upright(stored, orientation);
    EXPECT_EQ(upright.width, orientation < 5 ? 3 : 2);
    Bytes expected;
    for (const uint8_t value : seen[static_cast<size_t>(orientation) - 1]) expected.insert(expected.end(), 3, value);
    EXPECT_EQ(upright.rgb, expected) << orientation;
  }
}

TEST(OrientationTest, AJpegIsTurned) {
  const auto turned = decode_picture(encode_jpeg(test_picture(40, 24), {.app1 = exif(6, true)}));
  ASSERT_TRUE(turned.ok());
  EXPECT_EQ(turned->width, 24);
  EXPECT_EQ(turned->height, 40);
}

TEST(WebpTest, LosslessWithAlphaAndLossy) {
  EXPECT_EQ(pixels_of(encode_webp(2, 1, {10, 20, 30, 255, 9, 9, 9, 0})), (Bytes{10, 20, 30, 255, 255, 255}));
  const Bytes flat = repeated({40, 80, 120, 255}, 32 * 32);
  EXPECT_LE(largest_step(pixels_of(encode_webp(32, 32, flat, false)), repeated({40, 80, 120}, 32 * 32)), 4);
}

// 2 × 2 pixels 0 1 / 1 0 with the palette black, (255, 1, 2); codes clear, 0, 1, 1, 0, end of three bits each.
TEST(GifTest, InterlacedOnACanvasWithTransparency) {
  const Bytes head{'G', 'I', 'F', '8', '9', 'a', 3, 0, 2, 0, 0x80, 0, 0, 0, 0, 0, 255, 1, 2};
  const Bytes frame{0x2c, 1, 0, 0, 0, 2, 0, 2, 0, 0x40, 2, 3, 0x44, 0x02, 0x05, 0, 0x3b};
  Bytes plain = head, clear = head;
  plain.insert(plain.end(), frame.begin(), frame.end());
  const Bytes white{255, 255, 255}, red{255, 1, 2}, black{0, 0, 0};
  const auto rows = [](std::initializer_list<Bytes> pixels) {
    Bytes all;
    for (const Bytes& pixel : pixels) all.insert(all.end(), pixel.begin(), pixel.end());
    return all;
  };
  EXPECT_EQ(pixels_of(plain), rows({white, black, red, white, red, black}));
  const Bytes control{0x21, 0xf9, 4, 1, 0, 0, 0, 0};
  clear.insert(clear.end(), control.begin(), control.end());
  clear.insert(clear.end(), frame.begin(), frame.end());
  EXPECT_EQ(pixels_of(clear), rows({white, white, red, white, red, white}));
}

Bytes bmp_with(int bits, uint8_t compression, int8_t height, const Bytes& between, const Bytes& pixels) {
  const auto at = static_cast<uint8_t>(54 + between.size());
  Bytes file{'B', 'M', 0, 0, 0, 0, 0, 0, 0, 0, at, 0, 0, 0, 40, 0, 0, 0, 2, 0, 0, 0};
  const auto rest = static_cast<uint8_t>(height < 0 ? 0xff : 0);
  file.insert(file.end(), {static_cast<uint8_t>(height), rest, rest, rest, 1, 0, static_cast<uint8_t>(bits), 0});
  file.insert(file.end(), {compression, 0, 0, 0});
  file.resize(54);
  file.insert(file.end(), between.begin(), between.end());
  file.insert(file.end(), pixels.begin(), pixels.end());
  return file;
}

TEST(BmpTest, DepthsFieldsAndRuns) {
  const Bytes expected{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  EXPECT_EQ(pixels_of(bmp_with(24, 0, 2, {}, {9, 8, 7, 12, 11, 10, 0, 0, 3, 2, 1, 6, 5, 4, 0, 0})), expected);
  EXPECT_EQ(pixels_of(bmp_with(24, 0, -2, {}, {3, 2, 1, 6, 5, 4, 0, 0, 9, 8, 7, 12, 11, 10, 0, 0})), expected);
  EXPECT_EQ(pixels_of(bmp_with(32, 0, 1, {}, {3, 2, 1, 0, 6, 5, 4, 0})), (Bytes{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(pixels_of(bmp_with(16, 0, 1, {}, {0x00, 0x7c, 0xe0, 0x03})), (Bytes{255, 0, 0, 0, 255, 0}));
  const Bytes fields{0x00, 0xf8, 0, 0, 0xe0, 0x07, 0, 0, 0x1f, 0, 0, 0};
  EXPECT_EQ(pixels_of(bmp_with(16, 3, 1, fields, {0x00, 0xf8, 0xe0, 0x07})), (Bytes{255, 0, 0, 0, 255, 0}));
  Bytes palette(256 * 4, 0);
  palette[4] = 30, palette[5] = 20, palette[6] = 10;
  // Absolute mode needs three pixels or more: two rows by runs, the lower one first.
  const Bytes small_palette(palette.begin(), palette.begin() + 64);
  EXPECT_EQ(pixels_of(bmp_with(4, 2, 2, small_palette, {2, 0x01, 0, 0, 2, 0x10, 0, 1})),
            (Bytes{10, 20, 30, 0, 0, 0, 0, 0, 0, 10, 20, 30}));
  EXPECT_EQ(pixels_of(bmp_with(1, 0, 1, {0, 0, 0, 0, 30, 20, 10, 0}, {0x40, 0, 0, 0})), (Bytes{0, 0, 0, 10, 20, 30}));
  EXPECT_THAT(error_of(bmp_with(5, 0, 1, {}, {})), HasSubstr("5 bits with compression 0"));
  EXPECT_THAT(error_of(bmp_with(24, 0, 2, {}, {1, 2, 3})), HasSubstr("ends too early"));
}

}  // namespace
}  // namespace paceline
