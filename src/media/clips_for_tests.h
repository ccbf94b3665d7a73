// Clips made in memory by libav's own encoders, for tests.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/display.h>
#include <libavutil/opt.h>
#include <libswscale/swscale.h>
}

#include <string>
#include <vector>

#include "base/check.h"
#include "media/encoders_for_tests.h"

namespace paceline {

struct ClipKind {
  const char* container = "matroska";
  const char* codec = "ffv1";
  AVPixelFormat layout = AV_PIX_FMT_BGR0;  // ffv1 keeps it to the bit
  int rate = 5;                            // frames in a second
  int key_every = 12;
  int between = 0;                                                 // frames that refer to both sides
  std::vector<std::pair<const char*, const char*>> settings = {};  // of the codec
  int turned = 0;                                                  // degrees clockwise, to be shown upright
};

// Without a loss, so that pixels can be compared.
inline ClipKind lossless_h264() {
  return {.container = "mp4",
          .codec = "libx264rgb",
          .layout = AV_PIX_FMT_RGB24,
          .settings = {{"qp", "0"}, {"preset", "veryfast"}}};
}
inline ClipKind lossless_vp9() {
  return {.container = "webm",
          .codec = "libvpx-vp9",
          .layout = AV_PIX_FMT_GBRP,
          .settings = {{"lossless", "1"}, {"cpu-used", "5"}}};
}

class ClipWriter {
 public:
  ClipWriter(const ClipKind& kind, int32_t width, int32_t height) : kind_(kind) {
    const AVCodec* encoder = avcodec_find_encoder_by_name(kind.codec);
    if (encoder == nullptr) return;
    CHECK(avformat_alloc_output_context2(&format_, nullptr, kind.container, nullptr) >= 0);
    codec_ = avcodec_alloc_context3(encoder);
    codec_->width = width;
    codec_->height = height;
    codec_->pix_fmt = kind.layout;
    codec_->time_base = {1, kind.rate};
    codec_->framerate = {kind.rate, 1};
    codec_->gop_size = kind.key_every;
    codec_->max_b_frames = kind.between;
    codec_->thread_count = 1;
    if ((format_->oformat->flags & AVFMT_GLOBALHEADER) != 0) codec_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    AVDictionary* options = nullptr;
    for (const auto& [name, value] : kind.settings) av_dict_set(&options, name, value, 0);
    CHECK(avcodec_open2(codec_, encoder, &options) >= 0);
    av_dict_free(&options);
    stream_ = avformat_new_stream(format_, nullptr);
    stream_->time_base = codec_->time_base;
    stream_->avg_frame_rate = codec_->framerate;
    CHECK(avcodec_parameters_from_context(stream_->codecpar, codec_) >= 0);
    if (kind.turned != 0) {
      auto* matrix =
          reinterpret_cast<int32_t*>(av_stream_new_side_data(stream_, AV_PKT_DATA_DISPLAYMATRIX, 9 * sizeof(int32_t)));
      av_display_rotation_set(matrix, kind.turned);
    }
    CHECK(avio_open_dyn_buf(&format_->pb) >= 0);
    CHECK(avformat_write_header(format_, nullptr) >= 0);
  }
  ~ClipWriter() {
    avcodec_free_context(&codec_);
    avformat_free_context(format_);
  }
  ClipWriter(const ClipWriter&) = delete;
  ClipWriter& operator=(const ClipWriter&) = delete;

  [[nodiscard]] bool ok() const { return codec_ != nullptr; }

  void add(const Picture& picture) {
    AVFrame* frame = av_frame_alloc();
    frame->format = kind_.layout;
    frame->width = codec_->width;
    frame->height = codec_->height;
    CHECK(av_frame_get_buffer(frame, 0) >= 0);
    SwsContext* scaler =
        sws_getContext(picture.width, picture.height, AV_PIX_FMT_RGB24, picture.width, picture.height, kind_.layout,
                       SWS_BICUBIC | SWS_ACCURATE_RND | SWS_BITEXACT, nullptr, nullptr, nullptr);
    const uint8_t* const planes[4] = {picture.rgb.data(), nullptr, nullptr, nullptr};
    const int strides[4] = {picture.width * 3, 0, 0, 0};
    sws_scale(scaler, planes, strides, 0, picture.height, frame->data, frame->linesize);
    sws_freeContext(scaler);
    frame->pts = next_++;
    CHECK(avcodec_send_frame(codec_, frame) >= 0);
    av_frame_free(&frame);
    write_packets();
  }

  Bytes finish() {
    CHECK(avcodec_send_frame(codec_, nullptr) >= 0);
    write_packets();
    CHECK(av_write_trailer(format_) >= 0);
    uint8_t* memory = nullptr;
    const int size = avio_close_dyn_buf(format_->pb, &memory);
    format_->pb = nullptr;
    Bytes file(memory, memory + size);
    av_free(memory);
    return file;
  }

 private:
  void write_packets() {
    AVPacket* packet = av_packet_alloc();
    while (avcodec_receive_packet(codec_, packet) >= 0) {
      packet->duration = 1;
      av_packet_rescale_ts(packet, codec_->time_base, stream_->time_base);
      packet->stream_index = 0;
      CHECK(av_interleaved_write_frame(format_, packet) >= 0);
    }
    av_packet_free(&packet);
  }

  ClipKind kind_;
  AVFormatContext* format_ = nullptr;
  AVCodecContext* codec_ = nullptr;
  AVStream* stream_ = nullptr;
  int64_t next_ = 0;
};

// Empty where this machine's libavcodec has no such encoder.
inline Bytes encode_clip(const ClipKind& kind, const std::vector<Picture>& frames) {
  av_log_set_level(AV_LOG_QUIET);
  ClipWriter writer(kind, frames[0].width, frames[0].height);
  if (!writer.ok()) return {};
  for (const Picture& frame : frames) writer.add(frame);
  return writer.finish();
}

// `count` pictures, each different.
inline std::vector<Picture> test_frames(int count, int32_t width, int32_t height) {
  std::vector<Picture> frames;
  for (int i = 0; i < count; ++i) {
    Picture frame = test_picture(width, height);
    for (size_t at = 0; at < frame.rgb.size(); ++at)
      frame.rgb[at] = static_cast<uint8_t>(frame.rgb[at] / 2 + (i * 37 + static_cast<int>(at % 3) * i * 5) % 128);
    frames.push_back(std::move(frame));
  }
  return frames;
}

}  // namespace paceline
