#include "media/clip_file.h"

#include <fmt/format.h>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/display.h>
#include <libavutil/log.h>
#include <libavutil/mem.h>
}

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <mutex>

namespace paceline {
namespace {

constexpr int kReadBytes = 32 << 10;
constexpr int64_t kRoundingPixels = 64 << 10;
// One piece of memory, whatever a header asks for: several times a frame of the most pixels.
constexpr size_t kMostBytesAtOnce = size_t{256} << 20;

// Containers that hold all of a clip in one file. Playlists and the like name other files, and are not among them.
constexpr const char* kContainers =
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,flv,ogg,asf,gif,h264,hevc,m4v,ivf,obu,nut,mxf,rm,"
    "dv,wtv,apng";

std::string reason_of(int code) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(code, text, sizeof text);
  return text;
}

// libav writes to stderr and takes what it is asked for, unless it is told otherwise, once for the whole process.
void tame_libav() {
  static std::once_flag once;
  std::call_once(once, [] {
    av_log_set_level(AV_LOG_QUIET);
    av_max_alloc(kMostBytesAtOnce);
  });
}

int refuse_files(AVFormatContext* /*format*/, AVIOContext** /*io*/, const char* /*name*/, int /*flags*/,
                 AVDictionary** /*options*/) {
  return AVERROR(EPERM);
}

double value_of(AVRational rate) { return rate.den == 0 ? 0 : av_q2d(rate); }

}  // namespace

