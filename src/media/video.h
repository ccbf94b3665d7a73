// The bytes of a clip → some of its frames as patches, each with the time it stands for. What the container and the
// codec are is told by the bytes; they are read by libavformat and libavcodec, from memory and nowhere else.
//
// Decoding takes one thread, the caller's, and touches nothing shared: whoever serves requests calls this beside the
// engine, not from within it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "media/formats.h"
#include "media/patches.h"

namespace paceline {

inline constexpr int32_t kMostFrames = 256;           // that are shown of a clip, whoever asks
inline constexpr int32_t kDefaultFrames = 32;         // where nobody says
inline constexpr int32_t kFrameBudget = kBudgets[0];  // soft tokens of each, where nobody says
inline constexpr double kRateWhereNoneIsKnown = 24;   // frames in a second, as the reference assumes

struct Clip {
  struct Frame {
    std::shared_ptr<const Patches> patches;
    int64_t number = 0;  // in the file, from 0
    double seconds = 0;  // number / the clip's mean frame rate
  };
  std::vector<Frame> frames;
  int64_t file_frames = 0;
  double rate = 0;  // frames in a second
};

// What a model's files say of clips.
struct ClipBudget {
  int32_t frames = kDefaultFrames;
  int32_t tokens = kFrameBudget;  // of each frame
};

// Checked before memory is taken for what they bound; the time between packets.
struct ClipLimits {
  size_t bytes = size_t{256} << 20;       // of the file
  int64_t pixels = int64_t{4096} * 2304;  // of a frame; codecs hold up to twenty of them
  int32_t side = 16384;
  int64_t frames = 100'000;  // in the file
  double seconds = 3600;     // that it lasts
  std::chrono::milliseconds time{60000};
  const std::function<bool()>* stops = nullptr;  // asked while decoding: nobody wants it any more
};

// How a frame becomes patches, as for make_patches, and how many are wanted.
struct FrameWishes {
  PatchShape shape;
  int32_t side = 16;
  int32_t budget = kFrameBudget;
  int32_t frames = kDefaultFrames;  // at most
};

// The numbers of the frames that are shown of `count`: all, or `most` of them evenly spread from the first on.
std::vector<int64_t> sampled_frames(int64_t count, int32_t most);

Result<Clip> read_clip(FileBytes file, const FrameWishes& wishes, const ClipLimits& limits = {});

}  // namespace paceline
