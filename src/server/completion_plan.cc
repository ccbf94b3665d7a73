#include "server/completion_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <random>

#include "media/decode.h"
#include "server/rendering.h"
#include "server/wire_chat.h"
#include "server/wire_completions.h"
#include "session/engine_request.h"
#include "session/media_places.h"

namespace paceline {
namespace {

// What a template does for each message, as so much text.
constexpr size_t kMessageWeight = 512;
// Up to twenty frames of the largest size, of two bytes for a pixel or fewer, that a codec holds.
constexpr size_t kClipBytes = size_t{384} << 20;
// Of an exchange, for each choice: its parser and decoder before they have read anything, with room to spare.
constexpr size_t kChoiceBytes = size_t{4} << 10;

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
      if (!chat_.media.empty() && model_.vision() == nullptr)
        problem_.say(unsupported("messages", "this model takes no images and no videos"));
    } else {
      text_ = read_completion(*body, limits_, problem_);
      begin(text_);
    }
    return problem_.none();
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
  [[nodiscard]] bool is_good() const override { return problem_.none(); }

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
    if (problem_.none()) is_chat_ ? plan_chat(chat_) : plan_text(text_);
    if (!problem_.none()) return *problem_.first();
    return std::move(plan_);
  }

 private:
  void plan_chat(ChatAsk& ask) {
    const auto text = render_within(model_.text(), ask.chat, limits_, problem_);
    if (!text) return;
    // The template writes <bos> itself.
    auto prompt = encode(*text, false, media_, "messages");
    if (!prompt) return;
    OutputSettings output{.reads_thoughts = true, .reads_calls = ask.reads_calls};
    output.tool_names = std::make_shared<const std::vector<std::string>>(std::move(ask.tool_names));
    output.begins_in_thought = ends_in_thought(model_.marks(), prompt->tokens);
    add_request(std::move(*prompt), ask, std::move(output), "messages");
  }

  // Also without media: a place for some that a client wrote itself would stand for nothing.
  std::optional<MediaPrompt> encode(std::string_view text, bool add_special, std::span<const Medium> media,
                                    const char* field) {
    const auto context = static_cast<size_t>(model_.context(limits_.context));
    const size_t fewest = model_.fewest_tokens(text.size());
    if (fewest >= context) {
      problem_.say(too_long(
          field, fmt::format("the prompt has {} tokens at least; the context of {} must hold it and at least one more",
                             fewest, context)));
      return std::nullopt;
    }
    return checked(encode_with_media(model_.text(), text, add_special, media), field);
  }

  std::optional<MediaPrompt> checked(Result<MediaPrompt> prompt, const char* field) {
    if (prompt.ok()) return std::move(*prompt);
    problem_.say(bad_field(field, prompt.error().message));
    return std::nullopt;
  }

  static ApiError too_long(const char* field, std::string message) {
    ApiError error = bad_field(field, std::move(message));
    error.code = "context_length_exceeded";
    return error;
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

  void plan_text(const CompletionAsk& ask) {
    for (const CompletionPrompt& asked : ask.prompts) {
      auto prompt = asked.ids.empty() ? encode(asked.text, true, {}, "prompt")
                                      : checked(place_media(model_.text().loaded.config.ids, asked.ids, {}), "prompt");
      if (!prompt) return;
      add_request(std::move(*prompt), ask, {}, "prompt");
      if (!problem_.none()) return;
    }
  }

  void begin(const Ask& ask) {
    if (problem_.none() && !model_.is_called(ask.model)) problem_.say(no_such_model(ask.model));
    if (!problem_.none()) return;
    plan_.head = {is_chat_, new_id(is_chat_ ? "chatcmpl" : "cmpl"), std::time(nullptr), model_.name()};
    plan_.stream = ask.stream;
    plan_.include_usage = ask.include_usage;
    plan_.has_logprobs = ask.wishes.top_logprobs.has_value();
    plan_.arrived = call_.arrived;
    plan_.cache_salt = ask.cache_salt;
  }

  void add_request(MediaPrompt placed, const Ask& ask, OutputSettings output, const char* field) {
    const int32_t context = model_.context(limits_.context);
    if (const Status fits = check_prompt(model_.text(), placed.tokens, context); !fits.ok()) {
      const bool is_long = placed.tokens.size() >= static_cast<size_t>(context);
      return problem_.say(is_long ? too_long(field, fits.error().message) : bad_field(field, fits.error().message));
    }
    Wishes wishes = ask.wishes;
    wishes.context = context;
    // What does not fit behind the prompt need not be reserved.
    const auto room = context - static_cast<int32_t>(placed.tokens.size());
    wishes.max_tokens = std::min(ask.max_tokens.value_or(limits_.default_max_tokens), room);
    if (ask.form) add_form(*ask.form, wishes);
    auto request = make_request(model_.text(), std::move(placed.tokens), wishes);
    if (!request.ok()) {
      // "top_p must be …": the field is its first word.
      const std::string& message = request.error().message;
      return problem_.say(bad_field(message.substr(0, message.find(' ')), message));
    }
    if (limits_.request_s > 0) {
      request->deadline = call_.arrived + std::chrono::duration_cast<EngineClock::duration>(
                                              std::chrono::duration<double>(limits_.request_s));
    }
    request->pictures = std::move(placed.pictures);
    output.keeps_tokens = plan_.has_logprobs;
    if (stops_ == nullptr && !ask.stop_strings.empty())
      stops_ = std::make_shared<const StopAutomaton>(ask.stop_strings);
    output.stops = stops_;
    request->listener_bytes = listener_bytes(output, request->choices);
    plan_.outputs.push_back(std::move(output));
    plan_.requests.push_back(std::move(*request));
  }

  // What an exchange holds for a request that waits.
  static size_t listener_bytes(const OutputSettings& output, int32_t choices) {
    size_t bytes = static_cast<size_t>(choices) * kChoiceBytes;
    if (output.stops != nullptr) bytes += output.stops->bytes();
    if (output.tool_names == nullptr) return bytes;
    for (const std::string& name : *output.tool_names) bytes += sizeof(name) + name.capacity();
    return bytes;
  }

  void add_form(const OutputForm& form, Wishes& wishes) {
    auto constraint = model_.forms().find(form);
    if (constraint.ok()) {
      wishes.sampling.constraint = std::move(*constraint);
      return;
    }
    const char* field = form.kind == OutputForm::Kind::tool_calls ? "tools" : "response_format";
    problem_.say(unsupported(field, fmt::format("{}: {}", field, constraint.error().message)));
  }

  const HttpCall& call_;
  bool is_chat_;
  ServedModel& model_;
  const RequestLimits& limits_;
  WireProblem problem_;
  ChatAsk chat_;  // one of these two
  CompletionAsk text_;
  std::vector<Medium> media_;                   // those that have been decoded
  std::shared_ptr<const StopAutomaton> stops_;  // of all prompts and choices
  ExchangePlan plan_;
};

}  // namespace

bool CompletionPlanner::needs_fetch() {
  return std::any_of(media().begin(), media().end(), [](const MediaFile& file) { return file.url.has_value(); });
}

std::shared_ptr<CompletionPlanner> make_planner(const HttpCall& call, bool chat, ServedModel& model,
                                                const RequestLimits& limits) {
  return std::make_shared<Planner>(call, chat, model, limits);
}

}  // namespace paceline
