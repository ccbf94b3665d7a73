#include "sample/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace paceline {
namespace {

// Not NaN, and within [low, high].
bool within(float value, float low, float high) { return value >= low && value <= high; }

Error out_of_range(const char* field, const char* expected, float found) {
  return Error{fmt::format("{} must be {}, not {}", field, expected, found)};
}

}  // namespace

Status check_settings(const SampleSettings& s, int32_t vocab) {
  if (!within(s.temperature, 0.0f, 100.0f)) return out_of_range("temperature", "from 0 to 100", s.temperature);
  if (s.top_k < 0) return Error{fmt::format("top_k must be 0 (all) or more, not {}", s.top_k)};
  if (!within(s.top_p, 0.0f, 1.0f) || s.top_p == 0.0f) return out_of_range("top_p", "above 0 and at most 1", s.top_p);
  if (!within(s.min_p, 0.0f, 1.0f)) return out_of_range("min_p", "from 0 to 1", s.min_p);
  if (!within(s.repetition_penalty, 0.0f, 100.0f) || s.repetition_penalty == 0.0f) {
    return out_of_range("repetition_penalty", "above 0 and at most 100", s.repetition_penalty);
  }
  if (!within(s.presence_penalty, -100.0f, 100.0f)) {
    return out_of_range("presence_penalty", "from -100 to 100", s.presence_penalty);
  }
  if (!within(s.frequency_penalty, -100.0f, 100.0f)) {
    return out_of_range("frequency_penalty", "from -100 to 100", s.frequency_penalty);
  }
  for (const auto& [id, bias] : s.logit_bias) {
    if (id < 0 || id >= vocab)
      return Error{fmt::format("logit_bias names token {}; ids go from 0 to {}", id, vocab - 1)};
    if (!within(bias, -1e6f, 1e6f)) return out_of_range("logit_bias", "a number from -1e6 to 1e6", bias);
  }
  return Done{};
}

void sort_biases(std::vector<LogitBias>& biases) {
  std::stable_sort(biases.begin(), biases.end(), [](const LogitBias& a, const LogitBias& b) { return a.id < b.id; });
  size_t kept = 0;
  for (size_t i = 0; i < biases.size(); ++i) {
    if (i + 1 < biases.size() && biases[i + 1].id == biases[i].id) continue;
    biases[kept++] = biases[i];
  }
  biases.resize(kept);
}

}  // namespace paceline
