#include "server/completion_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <random>

#include "media/decode.h"
#include "server/rendering.h"
#include "server/wire_chat.h"
#include "server/wire_completions.h"
#include "session/completion_maker.h"

namespace paceline {
namespace {

// What a template does for each message, as so much text.
constexpr size_t kMessageWeight = 512;
// Up to twenty frames of the largest size, of two bytes for a pixel or fewer, that a codec holds.
constexpr size_t kClipBytes = size_t{384} << 20;

std::string new_id(const char* kind) {
  std::random_device device;
  return fmt::format("{}-{:08x}{:08x}{:08x}", kind, device(), device(), device());
}

class Planner final : public CompletionPlanner {
 public:
  Planner(const HttpCall& call, bool chat, ServedModel& model, const RequestLimits& limits)
      : call_(call), is_chat_(chat), model_(model), limits_(limits) {}

  bool read() override {
    const auto body = parse_body(call_.body, problem_);
    if (!body) return false;
    if (is_chat_) {
      chat_ = read_chat(*body, limits_, problem_);
      begin(chat_);
      if (is_good() && !chat_.media.empty() && model_.vision() == nullptr)
        problem_.say(unsupported("messages", "this model takes no images and no videos"));
    } else {
      text_ = read_completion(*body, limits_, problem_);
      begin(text_);
    }
    return is_good();
  }

  [[nodiscard]] size_t decoded_bytes() const override {
    if (chat_.media.empty() || model_.vision() == nullptr) return 0;
    const Vision& vision = *model_.vision();
    const auto token_bytes = 3 * static_cast<size_t>(vision.config().shape.token_side()) *
                             static_cast<size_t>(vision.config().shape.token_side());
    const auto picture_tokens = static_cast<size_t>(chat_.picture_tokens > 0 ? chat_.picture_tokens : vision.budget());
    const auto clip_tokens = static_cast<size_t>(shown_frames()) * static_cast<size_t>(vision.clip_budget().tokens);
    size_t bytes = 0;
    for (const MediaFile& file : chat_.media) bytes += token_bytes * (file.is_video ? clip_tokens : picture_tokens);
    return bytes;
  }

  [[nodiscard]] size_t weight() const override {
    size_t media_bytes = 0;
    for (const MediaFile& file : chat_.media) media_bytes += file.written_bytes;
    return call_.body.size() - std::min(media_bytes, call_.body.size()) + kMessageWeight * chat_.chat.messages.size();
  }

  std::vector<MediaFile>& media() override { return chat_.media; }
  [[nodiscard]] bool is_good() const override { return problem_.none() && !unknown_model_; }

  size_t decode(size_t number, size_t most_bytes, const std::function<bool()>& stops) override {
    MediaFile& file = chat_.media[number];
    const FileBytes bytes(reinterpret_cast<const uint8_t*>(file.bytes.data()), file.bytes.size());
    const size_t needed = file.is_video ? kClipBytes : decoding_bytes(bytes);
    if (needed > most_bytes) return needed;
    auto medium = file.is_video ? read_clip(bytes, stops) : read_picture(bytes, stops);
    if (!medium.ok()) {
      refuse_medium(number, medium.error().message);
    } else {
      media_.push_back(std::move(*medium));
    }
    // What has been decoded is not needed as a file any more.
    file.bytes = {};
    return 0;
  }

  void refuse_medium(size_t number, const std::string& why) override {
    const char* kind = chat_.media[number].is_video ? "video" : "image";
    problem_.say(bad_field("messages", fmt::format("{} {} of the request: {}", kind, number, why)));
  }

  std::variant<ExchangePlan, ApiError> finish() override {
    if (is_good()) is_chat_ ? plan_chat() : plan_text();
    if (!problem_.none()) return api_error(*problem_.first());
    if (unknown_model_) return no_such_model(*unknown_model_);
    return std::move(plan_);
  }

 private:
  void plan_chat() {
    const auto text = render_within(model_.text(), chat_.chat, limits_, problem_);
    if (!text) return;
    // The template writes <bos> itself.
    auto prompt = model_.maker().encode(*text, false, media_, terms("messages"), problem_);
    if (prompt) add(model_.maker().make(std::move(*prompt), chat_, chat_, terms("messages"), problem_));
  }

