// WebP by libwebp, lossy and lossless; of an animation the first frame, at its place on a white canvas.
#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <memory>

#include "media/deadline.h"
#include "media/formats.h"

namespace paceline {
namespace {

const char* reason_of(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY: return "not enough memory";
    case VP8_STATUS_UNSUPPORTED_FEATURE: return "a feature that the decoder does not have";
    case VP8_STATUS_NOT_ENOUGH_DATA: return "the file ends too early";
    default: return "the bytes make no sense";
  }
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
  if (known != VP8_STATUS_OK) return Error{reason_of(known)};
  if (config.input.width != width || config.input.height != height) return Error{"sizes that contradict each other"};
  rgba->resize(static_cast<size_t>(width) * static_cast<size_t>(height) * 4);
  config.output.colorspace = MODE_RGBA;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = rgba->data();
  config.output.u.RGBA.stride = width * 4;
  config.output.u.RGBA.size = rgba->size();
  const std::unique_ptr<WebPIDecoder, FreeDecoder> decoder(WebPIDecode(nullptr, 0, &config));
  if (decoder == nullptr) return Error{reason_of(VP8_STATUS_OUT_OF_MEMORY)};
  VP8StatusCode status = VP8_STATUS_SUSPENDED;
  for (size_t given = 0; given < file.size() && status == VP8_STATUS_SUSPENDED;) {
    if (deadline.passed()) return too_late();
    given = std::min(file.size(), given + kPieceBytes);
    status = WebPIUpdate(decoder.get(), file.data(), given);
  }
  if (status == VP8_STATUS_SUSPENDED) status = VP8_STATUS_NOT_ENOUGH_DATA;
  if (status != VP8_STATUS_OK) return Error{reason_of(status)};
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
  if (status != VP8_STATUS_OK) return Error{reason_of(status)};
  TRY(check_size(features.width, features.height, limits));
  return features.has_animation != 0 ? decode_first_frame(file, limits, deadline)
                                     : decode_still(file, features, deadline);
}

}  // namespace paceline
