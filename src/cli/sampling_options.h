// How tokens are chosen, as the command line asks for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "sample/settings.h"

namespace paceline {

struct SamplingOptions {
  // What the model's own defaults stand in for.
  std::optional<float> temperature, top_p;
  std::optional<int32_t> top_k;
  std::optional<uint64_t> seed;
  std::vector<std::string> logit_bias;  // ID=VALUE
  SampleSettings settings;              // all else
};

void add_sampling_options(const Command& command, SamplingOptions& options);

// "12=-3.5" → {12, -3.5}
Result<LogitBias> parse_logit_bias(const std::string& text);

// Puts --logit-bias into the settings. An error is the caller's.
Status complete_biases(SamplingOptions& options);

}  // namespace paceline
