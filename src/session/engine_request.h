// Conversations and texts to what the engine is asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/request.h"
#include "session/chat_request.h"
#include "session/media_places.h"
#include "session/text_model.h"

namespace paceline {

// By the model's template. An error where the model has none, or where it refuses.
Result<std::string> render_conversation(const TextModel& model, const ChatRequest& chat);
// The same and encoded. (The template writes <bos> itself.)
Result<std::vector<TokenId>> encode_chat(const TextModel& model, const ChatRequest& chat);
// With pictures and clips: parts {"type": "image"} and {"type": "video"} of the messages' contents, in the order of
// `media` (over the whole conversation, each kind by itself). The result's tokens are the prompt, its pictures belong
// into Request::pictures.
Result<MediaPrompt> encode_chat(const TextModel& model, const ChatRequest& chat, std::span<const Medium> media);

// What a client said about its output; none: as the model's files say, or as nobody would mind.
struct Wishes {
  SampleSettings sampling;  // what has no default of the model's
  std::optional<float> temperature = {}, top_p = {};
  std::optional<int32_t> top_k = {};
  std::optional<uint64_t> seed = {};   // none: another each time
  std::vector<TokenId> stop_ids = {};  // besides the model's own
  bool ignore_eos = false;             // the model's own end nothing
  int32_t max_tokens = 1;
  int32_t context = 0;  // most tokens, prompt included; 0: what the model has
  int32_t choices = 1;
  std::optional<int32_t> top_logprobs = {};
  int32_t max_depth = kMaxDraftTokens;
  std::optional<int32_t> depth = {};  // always so many drafts
  bool wants_estimates = false;       // of the policy, with each round
};

// Whether the prompt can be run at all: ids that the model has, and a length that leaves room for an output.
Status check_prompt(const TextModel& model, std::span<const TokenId> prompt, int32_t context);

// The prompt has been checked. An error names the setting that makes no sense.
Result<Request> make_request(const TextModel& model, std::vector<TokenId> prompt, const Wishes& wishes);

}  // namespace paceline
