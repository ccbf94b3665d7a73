#include "media/orientation.h"

#include <algorithm>
#include <cstring>

#include "media/byte_reader.h"

namespace paceline {
namespace {

constexpr int kUpright = 1;
constexpr uint16_t kOrientationTag = 0x0112;
constexpr uint16_t kShort = 3;
constexpr char kHead[] = {'E', 'x', 'i', 'f', 0, 0};

}  // namespace

int exif_orientation(FileBytes app1) {
  if (app1.size() < sizeof kHead || std::memcmp(app1.data(), kHead, sizeof kHead) != 0) return kUpright;
  const FileBytes tiff = app1.subspan(sizeof kHead);
  ByteReader reader(tiff);
  const uint16_t order = reader.u16();  // "II" or "MM": the same in either byte order
  if (order != 0x4949 && order != 0x4d4d) return kUpright;
  reader.set_big_endian(order == 0x4d4d);
  if (reader.u16() != 42) return kUpright;
  reader.seek(reader.u32());
  const int entries = reader.u16();
  for (int i = 0; i < entries && !reader.overran(); ++i) {
    const uint16_t tag = reader.u16(), type = reader.u16();
    const uint32_t count = reader.u32();
    const uint16_t value = reader.u16();
    reader.skip(2);
    if (tag != kOrientationTag) continue;
    const bool sound = !reader.overran() && type == kShort && count == 1 && value >= 1 && value <= 8;
    return sound ? value : kUpright;
  }
  return kUpright;
}

Picture turned_upright(Picture picture, int orientation) {
  if (orientation <= 1 || orientation > 8) return picture;
  // From 5 on rows and columns change places, before whatever is mirrored.
  const bool swaps = orientation >= 5;
  const bool mirrors_x = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  const bool mirrors_y = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  Picture upright;
  upright.width = swaps ? picture.height : picture.width;
  upright.height = swaps ? picture.width : picture.height;
  upright.rgb.resize(picture.rgb.size());
  uint8_t* out = upright.rgb.data();
  for (int32_t y = 0; y < upright.height; ++y) {
    const int64_t v = mirrors_y ? upright.height - 1 - y : y;
    for (int32_t x = 0; x < upright.width; ++x, out += 3) {
      const int64_t u = mirrors_x ? upright.width - 1 - x : x;
      const int64_t from = swaps ? u * picture.width + v : v * picture.width + u;
      std::copy_n(picture.rgb.data() + 3 * from, 3, out);
    }
  }
  return upright;
}

}  // namespace paceline
