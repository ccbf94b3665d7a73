#include "speculate/reading_worth.h"

#include <algorithm>
#include <cmath>

#include "base/philox.h"

namespace paceline {
namespace {

// About what reading along and being tried now and then takes, as a share of the time.
constexpr double kTakes = 0.02;
// What is kept of earlier texts' savings after a round: those of some hundred rounds count.
constexpr double kKeepPerRound = 0.99;
constexpr uint64_t kSeed = 0x7265616461746877;

}  // namespace

bool ReadingWorth::rests_next() {
  if (saved_ >= kTakes) return false;
  const uint64_t at = begun_++;
  if (at >= stretch_end_) {
    // Which one is left to chance, for texts may come in turns.
    read_at_ = at + random_block(kSeed, at, 0, 0)[0] % reads_one_of_;
    stretch_end_ = at + reads_one_of_;
  }
  return at != read_at_;
}

void ReadingWorth::observe(double saved, int32_t rounds) {
  saved_ += (1 - std::pow(kKeepPerRound, rounds)) * (saved - saved_);
  reads_one_of_ = saved_ >= kTakes ? kOften : std::min(2 * reads_one_of_, kSeldom);
}

}  // namespace paceline
