#include "media/video.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/check.h"
#include "media/clip_file.h"
#include "media/frame_pixels.h"
#include "media/orientation.h"

namespace paceline {
namespace {

using Packets = std::vector<ClipFile::Packet>;

class Reading {
 public:
  Reading(FileBytes file, const FrameWishes& wishes, const ClipLimits& limits)
      : file_(file), wishes_(wishes), limits_(limits), deadline_(limits.time, limits.stops) {}

  Result<Clip> run() {
    TRY_ASSIGN(const Packets packets, list_packets());
    const auto shown = std::count_if(packets.begin(), packets.end(), [](const auto& packet) { return packet.shown; });
    if (shown == 0) return Error{"the clip has no frames"};
    clip_.file_frames = shown;
    const double seconds = static_cast<double>(shown) / clip_.rate;
    if (seconds > limits_.seconds)
      return Error{fmt::format("the clip lasts {:.0f} s; at most {:.0f} are read", seconds, limits_.seconds), kTooLong};
    if (timed(packets) && take_by_time(packets).ok()) return std::move(clip_);
    if (deadline_.passed()) return too_late();
    // Packets and frames need not be as many. Whoever was wrong about it knows better the second time.
    TRY_ASSIGN(const int64_t decoded, take_by_number());
    if (decoded == 0) return Error{"the clip has no frames"};
    if (decoded == clip_.file_frames) return std::move(clip_);
    clip_.file_frames = decoded;
    TRY(take_by_number());
    return std::move(clip_);
  }

 private:
  Result<Packets> list_packets() {
    TRY_ASSIGN(const auto clip_file, ClipFile::open(file_, limits_, deadline_));
    clip_.rate = clip_file->rate();
    Packets packets;
    while (true) {
      ClipFile::Packet packet;
      TRY_ASSIGN(const bool more, clip_file->next_packet(&packet));
      if (!more) return packets;
      packets.push_back(packet);
    }
  }

  // Each frame can be told by its time.
  static bool timed(const Packets& packets) {
    std::vector<int64_t> times;
    for (const ClipFile::Packet& packet : packets) {
      if (!packet.timed) return false;
      times.push_back(packet.time);
    }
    std::sort(times.begin(), times.end());
    return packets.front().key && std::adjacent_find(times.begin(), times.end()) == times.end();
  }

  // The times of the frames to be shown, with their numbers.
  [[nodiscard]] std::map<int64_t, int64_t> wanted_times(const Packets& packets) const {
    std::vector<int64_t> times;
    for (const ClipFile::Packet& packet : packets) {
      if (packet.shown) times.push_back(packet.time);
    }
    std::sort(times.begin(), times.end());
    std::map<int64_t, int64_t> wanted;
    for (const int64_t number : sampled_frames(clip_.file_frames, wishes_.frames))
      wanted[times[static_cast<size_t>(number)]] = number;
    return wanted;
  }

  // A frame may refer to whatever was decoded before it since a key: the last one; or, where the frame is shown before
  // that, the one before.
  static std::vector<bool> needed_packets(const Packets& packets, const std::map<int64_t, int64_t>& wanted) {
    std::vector<bool> needed(packets.size());
    size_t before = 0;
    for (size_t begin = 0; begin < packets.size();) {
      size_t end = begin + 1;
      while (end < packets.size() && !packets[end].key) ++end;
      for (size_t i = begin; i < end; ++i) {
        if (!wanted.contains(packets[i].time)) continue;
        const size_t from = packets[i].time < packets[begin].time ? before : begin;
        for (size_t needs = from; needs <= i; ++needs) needed[needs] = true;
      }
      before = begin;
      begin = end;
    }
    return needed;
  }

  // Decodes no more than these frames need.
  Status take_by_time(const Packets& packets) {
    clip_.frames.clear();
    const std::map<int64_t, int64_t> wanted = wanted_times(packets);
    const std::vector<bool> needed = needed_packets(packets, wanted);
    TRY_ASSIGN(const auto clip_file, ClipFile::open(file_, limits_, deadline_));
    while (clip_.frames.size() < wanted.size()) {
      TRY_ASSIGN(const AVFrame* frame,
                 clip_file->next_frame([&](size_t packet) { return packet < needed.size() && needed[packet]; }));
      if (frame == nullptr) return Error{"frames are missing"};
      const auto found = wanted.find(ClipFile::frame_time(*frame));
      if (found == wanted.end()) continue;
      if (!clip_.frames.empty() && clip_.frames.back().number >= found->second) return Error{"frames out of order"};
      TRY(take(*clip_file, *frame, found->second));
    }
    return Done{};
  }

  // Decodes everything and counts: how many there were.
  Result<int64_t> take_by_number() {
    clip_.frames.clear();
    const std::vector<int64_t> wanted = sampled_frames(clip_.file_frames, wishes_.frames);
    TRY_ASSIGN(const auto clip_file, ClipFile::open(file_, limits_, deadline_));
    for (int64_t number = 0;; ++number) {
      TRY_ASSIGN(const AVFrame* frame, clip_file->next_frame([](size_t) { return true; }));
      if (frame == nullptr) return number;
      if (number >= limits_.frames)
        return Error{fmt::format("the clip has more than {} frames", limits_.frames), kTooLong};
      if (std::binary_search(wanted.begin(), wanted.end(), number)) TRY(take(*clip_file, *frame, number));
    }
  }

  Status take(const ClipFile& clip_file, const AVFrame& frame, int64_t number) {
    TRY_ASSIGN(Picture picture, picture_of(frame, {.pixels = limits_.pixels, .side = limits_.side}));
    picture = turned_upright(std::move(picture), clip_file.orientation());
    TRY_ASSIGN(Patches patches, make_patches(picture, wishes_.shape, wishes_.side, wishes_.budget));
    clip_.frames.push_back(
        {std::make_shared<const Patches>(std::move(patches)), number, static_cast<double>(number) / clip_.rate});
    return Done{};
  }

  FileBytes file_;
  const FrameWishes& wishes_;
  const ClipLimits& limits_;
  Deadline deadline_;
  Clip clip_;
};

}  // namespace

std::vector<int64_t> sampled_frames(int64_t count, int32_t most) {
  std::vector<int64_t> numbers;
  const int64_t shown = std::min<int64_t>(count, most);
  for (int64_t i = 0; i < shown; ++i) numbers.push_back(i * count / shown);
  return numbers;
}

Result<Clip> read_clip(FileBytes file, const FrameWishes& wishes, const ClipLimits& limits) {
  CHECK(wishes.frames > 0 && wishes.frames <= kMostFrames);
  if (file.size() > limits.bytes) {
    return Error{fmt::format("the file has {} bytes; at most {} are read", file.size(), limits.bytes), kTooLarge};
  }
  const RefusedMemory memory;
  auto clip = Reading(file, wishes, limits).run();
  if (!clip.ok()) return with_media_code(clip.error(), memory);
  return clip;
}

}  // namespace paceline
