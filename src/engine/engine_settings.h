// How much an engine may use, and how it shares it out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "speculate/drafter.h"

namespace paceline {

struct EngineSettings {
  size_t kv_bytes = size_t{1} << 30;  // for keys and values: of running requests, and what is kept of earlier ones
  int32_t batch_rows = 256;           // of one step, drafts included
  // Of prompts in a step where nobody writes; 0: kMaxForwardRows, or more where a session knows that the device likes
  // it.
  int32_t chunk_rows = 0;
  int32_t chunk_rows_beside = 64;  // likewise where others write meanwhile: how long they are held up
  // The same as the milliseconds that a step may take which others write in: as much of prompts as fits, by what steps
  // were seen to take. None: chunk_rows_beside, or what a session knows to suit the device.
  std::optional<float> latency_ms;
  int32_t most_running = 256;            // sequences
  int32_t reserve_tokens = kPageTokens;  // behind the prompt, that must have room when a request begins
  int32_t queue_length = 2048;           // requests that wait
  size_t queue_bytes = size_t{1} << 30;  // that requests hold beside keys and values, waiting and running
  bool keeps_prefixes = true;
  size_t feature_bytes = size_t{64} << 20;  // for what the vision side made of pictures
  int32_t deepest = kMaxDraftTokens - 1;    // drafts of a round that the policy asks for; others may ask for one more
  std::optional<int32_t> fixed_depth;       // no policy
  // Caps that operators know from other systems; 0: none.
  int32_t speculates_up_to_running = 0;
  int32_t speculates_up_to_context = 0;
  double speculates_up_to_kv = 0;  // the part of kv_bytes that running sequences hold
  // For tests: who gives its pages up before a step though nobody asks for them, counted from the newest that runs;
  // negative: nobody. Steps are counted from 0.
  std::function<int32_t(int64_t step)> gives_way;
  // Likewise: what a step of so many rows is thought to take, whatever it takes.
  std::function<double(int32_t rows)> step_ms;
};

// Of these, what may change while the engine runs.
struct EngineDials {
  int32_t queue_length = 0;
  int32_t speculates_up_to_running = 0, speculates_up_to_context = 0;
  double speculates_up_to_kv = 0;
  std::optional<int32_t> depth;  // of all who do not say; at most what the engine was made for; none: as it was made

  void turn(EngineSettings& settings) const {
    settings.queue_length = queue_length;
    settings.speculates_up_to_running = speculates_up_to_running;
    settings.speculates_up_to_context = speculates_up_to_context;
    settings.speculates_up_to_kv = speculates_up_to_kv;
  }
};

}  // namespace paceline
