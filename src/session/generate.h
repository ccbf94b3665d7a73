// Text in, text out, for one request on a loaded model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "sample/settings.h"
#include "session/medium.h"
#include "session/text_model.h"

namespace paceline {

struct GenerateRequest {
  std::string prompt;
  // Pictures and clips, in the places that the prompt has for them (the text of the model's image and video tokens);
  // those of a kind that has no places there stand before it.
  std::vector<Medium> media;
  std::string system;                     // chat only; empty: none
  bool raw = false;                       // the prompt as it is, without the chat template
  SampleSettings sampling;                // its suppressed ids are filled in by prepare()
  std::vector<std::string> stop_strings;  // end the text before them
  std::vector<TokenId> stop_ids;          // besides the model's own
  bool ignore_eos = false;                // the model's own stop ids end nothing
  int32_t max_tokens = 512;
  int32_t context = 0;  // 0: as much as the model has
};

struct PreparedRequest {
  Request request;
  std::vector<std::string> stop_strings;
};

// Renders, encodes and checks everything there is to check. An error here is the caller's: it says what was asked
// wrongly, and nothing has been computed.
Result<PreparedRequest> prepare(const TextModel& model, const GenerateRequest& request);

enum class FinishReason : uint8_t { stop, length, cancelled };
const char* finish_reason_name(FinishReason reason);

struct GenerateCallbacks {
  // How the token came about that the next text ends with. May be empty.
  std::function<void(TokenOrigin)> on_origin;
  // Text that is certain: whole characters, no beginning of a stop string. False: end here.
  std::function<bool(std::string_view)> on_text;
  // How much of the prompt has been run. False: end here. May be empty.
  std::function<bool(int32_t done)> on_prompt;
};

struct GenerateResult {
  FinishReason finish = FinishReason::length;
  std::string text;
  std::vector<TokenId> tokens;
  int64_t prompt_tokens = 0;
  double prompt_ms = 0;
  double decode_ms = 0;  // of all tokens but the first
  SpeculationCounters counters;
};

// Steps the engine until the request has ended; nobody else may be running it. An error where it could not be run to
// its end (a device's fault, a model whose logits are not numbers); what was handed on before stands.
Result<GenerateResult> generate(const TextModel& model, Engine& engine, const PreparedRequest& request,
                                const GenerateCallbacks& callbacks);

}  // namespace paceline
