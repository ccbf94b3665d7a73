// A load on a server, plain and with drafts in turn; what its clients see of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/load_mix.h"
#include "bench/serve_report.h"

namespace paceline {

struct ServeBenchSettings {
  std::string url;                            // "": a server of our own
  std::string api_key;                        // that the server wants; "": none
  std::vector<std::string> server_arguments;  // of a server of our own: `paceline serve`, and these
  std::vector<int32_t> at_once{1, 4, 16, 64};
  // Each of them apart, too; empty: as the mix has it.
  std::vector<std::string> kinds;
  std::vector<int32_t> prompt_words;
  // Of drafts, in turn; none of them: as the server chooses.
  std::vector<std::optional<int32_t>> depths{std::nullopt};
  double per_second = 0;
  int32_t requests = 0;  // of a run; 0: as many as suit
  int32_t rounds = 3;
  bool plain = true, drafted = true;  // in turn
  bool plain_first = false;           // always: drafts come from what the plain run wrote
  int32_t prefix_words = 0;           // above 0: what a known beginning of so many words saves
  int32_t pictures = 0;               // above 0: how long a stream stands still beside so many
  int32_t picture_tokens = 280;
  LoadMix mix;
  std::function<void(int64_t done, int64_t total)> progress;
  // These may be empty.
  std::function<bool()> stopped = {};                             // asked before each request
  std::function<void(const ServeCell& cell)> hear_run = {};       // before each run
  std::function<void(const ServeReport& so_far)> hear_load = {};  // after each load
};

// An error where there is no server, or it cannot be measured; requests that failed are counted.
Result<ServeReport> bench_serving(const ServeBenchSettings& settings);

}  // namespace paceline
