#include "sample/choose.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/philox.h"

namespace paceline {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();

// Lanes of the generator, see random_block().
constexpr uint32_t kHighLane = 0, kLowLane = 1;

void penalise(std::span<float> row, const TokenCounts& counts, const SampleSettings& settings) {
  for (const auto& [id, count] : counts.all()) {
    // Image and other soft tokens may have ids outside the row's.
    if (id < 0 || id >= static_cast<TokenId>(row.size())) continue;
    float& logit = row[id];
    logit = logit > 0 ? logit / settings.repetition_penalty : logit * settings.repetition_penalty;
    if (count.generated > 0) {
      logit -= settings.frequency_penalty * static_cast<float>(count.generated) + settings.presence_penalty;
    }
    // A penalty below 1 may lift the largest float to infinity, whose differences are NaN.
    logit = std::min(logit, kLargest);
  }
}

// What the constraint allows behind the output so far; empty: there is no constraint.
std::span<const uint64_t> allowed_ids(const History& history, const SampleSettings& settings, ChooseScratch& scratch) {
  if (settings.constraint == nullptr) return {};
  if (scratch.constraint != settings.constraint) {
    scratch.cursor = settings.constraint->start();
    scratch.constraint = settings.constraint;
  }
  return scratch.cursor->allowed(history.generated);
}

bool allows(std::span<const uint64_t> allowed, size_t id) {
  return id / 64 < allowed.size() && (allowed[id / 64] >> (id % 64) & 1) != 0;
}

void bar_others(std::span<const uint64_t> allowed, std::span<float> row) {
  for (size_t begin = 0; begin < row.size(); begin += 64) {
    const size_t end = std::min(begin + 64, row.size());
    const uint64_t word = begin / 64 < allowed.size() ? allowed[begin / 64] : 0;
    if (word == ~uint64_t{0}) continue;
    for (size_t id = begin; id < end; ++id) {
      if ((word >> (id - begin) & 1) == 0) row[id] = kNever;
    }
  }
}

// The row as the filters see it: adjusted, and finite or -infinity. False: it is not made of numbers.
bool adjust(std::span<const float> logits, const History& history, const SampleSettings& settings,
            ChooseScratch& scratch) {
  auto& row = scratch.row;
  row.resize(logits.size());
  int32_t no_numbers = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    row[i] = logits[i];
    no_numbers |= logits[i] <= kLargest ? 0 : 1;
  }
  if (no_numbers != 0) return false;
  if (settings.penalised()) {
    const TokenCounts* counts = history.counts;
    if (counts == nullptr) {
      scratch.counts = TokenCounts(history.prompt, history.generated);
      counts = &scratch.counts;
    }
    penalise(row, *counts, settings);
  }
  for (const auto& [id, bias] : settings.logit_bias) {
    if (id >= 0 && id < static_cast<TokenId>(row.size())) row[id] += bias;
  }
  if (settings.suppressed != nullptr) {
    for (const TokenId id : *settings.suppressed) {
      if (id >= 0 && id < static_cast<TokenId>(row.size())) row[id] = kNever;
    }
  }
  return true;
}

bool is_empty(std::span<const float> logits) {
  return std::all_of(logits.begin(), logits.end(), [](float logit) { return logit == kNever; });
}

TokenId lowest_allowed_by(std::span<const uint64_t> allowed, std::span<const float> row,
                          const SampleSettings& settings) {
  TokenId lowest = -1;
  for (size_t id = 0; id < row.size(); ++id) {
    if (!allows(allowed, id)) continue;
    const auto found = static_cast<TokenId>(id);
    const bool barred = settings.suppressed != nullptr &&
                        std::binary_search(settings.suppressed->begin(), settings.suppressed->end(), found);
    if (!barred) return found;
    if (lowest < 0) lowest = found;
  }
  return std::max(lowest, TokenId{0});
}

TokenId lowest_allowed(std::span<const float> row, const SampleSettings& settings) {
  if (settings.suppressed == nullptr) return 0;
  TokenId id = 0;
  for (const TokenId barred : *settings.suppressed) {
    if (barred == id) ++id;
  }
  return id < static_cast<TokenId>(row.size()) ? id : 0;
}

// Lowest id of the row's largest value.
TokenId first_of_largest(const RowPieces& pieces) {
  const auto piece = std::max_element(pieces.largest.begin(), pieces.largest.end()) - pieces.largest.begin();
  const auto begin = pieces.row.begin() + piece * kPieceLogits;
  return static_cast<TokenId>(std::find(begin, pieces.row.end(), pieces.largest[piece]) - pieces.row.begin());
}

// Of independent exponential times e_i divided by weights w_i, the smallest falls to i with probability w_i / sum w.
// It is the largest log w_i + Gumbel noise, said without the logarithms: -log(e_i / w_i) = log w_i + gumbel_i.
class Race {
 public:
  Race(const SampleSettings& settings, int64_t output_index)
      : seed_(settings.seed), index_(static_cast<uint64_t>(output_index)) {}

