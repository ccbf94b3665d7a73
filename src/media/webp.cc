// WebP by libwebp, lossy and lossless; of an animation the first frame, at its place on a white canvas.
#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "media/deadline.h"
#include "media/formats.h"

namespace paceline {
namespace {

// It also says that the bytes make no sense where it was refused memory for what it unpacks.
Error problem_of(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY: return no_memory();
    case VP8_STATUS_UNSUPPORTED_FEATURE: return {"a feature that the decoder does not have"};
    case VP8_STATUS_NOT_ENOUGH_DATA: return {"the file ends too early"};
    default: return {"the bytes make no sense"};
  }
}

// libwebp does not look everywhere whether it was given the memory that it asked for, and 1.2.4 ends the process then
// in a few places. So what it takes beside the pixels that come out is taken before it begins, and given back: of
// lossless pictures 4 bytes a pixel, of transparency one, some rows, and tables.
bool has_room_to_decode(int32_t width, int32_t height) {
  constexpr size_t kPixelBytes = 5, kRows = 64, kTableBytes = size_t{1} << 20;
  const auto row_bytes = static_cast<size_t>(width) * kPixelBytes;
  void* volatile block = std::malloc(row_bytes * (static_cast<size_t>(height) + kRows) + kTableBytes);
  const bool found = block != nullptr;
  std::free(block);
  return found;
}

// What the decoder is given between two looks at the clock.
constexpr size_t kPieceBytes = 64 << 10;

struct FreeDecoder {
  void operator()(WebPIDecoder* decoder) const { WebPIDelete(decoder); }
};

struct FreeDemuxer {
  void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
};

// [height, width, 4] into rgba, checked against the size the caller made room for.
Status decode_into(FileBytes file, int32_t width, int32_t height, const Deadline& deadline,
                   std::vector<uint8_t>* rgba) {
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0) return Error{"the decoder is of another version"};
  const VP8StatusCode known = WebPGetFeatures(file.data(), file.size(), &config.input);
  if (known != VP8_STATUS_OK) return problem_of(known);
  if (config.input.width != width || config.input.height != height) return Error{"sizes that contradict each other"};
  rgba->resize(static_cast<size_t>(width) * static_cast<size_t>(height) * 4);
  config.output.colorspace = MODE_RGBA;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = rgba->data();
  config.output.u.RGBA.stride = width * 4;
  config.output.u.RGBA.size = rgba->size();
  if (!has_room_to_decode(width, height)) return no_memory();
  const std::unique_ptr<WebPIDecoder, FreeDecoder> decoder(WebPIDecode(nullptr, 0, &config));
  if (decoder == nullptr) return problem_of(VP8_STATUS_OUT_OF_MEMORY);
  VP8StatusCode status = VP8_STATUS_SUSPENDED;
  for (size_t given = 0; given < file.size() && status == VP8_STATUS_SUSPENDED;) {
    if (deadline.passed()) return too_late();
    given = std::min(file.size(), given + kPieceBytes);
    status = WebPIUpdate(decoder.get(), file.data(), given);
  }
  if (status == VP8_STATUS_SUSPENDED) status = VP8_STATUS_NOT_ENOUGH_DATA;
  if (status != VP8_STATUS_OK) return problem_of(status);
  return Done{};
}

Result<Picture> decode_still(FileBytes file, const WebPBitstreamFeatures& features, const Deadline& deadline) {
  Picture picture{features.width, features.height, {}};
  TRY(decode_into(file, picture.width, picture.height, deadline, &picture.rgb));
  const size_t pixels = picture.rgb.size() / 4;
  flatten_over_white(picture.rgb.data(), pixels, picture.rgb.data());
  picture.rgb.resize(pixels * 3);
  return picture;
}

Result<Picture> decode_first_frame(FileBytes file, const PictureLimits& limits, const Deadline& deadline) {
  const WebPData all{file.data(), file.size()};
  const std::unique_ptr<WebPDemuxer, FreeDemuxer> demuxer(WebPDemux(&all));
  if (demuxer == nullptr) return Error{"an animation whose frames cannot be found"};
  Picture picture{static_cast<int32_t>(WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_WIDTH)),
                  static_cast<int32_t>(WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_HEIGHT)),
                  {}};
  TRY(check_size(picture.width, picture.height, limits));
  WebPIterator frame;
  if (WebPDemuxGetFrame(demuxer.get(), 1, &frame) == 0) return Error{"an animation without frames"};
  const std::unique_ptr<WebPIterator, void (*)(WebPIterator*)> release(&frame, WebPDemuxReleaseIterator);
  TRY(check_size(frame.width, frame.height, limits));
  if (frame.x_offset < 0 || frame.y_offset < 0 || frame.x_offset + frame.width > picture.width ||
      frame.y_offset + frame.height > picture.height) {
    return Error{"a frame that lies outside of the canvas"};
  }
  std::vector<uint8_t> rgba;
  TRY(decode_into({frame.fragment.bytes, frame.fragment.size}, frame.width, frame.height, deadline, &rgba));
  const auto canvas_row = static_cast<size_t>(picture.width) * 3;
  picture.rgb.assign(canvas_row * static_cast<size_t>(picture.height), 255);
  for (int32_t y = 0; y < frame.height; ++y) {
    flatten_over_white(rgba.data() + static_cast<size_t>(y) * static_cast<size_t>(frame.width) * 4,
                       static_cast<size_t>(frame.width),
                       picture.rgb.data() + static_cast<size_t>(frame.y_offset + y) * canvas_row +
                           static_cast<size_t>(frame.x_offset) * 3);
  }
  return picture;
}

}  // namespace

Result<Picture> decode_webp(FileBytes file, const PictureLimits& limits) {
  const Deadline deadline(limits.time, limits.stops);
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(file.data(), file.size(), &features);
  if (status != VP8_STATUS_OK) return problem_of(status);
  TRY(check_size(features.width, features.height, limits));
  return features.has_animation != 0 ? decode_first_frame(file, limits, deadline)
                                     : decode_still(file, features, deadline);
}

}  // namespace paceline
