// Any bytes as a picture: an error with a reason, or a picture within the limits, cut into patches.
#include "base/check.h"
#include "media/decode.h"
#include "media/patches.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const paceline::PictureLimits limits{.pixels = 1 << 18};
  const auto picture = paceline::decode_picture({bytes, size}, limits);
  if (!picture.ok()) {
    CHECK(!picture.error().message.empty());
    return 0;
  }
  const auto pixels = static_cast<int64_t>(picture->width) * picture->height;
  CHECK(pixels <= limits.pixels && static_cast<int64_t>(picture->rgb.size()) == pixels * 3);
  const auto patches = paceline::make_patches(*picture, {}, 16, 70);
  if (patches.ok()) CHECK(patches->count() <= 70 * 9);
  return 0;
}
