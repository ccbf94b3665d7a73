// One request through the engine beside the bare loop over the same forward, in turn: the text must be the same, and
// what the engine does besides (batches, queue, shared pages, telling) should not be seen in its time.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "session/opened_model.h"

namespace paceline {

struct PaceSettings {
  int32_t rounds = 9;
  int32_t tokens = 160;  // of the text
  std::function<void(int64_t done, int64_t total)> progress;
};

struct PaceCheck {
  bool equal = true;  // each text of the engine to the bare loop's
  int32_t tokens = 0;
  std::vector<double> bare_ms, engine_ms;  // of a round's text, behind its first token
  std::vector<double> ratios;              // engine's speed ÷ bare loop's, by round
};

Result<PaceCheck> check_pace(const RunOptions& run, const PaceSettings& settings);

std::string pace_line(const PaceCheck& checked);
boost::json::object pace_json(const PaceCheck& checked);

}  // namespace paceline
