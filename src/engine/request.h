// What the engine is asked for: tokens in, and how to go on from them. Checked by whoever makes it, in its caller's
// words; the engine refuses what can never fit, and what makes no sense (request_checks.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "media/patches.h"
#include "sample/settings.h"
#include "speculate/drafter.h"
#include "state/prefix_text.h"
#include "tensor/dtype.h"

namespace paceline {

using EngineClock = std::chrono::steady_clock;

inline double ms_between(EngineClock::time_point begin, EngineClock::time_point end) {
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

// A picture, or a frame of a clip, in the prompt: its soft tokens are computed by the engine.
struct RequestPicture {
  int32_t first_pos = 0;  // of its first soft token
  int32_t count = 0;      // of soft tokens
  std::shared_ptr<const Patches> patches;
  Fingerprint content{};  // of the patches
};

struct Request {
  std::vector<TokenId> prompt;           // not empty, shorter than the context
  std::vector<RequestPicture> pictures;  // ascending
  SampleSettings sampling;               // choice i samples with seed + i
  std::vector<TokenId> stop_ids;         // sorted; a stop token ends the text, is not handed on and is not counted
  int32_t max_tokens = 0;                // 1 or more
  int32_t context = 0;                   // most tokens, prompt included
  int32_t choices = 1;                   // continuations of the one prompt
  std::optional<int32_t> top_logprobs;   // none: no log-probabilities; n: the token's own and those of the n likeliest
  size_t listener_bytes = 0;             // that its listener holds meanwhile, for the count of all that are taken on

  // How it may be computed; none of this can be seen in the tokens.
  int32_t max_depth = kMaxDraftTokens;  // 0: no drafts
  std::optional<int32_t> depth;         // always so many drafts, as far as they fit; none: as the policy has it
  bool reads_prefixes = true;           // may start from pages that an earlier request of its scope left
  Fingerprint scope{};                  // whose pages these may be
  std::optional<EngineClock::time_point> deadline = std::nullopt;
  bool wants_estimates = false;  // what the policy expects of each depth is told with each round
  uint64_t label = 0;            // as its asker calls it, told with what is decided about it; 0: nothing
};

}  // namespace paceline
