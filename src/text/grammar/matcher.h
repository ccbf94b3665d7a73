// An automaton at work. What may stand at a point of a document is a set of (state, stack) pairs; sets and stacks are
// kept once each and known by number, so that a position is one number: cheap to copy, to keep per token and to look
// up. Steps are remembered. One matcher serves one sequence; it is not for several threads at once.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "text/grammar/automaton.h"

namespace paceline::grammar {

using SetId = int32_t;
inline constexpr SetId kDead = 0;  // nothing can follow, and nothing is complete

struct Thread {
  StateId state = kNoState;
  int32_t stack = 0;  // 0: empty
  auto operator<=>(const Thread&) const = default;
};

class Matcher {
 public:
  explicit Matcher(const Automaton& automaton);

  [[nodiscard]] SetId start() const { return start_; }
  // The position behind one more byte; kDead if the grammar has none such.
  SetId step(SetId from, uint8_t byte);
  // As step(), with what was found remembered for the next time.
  SetId step_remembered(SetId from, uint8_t byte) {
    auto& row = sets_[from].steps;
    if (row == nullptr) add_row(from);
    SetId& to = (*sets_[from].steps)[byte];
    if (to >= 0) return to;
    const SetId found = step(from, byte);  // may move the sets
    return (*sets_[from].steps)[byte] = found;
  }
  SetId step_token(SetId from, TokenId token);

  // Whether the document may end here.
  [[nodiscard]] bool complete(SetId set) const { return sets_[set].complete; }
  [[nodiscard]] const std::vector<Thread>& threads(SetId set) const { return sets_[set].threads; }
  // The position of which no token can tell this one: counts far from their bounds are all alike.
  SetId representative(SetId set);

  [[nodiscard]] size_t sets() const { return sets_.size(); }
  [[nodiscard]] size_t bytes() const;
  // Forgets everything; positions from before mean nothing afterwards.
  void clear();

 private:
  // A pushed state on top of another stack.
  struct Frame {
    StateId back = kNoState;
    int32_t below = 0;
    int32_t nesting = 0;
    int32_t representative = 0;
  };
  struct Set {
    std::vector<Thread> threads;  // sorted; each state has an edge that eats something
    bool complete = false;
    SetId representative = -1;
    std::unique_ptr<std::array<SetId, 256>> steps;
  };

  int32_t push(StateId back, int32_t below, bool nests);
  // Adds to found_ what is reached from here without eating.
  void reach(StateId state, int32_t stack);
  void follow(StateId from, int32_t stack, const Edge& edge);
  void add_row(SetId set);
  SetId intern_found();
  SetId intern(std::vector<Thread> threads, bool complete);

  const Automaton* automaton_;
  std::vector<Frame> frames_;
  std::unordered_map<uint64_t, int32_t> frame_of_;
  std::vector<Set> sets_;
  std::unordered_multimap<uint64_t, SetId> set_of_;
  SetId start_ = kDead;
  size_t rows_ = 0;
  // Of the step being made.
  std::vector<Thread> found_, waiting_;
  bool complete_ = false;
};

}  // namespace paceline::grammar
