// What a build without FFmpeg's libraries says of clips.
#include "media/refusal_codes.h"
#include "media/video.h"

namespace paceline {

std::vector<int64_t> sampled_frames(int64_t /*count*/, int32_t /*most*/) { return {}; }

Result<Clip> read_clip(FileBytes /*file*/, const FrameWishes& /*wishes*/, const ClipLimits& /*limits*/) {
  return Error{"this program was built without clips: configure with -DPACELINE_FFMPEG=ON", kNotBuilt};
}

}  // namespace paceline
