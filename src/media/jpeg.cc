// JPEG by libjpeg-turbo.
// jpeglib.h wants <cstdio> before it.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <csetjmp>
#include <string>

#include "media/deadline.h"
#include "media/formats.h"
#include "media/orientation.h"

namespace paceline {
namespace {

// A progressive file may go over the whole picture as often as it likes; real ones do so about ten times.
constexpr int kMostScans = 100;

// libjpeg reports through callbacks that must not return.
struct Failure {
  jpeg_error_mgr calls;
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
  const char* code;
};

// libjpeg calls this for every row of blocks.
struct Watch {
  jpeg_progress_mgr calls;
  const Deadline* deadline;
};

[[noreturn]] void give_up(j_common_ptr common) {
  auto* failure = reinterpret_cast<Failure*>(common->err);
  (*common->err->format_message)(common, failure->message);
  std::longjmp(failure->escape, 1);
}

void stay_silent(j_common_ptr /*common*/) {}

void watch(j_common_ptr common) {
  const bool scans = reinterpret_cast<j_decompress_ptr>(common)->input_scan_number > kMostScans;
  if (!scans && !reinterpret_cast<const Watch*>(common->progress)->deadline->passed()) return;
  auto* failure = reinterpret_cast<Failure*>(common->err);
  std::snprintf(failure->message, sizeof failure->message, "%s", scans ? "too many scans" : kLateMessage);
  failure->code = scans ? kBroken : kTooSlow;
  std::longjmp(failure->escape, 1);
}

// Inverted, as Adobe's programs write them.
void flatten_cmyk(const uint8_t* cmyk, size_t count, uint8_t* rgb) {
  for (size_t i = 0; i < count; ++i, cmyk += 4, rgb += 3) {
    for (int c = 0; c < 3; ++c) rgb[c] = static_cast<uint8_t>((cmyk[c] * cmyk[3] + 127) / 255);
  }
}

class JpegDecoder {
 public:
  JpegDecoder(FileBytes file, const PictureLimits& limits)
      : file_(file), limits_(limits), deadline_(limits.time, limits.stops) {
    jpeg_.err = jpeg_std_error(&failure_.calls);
    failure_.calls.error_exit = give_up;
    failure_.calls.output_message = stay_silent;
    failure_.message[0] = 0;
    failure_.code = kBroken;
  }
  ~JpegDecoder() { jpeg_destroy_decompress(&jpeg_); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  Result<Picture> run() {
    // Whatever longjmp passes over has no destructors: vectors are members, and grow outside of these calls.
    if (!read_header()) return Error{failure_.message, failure_.code};
    TRY(check_size(jpeg_.image_width, jpeg_.image_height, limits_));
    picture_.width = static_cast<int32_t>(jpeg_.image_width);
    picture_.height = static_cast<int32_t>(jpeg_.image_height);
    const size_t pixels = size_t{jpeg_.image_width} * jpeg_.image_height;
    picture_.rgb.resize(pixels * 3);
    const bool cmyk = jpeg_.jpeg_color_space == JCS_CMYK || jpeg_.jpeg_color_space == JCS_YCCK;
    jpeg_.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    if (cmyk) row_.resize(size_t{jpeg_.image_width} * 4);
    if (!read_pixels(cmyk)) return Error{failure_.message, failure_.code};
    return turned_upright(std::move(picture_), orientation_);
  }

 private:
  bool read_header() {
    if (setjmp(failure_.escape) != 0) return false;
    jpeg_create_decompress(&jpeg_);
    jpeg_mem_src(&jpeg_, file_.data(), file_.size());
    jpeg_save_markers(&jpeg_, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(&jpeg_, TRUE);
    for (const jpeg_marker_struct* marker = jpeg_.marker_list; marker != nullptr; marker = marker->next) {
      if (marker->marker != JPEG_APP0 + 1) continue;
      orientation_ = exif_orientation({marker->data, marker->data_length});
      if (orientation_ != 1) break;
    }
    return true;
  }

  bool read_pixels(bool cmyk) {
    if (setjmp(failure_.escape) != 0) return false;
    watch_.calls.progress_monitor = watch;
    watch_.deadline = &deadline_;
    jpeg_.progress = &watch_.calls;
    jpeg_start_decompress(&jpeg_);
    while (jpeg_.output_scanline < jpeg_.output_height) {
      uint8_t* out = picture_.rgb.data() + size_t{jpeg_.output_scanline} * jpeg_.output_width * 3;
      JSAMPROW row = cmyk ? row_.data() : out;
      jpeg_read_scanlines(&jpeg_, &row, 1);
      if (cmyk) flatten_cmyk(row_.data(), jpeg_.output_width, out);
    }
    jpeg_finish_decompress(&jpeg_);
    return true;
  }

  FileBytes file_;
  const PictureLimits& limits_;
  Deadline deadline_;
  jpeg_decompress_struct jpeg_{};
  Watch watch_{};
  Failure failure_{};
  int orientation_ = 1;
  Picture picture_;
  std::vector<uint8_t> row_;
};

}  // namespace

Result<Picture> decode_jpeg(FileBytes file, const PictureLimits& limits) { return JpegDecoder(file, limits).run(); }

}  // namespace paceline
