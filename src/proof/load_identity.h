// The promise under load, as something to run: many requests at once, coming and going, with shared beginnings,
// pictures, every way of choosing, cancellations and depths. Each gets the tokens that it gets alone, from the bare
// loop without drafts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace paceline {

struct LoadPlan {
  std::vector<TokenId> text;  // prompts are pieces of it; not empty
  int32_t requests = 200;
  int32_t at_once = 64;  // waiting or running
  int32_t longest_prompt = 200;
  int32_t most_tokens = 40;
  int32_t cancels_every = 8;             // steps, about, somebody goes away
  std::vector<TokenId> stop_ids;         // sorted
  std::vector<RequestPicture> pictures;  // that some prompts show, wherever; the parts have a vision side then
  uint64_t seed = 1;
  Forward* alone = nullptr;  // who computes each alone; none: the engine's own forward
};

struct LoadResult {
  int64_t requests = 0, choices = 0, cancelled = 0, tokens = 0;
  int64_t prefix_hits = 0;                        // tokens
  int64_t pictures_seen = 0, pictures_known = 0;  // as EngineStats
  int32_t most_running = 0;
  int64_t gave_way = 0;  // as EngineStats
  SpeculationCounters counters;
  std::string difference;  // the first; "": none
};

// The drafter may be none. The engine's settings are the caller's; `parts` as for an Engine.
LoadResult check_load(const EngineParts& parts, const EngineSettings& settings, const LoadPlan& plan);

}  // namespace paceline