  void plan_text() {
    CompletionMaker& maker = model_.maker();
    for (const CompletionPrompt& asked : text_.prompts) {
      auto prompt = asked.ids.empty() ? maker.encode(asked.text, true, {}, terms("prompt"), problem_)
                                      : maker.take_ids(asked.ids, {}, terms("prompt"), problem_);
      if (!prompt) return;
      add(maker.make(std::move(*prompt), text_, terms("prompt"), problem_));
      if (!problem_.none()) return;
    }
  }

  [[nodiscard]] CompletionTerms terms(const char* field) const {
    return {field, limits_.context, limits_.default_max_tokens};
  }

  void add(std::optional<MadeCompletion> made) {
    if (!made) return;
    if (limits_.request_s > 0) {
      made->request.deadline = call_.arrived + std::chrono::duration_cast<EngineClock::duration>(
                                                   std::chrono::duration<double>(limits_.request_s));
    }
    plan_.outputs.push_back(std::move(made->output));
    plan_.requests.push_back(std::move(made->request));
  }

  // Too many pixels are refused by their number, before memory is taken.
  [[nodiscard]] size_t decoding_bytes(FileBytes file) const {
    const int64_t pixels = picture_pixels(file);
    return pixels > picture_limits().pixels ? 0 : static_cast<size_t>(pixels * kDecodingBytes);
  }

  [[nodiscard]] PictureLimits picture_limits() const {
    PictureLimits limits;
    limits.pixels = std::min(limits.pixels, limits_.max_pixels);
    return limits;
  }

  // Decoded and cut here; the engine looks at them.
  [[nodiscard]] Result<Medium> read_picture(FileBytes file, const std::function<bool()>& stops) const {
    PictureLimits limits = picture_limits();
    limits.stops = &stops;
    TRY_ASSIGN(Patches patches, model_.vision()->read(file, chat_.picture_tokens, limits));
    return Medium(std::make_shared<const Patches>(std::move(patches)));
  }

  [[nodiscard]] Result<Medium> read_clip(FileBytes file, const std::function<bool()>& stops) const {
    ClipLimits limits;
    limits.stops = &stops;
    limits.pixels = std::min(limits.pixels, limits_.max_pixels);
    TRY_ASSIGN(Clip clip, model_.vision()->read_clip(file, shown_frames(), limits));
    return Medium(std::make_shared<const Clip>(std::move(clip)));
  }
  [[nodiscard]] int32_t shown_frames() const {
    return std::min(limits_.max_frames, model_.vision()->clip_budget().frames);
  }

  void begin(const Ask& ask) {
    if (problem_.none() && !model_.is_called(ask.model)) unknown_model_ = ask.model;
    if (!is_good()) return;
    plan_.head = {is_chat_, new_id(is_chat_ ? "chatcmpl" : "cmpl"), std::time(nullptr), model_.name()};
    plan_.stream = ask.stream;
    plan_.include_usage = ask.include_usage;
    plan_.has_logprobs = ask.wishes.top_logprobs.has_value();
    plan_.arrived = call_.arrived;
    plan_.cache_salt = ask.cache_salt;
  }

  const HttpCall& call_;
  bool is_chat_;
  ServedModel& model_;
  const RequestLimits& limits_;
  FieldProblem problem_;
  std::optional<std::string> unknown_model_;  // that was asked for
  ChatAsk chat_;                              // one of these two
  CompletionAsk text_;
  std::vector<Medium> media_;  // those that have been decoded
  ExchangePlan plan_;
};

}  // namespace

bool CompletionPlanner::needs_fetch() {
  return std::any_of(media().begin(), media().end(), [](const MediaFile& file) { return !file.url.empty(); });
}

std::shared_ptr<CompletionPlanner> make_planner(const HttpCall& call, bool chat, ServedModel& model,
                                                const RequestLimits& limits) {
  return std::make_shared<Planner>(call, chat, model, limits);
}

}  // namespace paceline
