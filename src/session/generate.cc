#include "session/generate.h"

#include <fmt/format.h>

#include <optional>

#include "session/media_places.h"
#include "session/prompt_checks.h"
#include "session/run_alone.h"
#include "session/stop_strings.h"
#include "tokenizer/stream_decoder.h"

namespace paceline {
namespace {

Result<MediaPrompt> encode_prompt(const TextModel& model, const GenerateRequest& request) {
  if (request.prompt.empty()) return Error{"the prompt is empty"};
  if (request.raw) {
    return encode_with_media(model, with_places_before(model, request.prompt, request.media), true, request.media);
  }
  const std::vector<Medium> before = media_without_place(model, request.prompt, request.media);
  TRY_ASSIGN(const std::string text, render_chat(model, request.system, {request.prompt, before}));
  // The template writes <bos> itself.
  return encode_with_media(model, text, false, request.media);
}

// Token by token to text that is certain.
class TextStream {
 public:
  TextStream(const Tokenizer& tokenizer, const PreparedRequest& request, const GenerateCallbacks& callbacks)
      : decoder_(tokenizer, {.skip_special = true, .byte_runs = ByteRuns::by_character}),
        stops_(request.stop_strings),
        callbacks_(callbacks) {}

  bool push(TokenId token) {
    piece_.clear();
    decoder_.push(token, piece_);
    return hand_on(piece_);
  }

  // The tokens have ended: what was held back comes out, unless a stop string is in it.
  void finish() {
    if (stops_.stopped() || cancelled_) return;
    piece_.clear();
    decoder_.finish(piece_);
    if (!hand_on(piece_)) return;
    certain_.clear();
    stops_.finish(certain_);
    emit();
  }

  [[nodiscard]] bool stopped() const { return stops_.stopped(); }
  std::string take_text() { return std::move(text_); }

 private:
  bool hand_on(std::string_view piece) {
    certain_.clear();
    stops_.push(piece, certain_);
    emit();
    return !stops_.stopped() && !cancelled_;
  }

  void emit() {
    if (certain_.empty()) return;
    text_ += certain_;
    if (callbacks_.on_text && !callbacks_.on_text(certain_)) cancelled_ = true;
  }

  StreamDecoder decoder_;
  StopStrings stops_;
  const GenerateCallbacks& callbacks_;
  std::string piece_, certain_, text_;
  bool cancelled_ = false;
};

// What the engine says, as text and in the end as a result.
class Reader : public LoneListener {
 public:
  Reader(const Tokenizer& tokenizer, const PreparedRequest& prepared, const GenerateCallbacks& callbacks)
      : stream_(tokenizer, prepared, callbacks), callbacks_(callbacks) {}

  Heard hear(const Event& event) override {
    if (result_.tokens.empty() && event.end == nullptr) tell_prompt(event.prompt_done);
    Heard heard;
    while (heard.stand < event.tokens.size() && !heard.ends) {
      const NewToken& token = event.tokens[heard.stand++];
      if (callbacks_.on_origin) callbacks_.on_origin(token.origin);
      result_.tokens.push_back(token.id);
      heard.ends = !stream_.push(token.id);
    }
    if (event.end != nullptr) finish(*event.end);
    return heard;
  }

  [[nodiscard]] bool ended() const override { return ended_; }
  [[nodiscard]] bool gives_up() const override { return gave_up_; }
  // Why it failed, if it did.
  [[nodiscard]] const std::optional<std::string>& problem() const { return problem_; }
  GenerateResult take_result(const PreparedRequest& prepared) {
    result_.prompt_tokens = static_cast<int64_t>(prepared.request.prompt.size());
    result_.text = stream_.take_text();
    return std::move(result_);
  }

 private:
  void tell_prompt(int32_t done) {
    if (callbacks_.on_prompt && !callbacks_.on_prompt(done)) gave_up_ = true;
  }

  void finish(const SequenceEnd& end) {
    ended_ = true;
    if (end.reason == EndReason::failed) problem_ = end.problem;
    const bool ended_within = end.reason == EndReason::listener || end.reason == EndReason::cancelled;
    if (!ended_within) stream_.finish();
    if (stream_.stopped() || end.reason == EndReason::stop_id) {
      result_.finish = FinishReason::stop;
    } else {
      result_.finish = ended_within ? FinishReason::cancelled : FinishReason::length;
    }
    result_.prompt_ms = end.queued_ms + end.prompt_ms;
    result_.decode_ms = end.decode_ms;
    result_.counters = end.counters;
  }

  TextStream stream_;
  const GenerateCallbacks& callbacks_;
  GenerateResult result_;
  bool ended_ = false, gave_up_ = false;
  std::optional<std::string> problem_;
};

}  // namespace

const char* finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::stop: return "stop";
    case FinishReason::length: return "length";
    case FinishReason::cancelled: return "cancelled";
  }
  return "?";
}

Result<PreparedRequest> prepare(const TextModel& model, const GenerateRequest& request) {
  const ModelConfig& config = model.loaded.config;
  TRY(check_settings(request.sampling, config.vocab));
  if (request.max_tokens < 1) return Error{fmt::format("max_tokens must be 1 or more, not {}", request.max_tokens)};

  PreparedRequest prepared;
  Request& asked = prepared.request;
  TRY_ASSIGN(MediaPrompt prompt, encode_prompt(model, request));
  asked.prompt = std::move(prompt.tokens);
  asked.pictures = std::move(prompt.pictures);
  if (asked.prompt.empty()) return Error{"the prompt has no tokens"};
  asked.context = request.context > 0 ? request.context : config.context;
  TRY(check_length(asked.prompt.size(), asked.context, config.context));
  asked.max_tokens = request.max_tokens;

  asked.stop_ids = request.stop_ids;
  if (!request.ignore_eos) {
    asked.stop_ids.insert(asked.stop_ids.end(), model.stop_ids.begin(), model.stop_ids.end());
  }
  sort_unique(asked.stop_ids);

  asked.sampling = request.sampling;
  asked.sampling.suppressed = model.never_sampled;
  prepared.stop_strings = request.stop_strings;
  return prepared;
}

Result<GenerateResult> generate(const TextModel& model, Engine& engine, const PreparedRequest& prepared,
                                const GenerateCallbacks& callbacks) {
  const auto reader = std::make_shared<Reader>(model.tokenizer, prepared, callbacks);
  TRY(run_alone(engine, prepared.request, reader));
  if (reader->problem()) return Error{*reader->problem()};
  return reader->take_result(prepared);
}

}  // namespace paceline
