#include "media/frame_pixels.h"

extern "C" {
#include <libavutil/frame.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
}

#include <cstring>
#include <memory>

#include "media/refusal_codes.h"

namespace paceline {
namespace {

// Rounding as the C code does, colour at full resolution.
constexpr int kExact = SWS_BICUBIC | SWS_ACCURATE_RND | SWS_BITEXACT | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP;

// Vector code may write whole vectors, beyond a row's last pixel.
constexpr size_t kAlignment = 64;

struct FreeScaler {
  void operator()(SwsContext* scaler) const { sws_freeContext(scaler); }
};

// Older names of layouts say the range of values themselves.
bool full_range(const AVFrame& frame) {
  switch (frame.format) {
    case AV_PIX_FMT_YUVJ420P:
    case AV_PIX_FMT_YUVJ422P:
    case AV_PIX_FMT_YUVJ444P:
    case AV_PIX_FMT_YUVJ440P:
    case AV_PIX_FMT_YUVJ411P: return true;
    default: return frame.color_range == AVCOL_RANGE_JPEG;
  }
}

// Where a clip does not say, what standard definition has: as the reference does.
int colours_of(const AVFrame& frame) {
  switch (frame.colorspace) {
    case AVCOL_SPC_BT709: return SWS_CS_ITU709;
    case AVCOL_SPC_FCC: return SWS_CS_FCC;
    case AVCOL_SPC_SMPTE240M: return SWS_CS_SMPTE240M;
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL: return SWS_CS_BT2020;
    default: return SWS_CS_DEFAULT;
  }
}

}  // namespace

Result<Picture> picture_of(const AVFrame& frame, const PictureLimits& limits) {
  TRY(check_size(frame.width, frame.height, limits));
  const auto format = static_cast<AVPixelFormat>(frame.format);
  const AVPixFmtDescriptor* layout = av_pix_fmt_desc_get(format);
  if (layout == nullptr || sws_isSupportedInput(format) <= 0)
    return Error{"frames in a layout that is not known", kUnknownFormat};
  const bool alpha = (layout->flags & AV_PIX_FMT_FLAG_ALPHA) != 0;
  const size_t channels = alpha ? 4 : 3;
  const std::unique_ptr<SwsContext, FreeScaler> scaler(
      sws_getContext(frame.width, frame.height, format, frame.width, frame.height,
                     alpha ? AV_PIX_FMT_RGBA : AV_PIX_FMT_RGB24, kExact, nullptr, nullptr, nullptr));
  if (scaler == nullptr) return Error{"frames whose colours cannot be converted"};
  // Refused for layouts that are RGB already, which is right.
  sws_setColorspaceDetails(scaler.get(), sws_getCoefficients(colours_of(frame)), full_range(frame) ? 1 : 0,
                           sws_getCoefficients(SWS_CS_DEFAULT), 1, 0, 1 << 16, 1 << 16);

  Picture picture{frame.width, frame.height, {}};
  const auto width = static_cast<size_t>(frame.width), height = static_cast<size_t>(frame.height);
  const size_t stride = (width * channels + kAlignment - 1) / kAlignment * kAlignment;
  std::vector<uint8_t> rows(stride * height + kAlignment);
  uint8_t* const planes[4] = {rows.data(), nullptr, nullptr, nullptr};
  const int strides[4] = {static_cast<int>(stride), 0, 0, 0};
  if (sws_scale(scaler.get(), frame.data, frame.linesize, 0, frame.height, planes, strides) != frame.height)
    return Error{"frames whose colours cannot be converted"};
  picture.rgb.resize(width * height * 3);
  for (size_t y = 0; y < height; ++y) {
    const uint8_t* in = rows.data() + y * stride;
    uint8_t* out = picture.rgb.data() + y * width * 3;
    alpha ? flatten_over_white(in, width, out) : static_cast<void>(std::memcpy(out, in, width * 3));
  }
  return picture;
}

}  // namespace paceline
