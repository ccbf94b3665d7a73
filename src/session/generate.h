// Text in, text out, for one request on a loaded model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/decode.h"
#include "model/forward.h"
#include "sample/settings.h"
#include "session/text_model.h"
#include "session/vision.h"

namespace paceline {

struct GenerateRequest {
  std::string prompt;
  // In the places that the prompt has for them (the text of the model's image token), or else before it.
  std::vector<std::shared_ptr<const Patches>> pictures;
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
  DecodeRequest decode;  // its soft tokens have embeddings once see_pictures() was here
  std::vector<std::string> stop_strings;
  std::vector<std::shared_ptr<const Patches>> pictures;
  std::shared_ptr<const std::vector<std::vector<float>>> features;
};

// Renders, encodes and checks everything there is to check. An error here is the caller's: it says what was asked
// wrongly, and nothing has been computed.
Result<PreparedRequest> prepare(const TextModel& model, const GenerateRequest& request);

// Runs the pictures through the vision side.
void see_pictures(Vision& vision, PreparedRequest& request);

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

GenerateResult generate(const TextModel& model, Forward& forward, const PreparedRequest& request,
                        const GenerateCallbacks& callbacks, const Speculation& speculation = {});

}  // namespace paceline
