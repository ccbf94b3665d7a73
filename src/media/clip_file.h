// One passage through a clip's file, from its beginning: packets as they lie there, or decoded frames in the order of
// display. libav's types stay behind this header and frame_pixels.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "media/deadline.h"
#include "media/formats.h"
#include "media/video.h"

struct AVFrame;

namespace paceline {

class ClipFile {
 public:
  // An error where it is no clip, or lasts longer than it may. All three must outlive it.
  static Result<std::unique_ptr<ClipFile>> open(FileBytes file, const ClipLimits& limits, const Deadline& deadline);
  ~ClipFile();
  ClipFile(const ClipFile&) = delete;
  ClipFile& operator=(const ClipFile&) = delete;

  struct Packet {
    int64_t time = 0;    // of display, in the file's own unit
    bool timed = false;  // it has one
    bool key = false;    // decoding can begin here
    bool shown = false;  // becomes a frame
  };
  // The next packet of the pictures, not decoded; false at the end.
  Result<bool> next_packet(Packet* packet);

  // Decodes those packets only for which wanted(n), n being the packet's number; behind a gap decoding begins afresh.
  // A frame stays valid until the next call; none at the end.
  Result<const AVFrame*> next_frame(const std::function<bool(size_t)>& wanted);

  // As Packet::time.
  [[nodiscard]] static int64_t frame_time(const AVFrame& frame);
  [[nodiscard]] double rate() const;      // frames in a second
  [[nodiscard]] int orientation() const;  // as EXIF numbers them

 private:
  struct Parts;
  explicit ClipFile(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace paceline
