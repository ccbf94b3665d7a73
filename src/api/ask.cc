#include "api/ask.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "api/chat_ask.h"
#include "api/media_ask.h"
#include "api/structs.h"
#include "media/patches.h"
#include "session/fingerprint.h"

namespace paceline::api {
namespace {

// Each is kept for by itself, before the engine says how many there is memory for.
constexpr int32_t kMaxChoices = 1024;

template <class Entry>
std::span<const Entry> list_of(const Entry* entries, size_t count, const char* name, FieldProblem& problem) {
  if (entries != nullptr || count == 0) return {entries, count};
  problem.say(bad_field(name, fmt::format("{} is NULL, and shall have {} entries", name, count)));
  return {};
}

// The machine's fault or the caller's.
Outcome outcome_of(const FieldError& wrong) {
  return {wrong.code == kNoMemory ? PACELINE_FAILED : PACELINE_INVALID, wrong.message};
}

class RequestReader {
 public:
  RequestReader(RunningModel& model, const paceline_request& request) : model_(model), asked_(request) {}

  Outcome read(MadeCompletion& made) {
    if (Outcome wrong = take_media(asked_.media, asked_.media_count, media_); !wrong.ok()) return wrong;
    read_output();
    if (problem_.none()) {
      if (Outcome wrong = read_prompt(made); !wrong.ok()) return wrong;
    }
    if (problem_.none()) add_terms(made.request);
    if (!problem_.none()) return outcome_of(*problem_.first());
    return {};
  }

 private:
  void read_output() {
    read_sampling();
    read_endings();
    check_picture_tokens();
    Wishes& wishes = ask_.wishes;
    in_range("choices", asked_.choices, 1, kMaxChoices);
    in_range("top_logprobs", asked_.top_logprobs, -1, kMaxTopLogprobs);
    in_range("max_depth", asked_.max_depth, -1, kMaxDraftTokens);
    wishes.choices = asked_.choices;
    if (asked_.top_logprobs >= 0) wishes.top_logprobs = asked_.top_logprobs;
    if (asked_.max_depth >= 0) wishes.max_depth = asked_.max_depth;
    in_range("depth", asked_.depth, -1, kMaxDraftTokens);
    if (asked_.depth >= 0) wishes.depth = asked_.depth;
    in_range("thought_tokens", asked_.thought_tokens, 0, std::numeric_limits<int32_t>::max());
  }

  void read_sampling() {
    Wishes& wishes = ask_.wishes;
    // -1 and nothing else below 0: a number that is none is told by the check behind it.
    if (asked_.temperature != -1) wishes.temperature = asked_.temperature;
    if (asked_.top_p != -1) wishes.top_p = asked_.top_p;
    if (asked_.top_k != -1) wishes.top_k = asked_.top_k;
    wishes.sampling.min_p = asked_.min_p;
    wishes.sampling.repetition_penalty = asked_.repetition_penalty;
    wishes.sampling.presence_penalty = asked_.presence_penalty;
    wishes.sampling.frequency_penalty = asked_.frequency_penalty;
    if (asked_.has_seed != 0) wishes.seed = asked_.seed;
    for (const auto& entry : list_of(asked_.logit_bias, asked_.logit_bias_count, "logit_bias", problem_)) {
      wishes.sampling.logit_bias.push_back({entry.id, entry.bias});
    }
  }

  void read_endings() {
    in_range("max_tokens", asked_.max_tokens, 0, std::numeric_limits<int32_t>::max());
    in_range("context", asked_.context, 0, model_.text().loaded.config.context);
    if (asked_.max_tokens > 0) ask_.max_tokens = asked_.max_tokens;
    for (const char* text : list_of(asked_.stop_strings, asked_.stop_string_count, "stop_strings", problem_)) {
      if (text == nullptr || *text == '\0') {
        problem_.say(bad_field("stop_strings", "a stop string must not be empty or NULL"));
      } else {
        ask_.stop_strings.emplace_back(text);
      }
    }
    const auto ids = list_of(asked_.stop_ids, asked_.stop_id_count, "stop_ids", problem_);
    for (const TokenId id : ids) in_range("stop_ids", id, 0, model_.text().loaded.config.vocab - 1);
    ask_.wishes.stop_ids.assign(ids.begin(), ids.end());
    ask_.wishes.ignore_eos = asked_.ignore_eos != 0;
  }

  void check_picture_tokens() {
    if (asked_.picture_tokens == 0 || is_budget(asked_.picture_tokens)) return;
    problem_.say(bad_field("picture_tokens", fmt::format("picture_tokens must be 70, 140, 280, 560 or 1120, not {}",
                                                         asked_.picture_tokens)));
  }

  void in_range(const char* name, int32_t found, int32_t least, int32_t most) {
    if (found >= least && found <= most) return;
    problem_.say(bad_field(name, fmt::format("{} must be from {} to {}, not {}", name, least, most, found)));
  }

