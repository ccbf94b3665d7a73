// Any bytes as a clip: an error with a reason, or frames within the limits.
#include "base/check.h"
#include "media/video.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const paceline::ClipLimits limits{.pixels = 1 << 16, .frames = 64, .seconds = 60, .time = std::chrono::seconds(5)};
  paceline::FrameWishes wishes;
  wishes.frames = 4;
  wishes.budget = 4;  // resizing is not what is looked for
  const auto clip = paceline::read_clip({bytes, size}, wishes, limits);
  if (!clip.ok()) {
    CHECK(!clip.error().message.empty());
    return 0;
  }
  CHECK(!clip->frames.empty() && clip->frames.size() <= 4);
  for (const auto& frame : clip->frames) {
    CHECK(frame.patches->tokens > 0 && frame.patches->tokens <= wishes.budget);
    CHECK(frame.number < limits.frames && frame.seconds >= 0);
  }
  return 0;
}
