// What both kinds of completions share: how to choose, where to end, how to answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/settings.h"
#include "server/wire_fields.h"
#include "session/engine_request.h"
#include "session/output_forms.h"

namespace paceline {

struct Ask {
  std::string model;                  // "": whichever is served
  Wishes wishes;                      // max_tokens is decided when the prompt is known
  std::optional<int32_t> max_tokens;  // none: the server's default
  std::vector<std::string> stop_strings;
  bool stream = false;
  bool include_usage = false;  // streams: a chunk with the counts before the end
  std::string cache_salt;      // prompts are shared only among requests with the same
  std::optional<OutputForm> form;
};

// All fields but the prompt's, logprobs and what only one of the two has.
void read_ask(WireFields& fields, const RequestLimits& limits, Ask& ask);

// Bytes of all stop strings together, and how many there may be.
inline constexpr size_t kMaxStopStrings = 16, kMaxStopBytes = 1024;
inline constexpr int32_t kMaxTopLogprobs = 20;

}  // namespace paceline
