// What all wires share: how to choose, where to end, how to answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/settings.h"
#include "session/ask_fields.h"
#include "session/completion_maker.h"

namespace paceline {

struct Ask : OutputAsk {
  std::string model;  // "": whichever is served
  bool stream = false;
  bool include_usage = false;  // streams: a chunk with the counts before the end
  std::string cache_salt;      // prompts are shared only among requests with the same
};

// Fields that have the same names on every wire: model, sampling, speculative, stream and what else is ours.
void read_choosing(AskFields& fields, const RequestLimits& limits, Ask& ask);
// The field with stop strings; how many there may be.
void read_stops(AskFields& fields, std::string_view name, Ask& ask);
// The field with the most new tokens.
void read_most_tokens(AskFields& fields, std::string_view name, Ask& ask);

// Of both kinds of completions: all fields but the prompt's, logprobs and what only one of the two has.
void read_ask(AskFields& fields, const RequestLimits& limits, Ask& ask);

// Bytes of all stop strings together, and how many there may be.
inline constexpr size_t kMaxStopStrings = 16, kMaxStopBytes = 1024;

}  // namespace paceline