  Outcome read_prompt(MadeCompletion& made) {
    const int given = (asked_.chat != nullptr) + (asked_.prompt != nullptr) + (asked_.prompt_ids != nullptr);
    if (given != 1) {
      return invalid(fmt::format("a request has a chat, a prompt or prompt_ids, one of them; found {}", given));
    }
    std::optional<MadeCompletion> found;
    if (asked_.chat != nullptr) {
      paceline_chat chat = default_chat();
      if (Outcome wrong = take_struct(asked_.chat, "chat", chat); !wrong.ok()) return wrong;
      found = read_chat_prompt(chat);
    } else {
      check_no_chat();
      if (problem_.none()) found = read_text_prompt();
    }
    if (found) made = std::move(*found);
    return {};
  }

  std::optional<MadeCompletion> read_chat_prompt(const paceline_chat& chat) {
    BesideChat beside{asked_.response_format_json, asked_.tool_choice, asked_.one_call != 0, asked_.picture_tokens};
    for (const paceline_medium& medium : media_) ++(medium.is_clip != 0 ? beside.clips : beside.pictures);
    ChatParts parts = read_chat(chat, beside, problem_);
    if (!problem_.none()) return std::nullopt;
    parts.thought_tokens = asked_.thought_tokens;
    const auto media = read_chat_media(model_.opened().vision(), parts.media, media_, parts.picture_tokens, problem_);
    if (!problem_.none()) return std::nullopt;
    const auto text = render_conversation(model_.text(), parts.chat);
    if (!text.ok()) {
      problem_.say(bad_field("messages", text.error()));
      return std::nullopt;
    }
    // The template writes <bos> itself.
    auto prompt = model_.maker().encode(*text, false, media, terms("messages"), problem_);
    if (!prompt) return std::nullopt;
    return model_.maker().make(std::move(*prompt), ask_, parts, terms("messages"), problem_);
  }

  // Settings that would be passed over in silence.
  void check_no_chat() {
    if (asked_.response_format_json != nullptr) {
      problem_.say(unsupported("response_format", "response_format_json is for chats"));
    }
    if (asked_.tool_choice != nullptr) problem_.say(unsupported("tool_choice", "tool_choice is for chats"));
    if (asked_.thought_tokens != 0) problem_.say(unsupported("thought_tokens", "thought_tokens is for chats"));
  }

  std::optional<MadeCompletion> read_text_prompt() {
    const auto media = read_media(model_.opened().vision(), media_, asked_.picture_tokens, problem_);
    if (!problem_.none()) return std::nullopt;
    auto prompt = encode_text(media);
    if (!prompt) return std::nullopt;
    return model_.maker().make(std::move(*prompt), ask_, terms("prompt"), problem_);
  }

  std::optional<MediaPrompt> encode_text(std::span<const Medium> media) {
    if (asked_.prompt_ids != nullptr) {
      const std::vector<TokenId> ids(asked_.prompt_ids, asked_.prompt_ids + asked_.prompt_id_count);
      return model_.maker().take_ids(ids, media, terms("prompt_ids"), problem_);
    }
    const size_t bytes = asked_.prompt_bytes == SIZE_MAX ? std::strlen(asked_.prompt) : asked_.prompt_bytes;
    const std::string text = with_places_before(model_.text(), {asked_.prompt, bytes}, media);
    return model_.maker().encode(text, true, media, terms("prompt"), problem_);
  }

  [[nodiscard]] CompletionTerms terms(const char* field) const {
    return {field, asked_.context, std::numeric_limits<int32_t>::max()};
  }

  void add_terms(Request& request) {
    if (asked_.deadline_ms < 0) problem_.say(bad_field("deadline_ms", "deadline_ms must be 0 or more"));
    // Longer than a century is no limit, and does not fit into the clock.
    constexpr int64_t kMost_ms = int64_t{100} * 365 * 24 * 3600 * 1000;
    if (asked_.deadline_ms > 0 && asked_.deadline_ms < kMost_ms) {
      request.deadline = EngineClock::now() + std::chrono::milliseconds(asked_.deadline_ms);
    }
    request.reads_prefixes = asked_.fresh == 0;
    if (asked_.scope == nullptr || *asked_.scope == '\0') return;
    const auto scope = fingerprint_of(std::as_bytes(std::span(asked_.scope, std::strlen(asked_.scope))));
    if (scope.ok()) {
      request.scope = *scope;
    } else {
      problem_.say(bad_field("scope", scope.error()));
    }
  }

  RunningModel& model_;
  const paceline_request& asked_;
  std::vector<paceline_medium> media_;
  OutputAsk ask_;
  FieldProblem problem_;
};

}  // namespace

Outcome read_request(RunningModel& model, const paceline_request& request, MadeCompletion& made) {
  return RequestReader(model, request).read(made);
}

Outcome render(RunningModel& model, const paceline_chat& chat, std::string& text) {
  FieldProblem problem;
  const ChatParts parts = read_chat(chat, {}, problem);
  if (!problem.none()) return outcome_of(*problem.first());
  auto rendered = render_conversation(model.text(), parts.chat);
  if (!rendered.ok()) return outcome_of(bad_field("messages", rendered.error()));
  if (rendered->find('\0') != std::string::npos) {
    return invalid("the conversation holds a zero byte, which would end its text");
  }
  text = std::move(*rendered);
  return {};
}

}  // namespace paceline::api
