#include "speculate/mtp/draft_window.h"

#include <algorithm>
#include <bit>

namespace paceline {
namespace {

// Each is tried so often before any is preferred.
constexpr int64_t kFirstTries = 16;
// From then on, one round of so many is one of the others.
constexpr int64_t kOthersEvery = 32;
// What a round still counts for when the next one is seen.
constexpr double kKeepRound = 0.98;
// What another must be better by.
constexpr double kBetterBy = 1.01;

}  // namespace

size_t DraftWindow::context_class(int32_t context) {
  const auto smallest = static_cast<uint32_t>(kWindows.back());
  const auto doublings = std::bit_width(static_cast<uint32_t>(std::max(context, 1)) / smallest);
  return std::min(static_cast<size_t>(doublings), kContexts - 1);
}

size_t DraftWindow::number_of(int32_t window) {
  return static_cast<size_t>(std::find(kWindows.begin(), kWindows.end(), window) - kWindows.begin());
}

int32_t DraftWindow::choose(int32_t context) {
  if (context <= kWindows.back()) return 0;
  AtContext& at = at_[context_class(context)];
  size_t fewest = 0;
  for (size_t i = 1; i < kWindows.size(); ++i)
    if (differs(i, context) && at.seen[i].rounds < at.seen[fewest].rounds) fewest = i;
  if (at.seen[fewest].rounds < kFirstTries) return kWindows[fewest];
  if (++at.rounds % kOthersEvery == 0) {
    at.next_probe = (at.next_probe + 1) % kWindows.size();
    if (differs(at.next_probe, context)) return kWindows[at.next_probe];
  }
  for (size_t i = 0; i < kWindows.size(); ++i)
    if (differs(i, context) && rate(context, kWindows[i]) > kBetterBy * rate(context, kWindows[at.best])) at.best = i;
  return differs(at.best, context) ? kWindows[at.best] : 0;
}

void DraftWindow::observe(int32_t context, int32_t window, int32_t tokens, double ms) {
  if (context <= kWindows.back()) return;
  Seen& seen = at_[context_class(context)].seen[number_of(window)];
  seen.tokens = seen.tokens * kKeepRound + tokens;
  seen.ms = seen.ms * kKeepRound + ms;
  ++seen.rounds;
}

double DraftWindow::rate(int32_t context, int32_t window) const {
  const Seen& seen = at_[context_class(context)].seen[number_of(window)];
  return seen.ms > 0 ? seen.tokens / seen.ms : 0;
}

}  // namespace paceline
