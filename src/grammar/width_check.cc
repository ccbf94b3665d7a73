#include "grammar/width_check.h"

#include <fmt/format.h>

#include <unordered_set>
#include <vector>

#include "grammar/matcher.h"

namespace paceline::grammar {
namespace {

// Positions with fewer ways are not followed.
constexpr size_t kWide = 16;
constexpr size_t kMostPositions = 512;
constexpr int64_t kMostWork = 4'000'000;

class WidthSearch {
 public:
  explicit WidthSearch(const Automaton& automaton) : automaton_(automaton), matcher_(automaton) {}

  // False: behind this state more ways stay open than are followed.
  bool search(StateId from) {
    if (!note(matcher_.start_at(from))) return false;
    while (!waiting_.empty() && seen_.size() < kMostPositions && work_ < kMostWork) {
      const SetId position = waiting_.back();
      waiting_.pop_back();
      for (int byte = 0; byte < 256;) {
        const Step step = matcher_.find_step(position, static_cast<uint8_t>(byte));
        work_ += step.work;
        byte = step.last + 1;
        if (!note(step.to)) return false;
      }
      for (const TokenId token : tokens_of(position)) {
        if (!note(matcher_.step_token(position, token))) return false;
      }
    }
    return true;
  }

 private:
  bool note(SetId position) {
    if (matcher_.truncated(position)) return false;
    if (matcher_.threads(position).size() >= kWide && seen_.insert(position).second) waiting_.push_back(position);
    return true;
  }

  [[nodiscard]] std::unordered_set<TokenId> tokens_of(SetId position) const {
    std::unordered_set<TokenId> tokens;
    for (const Thread& thread : matcher_.threads(position)) {
      for (const Edge& edge : automaton_.edges_of(thread.state)) {
        if (edge.kind == EdgeKind::token) tokens.insert(edge.token);
      }
    }
    return tokens;
  }

  const Automaton& automaton_;
  Matcher matcher_;
  std::unordered_set<SetId> seen_;
  std::vector<SetId> waiting_;
  int64_t work_ = 0;
};

}  // namespace

Status check_width(const Automaton& automaton) {
  if (automaton.wide.empty()) return Done{};
  WidthSearch search(automaton);
  for (const auto& [state, place] : automaton.wide) {
    if (search.search(state)) continue;
    return Error{fmt::format(
        "{}: too costly: expected alternatives that leave at most {} ways and {} steps open at once, found more", place,
        kMaxThreads, kMaxSetEdges)};
  }
  return Done{};
}

}  // namespace paceline::grammar
