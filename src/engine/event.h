// What a request hears of its way: progress through the prompt, tokens as rounds commit them, the end.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sample/logprobs.h"
#include "speculate/counters.h"
#include "speculate/depth.h"
#include "state/prefix_miss.h"
#include "tensor/dtype.h"

namespace paceline {

// How a token came about: in a round without drafts; as a draft; in a draft's place; behind drafts that all held.
enum class TokenOrigin : uint8_t { plain, accepted, corrected, extra };

struct NewToken {
  TokenId id = 0;
  TokenOrigin origin = TokenOrigin::plain;
  RowLogprobs logprobs;  // where they were asked for
};

// listener: it wanted no more. failed: it could not go on (a device's fault, logits that are not numbers), and the
// end's `problem` says why.
enum class EndReason : uint8_t { stop_id, max_tokens, context, listener, cancelled, deadline, failed };

struct SequenceEnd {
  EndReason reason = EndReason::max_tokens;
  TokenId stop_token = -1;  // the one met, if any
  std::string problem;      // of one that failed
  int32_t output_tokens = 0;
  SpeculationCounters counters;
  double queued_ms = 0;  // until it was admitted
  double prompt_ms = 0;  // from then on until the first token was chosen
  double decode_ms = 0;  // from then on
};

// How a round was run, for whoever shows it.
struct RoundTrace {
  int32_t depth = 0;  // that was chosen
  DepthReason reason = DepthReason::policy;
  double draft_ms = 0, verify_ms = 0, choose_ms = 0, commit_ms = 0;
  std::span<const TokenId> rejected;  // drafts that did not stand
  // Tokens per second that the policy expects of the next round without drafts, with one, …; where it was asked for
  // (Request::wants_estimates).
  std::vector<float> expected;
};

struct Event {
  int32_t choice = 0;
  int32_t prompt_done = 0;            // tokens of the prompt that have been run or were cached
  int32_t cached = 0;                 // of them, those that came from earlier requests' pages
  std::span<const NewToken> tokens;   // of this round, in order; they live during the call
  const SequenceEnd* end = nullptr;   // the choice has ended; nothing follows
  int32_t drafted = 0;                // guesses that this round verified
  const RoundTrace* round = nullptr;  // where one was run, with tokens or without; lives during the call
  size_t kv_bytes = 0;                // that the choice holds; 0: it has ended
  PrefixMiss missed{};                // why no more of the prompt was known when it was begun
};

// How many of an event's tokens stand, and whether the text ends behind them (with EndReason::listener; the end comes
// in an event of its own). Where fewer stand than were offered, it does.
struct Heard {
  size_t stand = 0;
  bool ends = false;
};

// Hears the events of one request, all choices. Called by the engine's thread, between steps: it must not wait for
// anything.
class Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  virtual ~Listener() = default;

  virtual Heard hear(const Event& event) = 0;
};

}  // namespace paceline
