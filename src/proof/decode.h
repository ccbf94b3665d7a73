// The bare loop from tokens to tokens for one sequence: run the rows that stand but were not run, choose where the rows
// reach the end of what stands, commit, and again. A prompt chunk is rows without a choice. A decode step is a verify
// with zero drafts; with drafts behind the newest token it has more rows and more choices, and takes back the rows of
// drafts that were not chosen. Each row's choice is the plain run's, so drafts change the time and never a token.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/event.h"
#include "engine/request.h"
#include "model/forward.h"
#include "sample/choose.h"
#include "speculate/counters.h"
#include "speculate/depth.h"
#include "speculate/drafter.h"
#include "state/kv.h"

namespace paceline {

struct DecodeRequest {
  std::vector<TokenId> prompt;  // not empty, shorter than the context
  // Of the prompt, ascending. Where images see both ways, each has at most kMaxImageRows tokens.
  std::vector<SoftTokens> soft;
  SampleSettings sampling;
  std::vector<TokenId> stop_ids;  // sorted; a stop token ends the text, is not handed on and is not counted
  int32_t max_tokens = 0;
  int32_t context = 0;                   // most tokens, prompt included
  int32_t chunk_rows = kMaxForwardRows;  // more for an image that must not be cut
};

// One choice of a request to the engine, without its pictures.
DecodeRequest decode_request(const Request& request, int32_t choice = 0);

// Who drafts and how deep; without both, nobody does. Both serve this sequence until decode() returns.
struct Speculation {
  Drafter* drafter = nullptr;
  DepthPolicy* depth = nullptr;
};

struct DecodeCallbacks {
  // What the next token's origin is, before on_token. May be empty.
  std::function<void(TokenOrigin)> on_origin;
  // Each new token. False: end here; this token still counts.
  std::function<bool(TokenId)> on_token;
  // After each prompt chunk: how many of the prompt's tokens have been run. False: end here. May be empty.
  std::function<bool(int32_t)> on_prompt;
};

// failed: it could not go on, and the outcome's `problem` says why.
enum class DecodeEnd : uint8_t { stop_id, max_tokens, context, callback, failed };

struct DecodeOutcome {
  DecodeEnd end = DecodeEnd::max_tokens;
  std::vector<TokenId> tokens;  // without the stop token
  TokenId stop_token = -1;      // the one met, if any
  std::string problem;          // of one that failed
  SpeculationCounters counters;
  double prompt_ms = 0;  // until the first token was chosen
  double decode_ms = 0;  // from then on
};

DecodeOutcome decode(Forward& forward, const DecodeRequest& request, const DecodeCallbacks& callbacks,
                     const Speculation& speculation = {});

}  // namespace paceline
