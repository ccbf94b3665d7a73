#include "speculate/reading_worth.h"

#include <cmath>

#include "base/philox.h"

namespace paceline {
namespace {

// About what reading along and being tried now and then takes, as a share of the time.
constexpr double kTakes = 0.02;
// What is kept of earlier texts' savings after a round: those of some hundred rounds count.
constexpr double kKeepPerRound = 0.99;
// While it rests, one sequence of every so many is read all the same; which one is left to chance, for texts may come
// in turns.
constexpr uint64_t kReadsOneOf = 8;
constexpr uint64_t kSeed = 0x7265616461746877;

}  // namespace

bool ReadingWorth::rests_next() {
  if (saved_ >= kTakes) return false;
  const uint64_t at = begun_++;
  return random_block(kSeed, at / kReadsOneOf, 0, 0)[0] % kReadsOneOf != at % kReadsOneOf;
}

void ReadingWorth::observe(double saved, int32_t rounds) {
  saved_ += (1 - std::pow(kKeepPerRound, rounds)) * (saved - saved_);
}

}  // namespace paceline
