// The chooser once more, slow and straight from the words of choose.h, for tests to compare with. Of rows that are made
// of numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <vector>

#include "base/philox.h"
#include "sample/choose.h"

namespace paceline::reference {

inline std::vector<double> adjusted(std::span<const float> logits, const History& history,
                                    const SampleSettings& settings) {
  std::vector<float> row(logits.begin(), logits.end());
  std::map<TokenId, int> prompt, generated, all;
  for (const TokenId id : history.prompt) ++prompt[id], ++all[id];
  for (const TokenId id : history.generated) ++generated[id], ++all[id];
  for (const auto& [id, count] : all) {
    float& logit = row[id];
    logit = logit > 0 ? logit / settings.repetition_penalty : logit * settings.repetition_penalty;
  }
  for (const auto& [id, count] : generated) {
    row[id] -= settings.frequency_penalty * static_cast<float>(count) + settings.presence_penalty;
  }
  for (const auto& [id, bias] : settings.logit_bias) row[id] += bias;
  if (settings.suppressed) {
    for (const TokenId id : *settings.suppressed) row[id] = -INFINITY;
  }
  return {row.begin(), row.end()};
}

struct Survivor {
  TokenId id;
  double probability;
};

// The distribution that the settings leave, likeliest first, adding up to 1. temperature > 0.
inline std::vector<Survivor> distribution(std::span<const float> logits, const History& history,
                                          const SampleSettings& settings) {
  const auto row = adjusted(logits, history, settings);
  const double largest = *std::max_element(row.begin(), row.end());
  std::vector<Survivor> list;
  for (size_t i = 0; i < row.size(); ++i) {
    const double p = std::exp((row[i] - largest) / static_cast<double>(settings.temperature));
    if (p > 0) list.push_back({static_cast<TokenId>(i), p});
  }
  // By logit, not by probability: low temperatures make different logits' probabilities equal.
  std::stable_sort(list.begin(), list.end(), [&](auto& a, auto& b) { return row[a.id] > row[b.id]; });
  const auto normalise = [&] {
    double sum = 0;
    for (const auto& s : list) sum += s.probability;
    for (auto& s : list) s.probability /= sum;
  };
  if (settings.top_k > 0 && static_cast<size_t>(settings.top_k) < list.size()) list.resize(settings.top_k);
  normalise();
  if (settings.top_p < 1.0f) {
    double sum = 0;
    size_t kept = 0;
    while (kept < list.size() && sum < static_cast<double>(settings.top_p)) sum += list[kept++].probability;
    list.resize(kept);
  }
  const double floor = list.front().probability * static_cast<double>(settings.min_p);
  std::erase_if(list, [&](const Survivor& s) { return s.probability < floor; });
  normalise();
  return list;
}

// Standard Gumbel noise of a token.
inline double gumbel(uint64_t seed, int64_t index, TokenId id) {
  const auto at = static_cast<uint64_t>(index);
  const auto block = static_cast<uint32_t>(id / 4);
  const double high = random_block(seed, at, block, 0)[id % 4];
  const double low = random_block(seed, at, block, 1)[id % 4] >> 12;
  return -std::log(-std::log1p(-(high + (low + 0.5) * 0x1p-20) * 0x1p-32));
}

inline TokenId choose(std::span<const float> logits, const History& history, const SampleSettings& settings,
                      int64_t index) {
  if (settings.temperature == 0.0f) {
    const auto row = adjusted(logits, history, settings);
    return static_cast<TokenId>(std::max_element(row.begin(), row.end()) - row.begin());
  }
  double best = -INFINITY;
  TokenId winner = -1;
  for (const auto& [id, p] : distribution(logits, history, settings)) {
    const double score = std::log(p) + gumbel(settings.seed, index, id);
    if (score > best) best = score, winner = id;
  }
  return winner;
}

}  // namespace paceline::reference
