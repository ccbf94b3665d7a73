// PNG by libpng: every colour type and depth, interlaced or not.
#include <png.h>

#include <csetjmp>
#include <cstring>
#include <string>

#include "media/deadline.h"
#include "media/formats.h"

namespace paceline {
namespace {

// Text, profiles and the like: none of it is needed.
constexpr png_alloc_size_t kMostChunkBytes = 8 << 20;
constexpr png_uint_32 kMostCachedChunks = 128;

class PngDecoder {
 public:
  PngDecoder(FileBytes file, const PictureLimits& limits)
      : left_(file), limits_(limits), deadline_(limits.time, limits.stops) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, give_up, stay_silent);
    if (png_ != nullptr) header_ = png_create_info_struct(png_);
  }
  ~PngDecoder() { png_destroy_read_struct(&png_, &header_, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  Result<Picture> run() {
    if (png_ == nullptr || header_ == nullptr) return Error{"the decoder could not be made"};
    // Whatever longjmp passes over has no destructors: vectors are members, and grow outside of these calls.
    if (!read_header()) return Error{message_, code_};
    const int64_t width = png_get_image_width(png_, header_), height = png_get_image_height(png_, header_);
    TRY(check_size(width, height, limits_));
    if (!plan()) return Error{message_, code_};
    // Four bytes for each pixel; the colours stay, moved together.
    picture_.width = static_cast<int32_t>(width);
    picture_.height = static_cast<int32_t>(height);
    const auto pixels = static_cast<size_t>(width * height);
    picture_.rgb.resize(pixels * 4);
    rows_.resize(static_cast<size_t>(height));
    for (size_t y = 0; y < rows_.size(); ++y) rows_[y] = picture_.rgb.data() + y * static_cast<size_t>(width) * 4;
    if (!read_pixels()) return Error{message_, code_};
    flatten_over_white(picture_.rgb.data(), pixels, picture_.rgb.data());
    picture_.rgb.resize(pixels * 3);
    return std::move(picture_);
  }

 private:
  [[noreturn]] static void give_up(png_structp png, png_const_charp why) {
    auto* self = static_cast<PngDecoder*>(png_get_error_ptr(png));
    std::strncpy(self->message_, why, sizeof self->message_ - 1);
    png_longjmp(png, 1);
  }
  static void stay_silent(png_structp /*png*/, png_const_charp /*why*/) {}

  static void read_bytes(png_structp png, png_bytep out, size_t count) {
    auto* self = static_cast<PngDecoder*>(png_get_io_ptr(png));
    if (count > self->left_.size()) png_error(png, "the file ends too early");
    std::memcpy(out, self->left_.data(), count);
    self->left_ = self->left_.subspan(count);
  }

  bool read_header() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, this, read_bytes);
    // How large it may be is looked at once that is known: no memory is taken before.
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_chunk_malloc_max(png_, kMostChunkBytes);
    png_set_chunk_cache_max(png_, kMostCachedChunks);
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, 0);
    png_read_info(png_, header_);
    return true;
  }

  // Whatever the file has becomes four times eight bits.
  bool plan() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_expand(png_);  // palettes, depths below eight, transparent colours
    png_set_scale_16(png_);
    png_set_gray_to_rgb(png_);
    png_set_add_alpha(png_, 0xff, PNG_FILLER_AFTER);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, header_);
    if (png_get_rowbytes(png_, header_) != size_t{png_get_image_width(png_, header_)} * 4)
      png_error(png_, "rows of an unexpected length");
    return true;
  }

  static void check_time(png_structp png, png_uint_32 /*row*/, int /*pass*/) {
    auto* self = static_cast<PngDecoder*>(png_get_io_ptr(png));
    if (!self->deadline_.passed()) return;
    self->code_ = kTooSlow;
    png_error(png, kLateMessage);
  }

  bool read_pixels() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_status_fn(png_, check_time);
    png_read_image(png_, rows_.data());
    return true;
  }

  FileBytes left_;
  const PictureLimits& limits_;
  Deadline deadline_;
  png_structp png_ = nullptr;
  png_infop header_ = nullptr;
  char message_[160] = {};
  const char* code_ = kBroken;
  Picture picture_;
  std::vector<png_bytep> rows_;
};

}  // namespace

Result<Picture> decode_png(FileBytes file, const PictureLimits& limits) { return PngDecoder(file, limits).run(); }

}  // namespace paceline