  void enter(TokenId id, double weight) {
    const auto block = static_cast<uint32_t>(id) / 4;
    if (block != block_) {
      high_words_ = random_block(seed_, index_, block, kHighLane);
      block_ = block;
    }
    const uint32_t high = high_words_[static_cast<uint32_t>(id) % 4];
    // The time is -log1p(-v) >= v for uniform v, so the upper half of v often shows that this token cannot win.
    constexpr double kTwoToMinus32 = 0x1p-32;
    if (static_cast<double>(high) * kTwoToMinus32 > best_ * weight) return;
    const uint32_t low = random_block(seed_, index_, block, kLowLane)[static_cast<uint32_t>(id) % 4];
    // Half a step above the grid: v is never 0, and never rounds to 1 as `low` is cut to 20 bits.
    const double v = (static_cast<double>(high) + (static_cast<double>(low >> 12) + 0.5) * 0x1p-20) * kTwoToMinus32;
    const double time = -std::log1p(-v) / weight;
    if (time < best_ || (time == best_ && id < winner_)) {
      best_ = time;
      winner_ = id;
    }
  }

  [[nodiscard]] TokenId winner() const { return winner_; }

 private:
  uint64_t seed_, index_;
  uint32_t block_ = ~0u;
  PhiloxCounter high_words_{};
  double best_ = std::numeric_limits<double>::infinity();
  TokenId winner_ = -1;
};

// Probability relative to the likeliest token's.
class Weights {
 public:
  Weights(float largest, float temperature) : largest_(largest), temperature_(temperature) {}
  double operator()(float logit) const { return std::exp((static_cast<double>(logit) - largest_) / temperature_); }

 private:
  double largest_, temperature_;
};

// How many of the sorted candidates it takes to weigh `goal`; 0 if all together do not.
size_t reach(std::span<const Candidate> candidates, const Weights& weight, double goal) {
  double sum = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    sum += weight(candidates[i].logit);
    if (sum >= goal) return i + 1;
  }
  return 0;
}

double total_weight(std::span<const Candidate> candidates, const Weights& weight) {
  double sum = 0;
  for (const Candidate& candidate : candidates) sum += weight(candidate.logit);
  return sum;
}

// Without top_k, top_p is over the whole row: candidates are selected in growing number until they reach it.
void select_top_p(const RowPieces& pieces, float top_p, const Weights& weight, ChooseScratch& scratch) {
  double total = 0;
  for (const float logit : pieces.row) total += weight(logit);
  for (int64_t count = 256;; count *= 8) {
    select_top(pieces, count, scratch.threshold, scratch.candidates);
    if (const size_t kept = reach(scratch.candidates, weight, total * top_p); kept > 0) {
      scratch.candidates.resize(kept);
      return;
    }
    // Summed in another order, the whole row may fall short by a rounding: then all of it stays.
    if (static_cast<int64_t>(scratch.candidates.size()) < count) return;
  }
}

void select_candidates(const RowPieces& pieces, const SampleSettings& settings, const Weights& weight,
                       ChooseScratch& scratch) {
  auto& candidates = scratch.candidates;
  if (settings.top_k > 0) {
    select_top(pieces, settings.top_k, scratch.threshold, candidates);
    if (settings.top_p < 1.0f) {
      const size_t kept = reach(candidates, weight, total_weight(candidates, weight) * settings.top_p);
      if (kept > 0) candidates.resize(kept);
    }
  } else {
    select_top_p(pieces, settings.top_p, weight, scratch);
  }
}

}  // namespace

TokenId choose(std::span<const float> logits, const History& history, const SampleSettings& settings,
               int64_t output_index, ChooseScratch& scratch) {
  CHECK(!logits.empty());
  if (!adjust(logits, history, settings, scratch)) return kNoChoice;
  const std::span<const uint64_t> allowed = allowed_ids(history, settings, scratch);
  if (!allowed.empty()) bar_others(allowed, scratch.row);
  find_largest(scratch.row, scratch.largest);
  const RowPieces pieces{scratch.row, scratch.largest};
  const float largest = *std::max_element(pieces.largest.begin(), pieces.largest.end());
  if (largest == kNever) {
    if (is_empty(logits)) return kNoChoice;
    return allowed.empty() ? lowest_allowed(pieces.row, settings) : lowest_allowed_by(allowed, pieces.row, settings);
  }
  if (settings.temperature == 0.0f) return first_of_largest(pieces);

  const Weights weight(largest, settings.temperature);
  const auto min_weight = static_cast<double>(settings.min_p);
  Race race(settings, output_index);
  if (settings.top_k > 0 || settings.top_p < 1.0f) {
    select_candidates(pieces, settings, weight, scratch);
    for (const auto& [logit, id] : scratch.candidates) {
      if (const double w = weight(logit); w > 0 && w >= min_weight) race.enter(id, w);
    }
  } else {
    for (size_t id = 0; id < pieces.row.size(); ++id) {
      if (const double w = weight(pieces.row[id]); w > 0 && w >= min_weight) race.enter(static_cast<TokenId>(id), w);
    }
  }
  return race.winner();
}

TokenId choose_draft(std::span<const float> logits, const SampleSettings& settings, int64_t output_index,
                     ChooseScratch& scratch) {
  SampleSettings drafts = settings;
  drafts.repetition_penalty = 1;
  drafts.presence_penalty = drafts.frequency_penalty = 0;
  drafts.constraint = nullptr;
  return choose(logits, {}, drafts, output_index, scratch);
}

}  // namespace paceline