struct ClipFile::Parts {
  Parts(FileBytes bytes, const ClipLimits& clip_limits, const Deadline& clip_deadline)
      : file(bytes), limits(clip_limits), deadline(clip_deadline) {}
  ~Parts() {
    av_frame_free(&frame);
    av_packet_free(&packet);
    avcodec_free_context(&codec);
    avformat_close_input(&format);
    if (io != nullptr) av_freep(&io->buffer);
    avio_context_free(&io);
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  static int read(void* self, uint8_t* out, int count) {
    auto& parts = *static_cast<Parts*>(self);
    if (parts.deadline.passed()) return AVERROR_EXIT;
    const size_t taken = std::min(static_cast<size_t>(count), parts.file.size() - parts.at);
    if (taken == 0) return AVERROR_EOF;
    std::memcpy(out, parts.file.data() + parts.at, taken);
    parts.at += taken;
    return static_cast<int>(taken);
  }

  static int64_t seek(void* self, int64_t offset, int whence) {
    auto& parts = *static_cast<Parts*>(self);
    const auto size = static_cast<int64_t>(parts.file.size());
    if ((whence & AVSEEK_SIZE) != 0) return size;
    switch (whence & ~AVSEEK_FORCE) {
      case SEEK_SET: break;
      case SEEK_CUR: offset += static_cast<int64_t>(parts.at); break;
      case SEEK_END: offset += size; break;
      default: return AVERROR(EINVAL);
    }
    if (offset < 0 || offset > size) return AVERROR(EINVAL);
    parts.at = static_cast<size_t>(offset);
    return offset;
  }

  static int gives_up(void* self) { return static_cast<Parts*>(self)->deadline.passed() ? 1 : 0; }

  Status open_container();
  Status find_pictures();
  Status open_codec();
  Result<bool> read_packet();
  Status feed(const std::function<bool(size_t)>& wanted);

  // A call that failed: our own limits where they are passed, else what libav says.
  [[nodiscard]] Error problem(const char* what, int code, const char* word = kBroken) const {
    const bool no_room = errno == ENOMEM;
    if (deadline.passed()) return too_late();
    if (code == AVERROR(ENOMEM) && no_room) return no_memory();
    // Then libav did not even ask the system (or asked an allocator in the place of libc's, which need not leave
    // errno).
    if (code == AVERROR(ENOMEM)) {
      return {fmt::format("{}: it takes more memory at once than there is, or than the {} bytes that it may", what,
                          kMostBytesAtOnce),
              kTooLarge};
    }
    return {fmt::format("{}: {}", what, reason_of(code)), word};
  }

  FileBytes file;
  size_t at = 0;
  const ClipLimits& limits;
  const Deadline& deadline;
  AVIOContext* io = nullptr;
  AVFormatContext* format = nullptr;
  AVStream* stream = nullptr;
  const AVCodec* decoder = nullptr;
  AVCodecContext* codec = nullptr;
  AVPacket* packet = nullptr;
  AVFrame* frame = nullptr;
  size_t packets = 0;    // read so far
  bool fed = false;      // the codec has packets since its last beginning
  bool gap = false;      // packets were left out since the last one fed
  bool waiting = false;  // `packet` is to be fed once the codec has given all it has
  bool ended = false;    // there are no more packets
};

Status ClipFile::Parts::open_container() {
  auto* buffer = static_cast<uint8_t*>(av_malloc(kReadBytes));
  if (buffer == nullptr) return no_memory();
  io = avio_alloc_context(buffer, kReadBytes, 0, this, read, nullptr, seek);
  if (io == nullptr) av_free(buffer);
  format = avformat_alloc_context();
  packet = av_packet_alloc();
  frame = av_frame_alloc();
  if (io == nullptr || format == nullptr || packet == nullptr || frame == nullptr) return no_memory();
  format->pb = io;
  format->io_open = refuse_files;
  format->interrupt_callback = {gives_up, this};
  AVDictionary* options = nullptr;
  av_dict_set(&options, "format_whitelist", kContainers, 0);
  av_dict_set(&options, "protocol_whitelist", "none", 0);
  // While it looks at the first packets it would decode some, without our limits.
  av_dict_set(&options, "codec_whitelist", "none", 0);
  av_dict_set(&options, "max_streams", "64", 0);
  const int code = avformat_open_input(&format, nullptr, nullptr, &options);
  av_dict_free(&options);
  if (code < 0) return problem("expected a clip such as MP4 or WebM, found none", code, kUnknownFormat);
  return Done{};
}

Status ClipFile::Parts::find_pictures() {
  if (const int code = avformat_find_stream_info(format, nullptr); code < 0) return problem("the clip's header", code);
  const int found = av_find_best_stream(format, AVMEDIA_TYPE_VIDEO, -1, -1, &decoder, 0);
  if (found < 0 || decoder == nullptr) {
    return Error{found == AVERROR_DECODER_NOT_FOUND ? "a codec that is not known" : "no moving pictures in the file",
                 kUnknownFormat};
  }
  stream = format->streams[found];
  for (unsigned i = 0; i < format->nb_streams; ++i) {
    if (static_cast<int>(i) != found) format->streams[i]->discard = AVDISCARD_ALL;
  }
  const AVCodecParameters& parameters = *stream->codecpar;
  if (parameters.width > 0 && parameters.height > 0) {
    TRY(check_size(parameters.width, parameters.height, {.pixels = limits.pixels, .side = limits.side}));
  }
  const double seconds = static_cast<double>(format->duration) / AV_TIME_BASE;
  if (format->duration != AV_NOPTS_VALUE && seconds > limits.seconds) {
    return Error{fmt::format("the clip lasts {:.0f} s; at most {:.0f} are read", seconds, limits.seconds), kTooLong};
  }
  return Done{};
}

Status ClipFile::Parts::open_codec() {
  codec = avcodec_alloc_context3(decoder);
  if (codec == nullptr) return no_memory();
  if (const int code = avcodec_parameters_to_context(codec, stream->codecpar); code < 0)
    return problem("the codec's header", code);
  codec->thread_count = 1;
  // Codecs reckon with sides rounded up to whole blocks; frames themselves are measured once they are there.
  codec->max_pixels = limits.pixels + limits.pixels / 4 + kRoundingPixels;
  codec->pkt_timebase = stream->time_base;
  if (const int code = avcodec_open2(codec, decoder, nullptr); code < 0) return problem("the codec's header", code);
  return Done{};
}

// Into `packet`; false at the end.
Result<bool> ClipFile::Parts::read_packet() {
  while (true) {
    av_packet_unref(packet);
    if (deadline.passed()) return too_late();
    const int code = av_read_frame(format, packet);
    if (code == AVERROR_EOF) return false;
    if (code < 0) return problem("the file's packets", code);
    // An empty packet would mean the end to the codec.
    if (packet->stream_index != stream->index || packet->size <= 0) continue;
    if (static_cast<int64_t>(packets) == limits.frames)
      return Error{fmt::format("the clip has more than {} frames", limits.frames), kTooLong};
    ++packets;
    return true;
  }
}

// The next wanted packet to the codec, or that there are no more.
Status ClipFile::Parts::feed(const std::function<bool(size_t)>& wanted) {
  while (!waiting && !ended) {
    TRY_ASSIGN(const bool more, read_packet());
    if (!more) {
      ended = true;
    } else if (wanted(packets - 1)) {
      waiting = true;
    } else {
      gap = true;
    }
  }
  const bool empties = ended || (gap && fed);
  const int code = avcodec_send_packet(codec, empties ? nullptr : packet);
  if (code < 0 && !(empties && code == AVERROR_EOF)) return problem("a frame that cannot be decoded", code);
  if (empties) return Done{};
  waiting = gap = false;
  fed = true;
  return Done{};
}

ClipFile::ClipFile(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
ClipFile::~ClipFile() = default;

Result<std::unique_ptr<ClipFile>> ClipFile::open(FileBytes file, const ClipLimits& limits, const Deadline& deadline) {
  tame_libav();
  auto parts = std::make_unique<Parts>(file, limits, deadline);
  TRY(parts->open_container());
  TRY(parts->find_pictures());
  return std::unique_ptr<ClipFile>(new ClipFile(std::move(parts)));
}

Result<bool> ClipFile::next_packet(Packet* packet) {
  TRY_ASSIGN(const bool more, parts_->read_packet());
  if (!more) return false;
  const AVPacket& read = *parts_->packet;
  packet->timed = read.pts != AV_NOPTS_VALUE;
  packet->time = read.pts;
  packet->key = (read.flags & AV_PKT_FLAG_KEY) != 0;
  packet->shown = (read.flags & AV_PKT_FLAG_DISCARD) == 0;
  return true;
}

Result<const AVFrame*> ClipFile::next_frame(const std::function<bool(size_t)>& wanted) {
  Parts& parts = *parts_;
  if (parts.codec == nullptr) TRY(parts.open_codec());
  while (true) {
    if (parts.deadline.passed()) return too_late();
    const int code = avcodec_receive_frame(parts.codec, parts.frame);
    if (code == 0) return parts.frame;
    if (code == AVERROR_EOF && parts.ended) return nullptr;
    if (code == AVERROR_EOF) {
      avcodec_flush_buffers(parts.codec);
      parts.gap = parts.fed = false;
    } else if (code != AVERROR(EAGAIN)) {
      return parts.problem("a frame that cannot be decoded", code);
    }
    TRY(parts.feed(wanted));
  }
}

int64_t ClipFile::frame_time(const AVFrame& frame) { return frame.pts; }

// The mean rate, which is what the reference reckons with.
double ClipFile::rate() const {
  for (const double rate : {value_of(parts_->stream->avg_frame_rate), value_of(parts_->stream->r_frame_rate)}) {
    if (rate >= 1e-3 && rate <= 1e3) return rate;
  }
  return kRateWhereNoneIsKnown;
}

int ClipFile::orientation() const {
  size_t bytes = 0;
  const uint8_t* matrix = av_stream_get_side_data(parts_->stream, AV_PKT_DATA_DISPLAYMATRIX, &bytes);
  if (matrix == nullptr || bytes < 9 * sizeof(int32_t)) return 1;
  const double turned = av_display_rotation_get(reinterpret_cast<const int32_t*>(matrix));
  if (!std::isfinite(turned)) return 1;
  constexpr int kByQuarters[] = {1, 8, 3, 6};  // turned anticlockwise
  return kByQuarters[(static_cast<int>(std::lround(turned / 90)) + 4) % 4];
}

}  // namespace paceline
