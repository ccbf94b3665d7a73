#include "session/generate.h"

#include <fmt/format.h>

#include "base/check.h"
#include "session/picture_places.h"
#include "session/prompt_checks.h"
#include "session/stop_strings.h"
#include "text/stream_decoder.h"

namespace paceline {
namespace {

Result<std::vector<TokenId>> encode_prompt(const TextModel& model, const GenerateRequest& request) {
  if (request.prompt.empty()) return Error{"the prompt is empty"};
  const std::string place = picture_place(model);
  const bool has_places = !place.empty() && request.prompt.find(place) != std::string::npos;
  const size_t before = has_places ? 0 : request.pictures.size();
  if (request.raw) {
    std::string text;
    for (size_t i = 0; i < before; ++i) text += place;
    return model.tokenizer.encode(text + request.prompt, true);
  }
  TRY_ASSIGN(const std::string text, render_chat(model, request.system, {request.prompt, before}));
  // The template writes <bos> itself.
  return model.tokenizer.encode(text, false);
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
  [[nodiscard]] bool cancelled() const { return cancelled_; }
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
  DecodeRequest& decode = prepared.decode;
  TRY_ASSIGN(decode.prompt, encode_prompt(model, request));
  if (decode.prompt.empty()) return Error{"the prompt has no tokens"};
  TRY(check_ids(decode.prompt, config.vocab));
  TRY(place_pictures(config.ids, request.pictures, &decode));
  prepared.pictures = request.pictures;
  decode.context = request.context > 0 ? request.context : config.context;
  TRY(check_length(decode.prompt.size(), decode.context, config.context));
  decode.max_tokens = request.max_tokens;

  decode.stop_ids = request.stop_ids;
  if (!request.ignore_eos) {
    decode.stop_ids.insert(decode.stop_ids.end(), config.stop_ids.begin(), config.stop_ids.end());
    if (const auto eos = model.eos(); eos) decode.stop_ids.push_back(*eos);
  }
  sort_unique(decode.stop_ids);

  decode.sampling = request.sampling;
  decode.sampling.suppressed = std::make_shared<const std::vector<TokenId>>(placeholder_ids(config.ids));
  prepared.stop_strings = request.stop_strings;
  return prepared;
}

void see_pictures(Vision& vision, PreparedRequest& request) {
  std::vector<const Patches*> pictures;
  for (const auto& picture : request.pictures) pictures.push_back(picture.get());
  request.features = std::make_shared<const std::vector<std::vector<float>>>(vision.see(pictures));
  for (size_t i = 0; i < pictures.size(); ++i) request.decode.soft[i].embeddings = (*request.features)[i].data();
}

GenerateResult generate(const TextModel& model, Forward& forward, const PreparedRequest& request,
                        const GenerateCallbacks& callbacks, const Speculation& speculation) {
  for (const SoftTokens& soft : request.decode.soft) CHECK(soft.embeddings != nullptr);
  TextStream stream(model.tokenizer, request, callbacks);
  DecodeCallbacks decode_callbacks;
  decode_callbacks.on_token = [&](TokenId token) { return stream.push(token); };
  decode_callbacks.on_prompt = callbacks.on_prompt;
  decode_callbacks.on_origin = callbacks.on_origin;
  DecodeOutcome outcome = decode(forward, request.decode, decode_callbacks, speculation);
  const bool ended_within = outcome.end == DecodeEnd::callback;
  if (!ended_within) stream.finish();

  GenerateResult result;
  if (stream.stopped() || outcome.end == DecodeEnd::stop_id) {
    result.finish = FinishReason::stop;
  } else {
    result.finish = ended_within ? FinishReason::cancelled : FinishReason::length;
  }
  result.text = stream.take_text();
  result.tokens = std::move(outcome.tokens);
  result.prompt_tokens = static_cast<int64_t>(request.decode.prompt.size());
  result.prompt_ms = outcome.prompt_ms;
  result.decode_ms = outcome.decode_ms;
  result.counters = outcome.counters;
  return result;
}

}  // namespace paceline
