// An automaton at work. What may stand at a point of a document is a set of (state, stack) pairs; sets and stacks are
// kept once each and known by number, so that a position is one number: cheap to copy, to keep per token and to look
// up. One matcher serves one thread at a time.
//
// Sets are bounded: in how many ways they read the document, and in how many edges these have together. Ways beyond are
// dropped, which makes the grammar smaller and nothing else: each way that is followed can be completed by itself.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "grammar/automaton.h"

namespace paceline::grammar {

using SetId = int32_t;
inline constexpr SetId kDead = 0;  // nothing can follow, and nothing is complete

inline constexpr size_t kMaxThreads = 2048;
inline constexpr int32_t kMaxSetEdges = 4096;
// States passed through in one step without eating.
inline constexpr size_t kMaxPassed = 8192;

struct Thread {
  StateId state = kNoState;
  int32_t stack = 0;  // 0: empty
  auto operator<=>(const Thread&) const = default;
};

// A step, the same for all bytes from `first` to `last`, which no edge tells apart, and what it takes to find it: edges
// looked at, states passed and reached. That depends on the position alone, not on what was remembered before.
struct Step {
  SetId to = kDead;
  uint8_t first = 0, last = 0;
  uint32_t work = 0;
  uint32_t counted = 0;  // in which count
};

// What a walk through many positions takes, with each step counted once, however often it is made.
struct WalkCount {
  int64_t units = 0;
  int32_t widest = 0;  // most edges of a position
  bool truncated = false;
};

class Matcher {
 public:
  // The automaton must outlive it.
  explicit Matcher(const Automaton& automaton);

  [[nodiscard]] SetId start() const { return start_; }
  // What can be reached from a state of the automaton, as if the document began there.
  SetId start_at(StateId state);
  // The position behind one more byte; kDead if the grammar has none such.
  SetId step(SetId from, uint8_t byte) { return find_step(from, byte).to; }
  Step find_step(SetId from, uint8_t byte);
  // From here on each step counts anew.
  void begin_count() { ++count_; }
  // As step(), remembered for the next time, and counted.
  SetId step_counted(SetId from, uint8_t byte, WalkCount& count) {
    const size_t at = remembered(from, byte);
    Step& step = sets_[from].steps[at];
    if (step.counted != count_) {
      step.counted = count_;
      count.units += step.work;
      count.widest = std::max(count.widest, sets_[step.to].edges);
      count.truncated = count.truncated || sets_[step.to].truncated;
    }
    return step.to;
  }
  SetId step_token(SetId from, TokenId token);

  // Whether the document may end here.
  [[nodiscard]] bool complete(SetId set) const { return sets_[set].complete; }
  // Whether ways to read the document were dropped on the last step to here.
  [[nodiscard]] bool truncated(SetId set) const { return sets_[set].truncated; }
  [[nodiscard]] const std::vector<Thread>& threads(SetId set) const { return sets_[set].threads; }
  // Of the states of all its threads.
  [[nodiscard]] int32_t edges(SetId set) const { return sets_[set].edges; }
  // The position of which no token can tell this one: counts far from their bounds are all alike.
  SetId representative(SetId set);
  // Those of its threads whose state has no body, or has one.
  SetId without_bodies(SetId set);

  // What a position is, in words that mean the same to every matcher of the automaton.
  [[nodiscard]] std::string key_of(SetId set) const;
  // The same position, of another matcher of the same automaton.
  SetId adopt(const Matcher& other, SetId set);

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
    bool nests = false;
  };
  struct Set {
    std::vector<Thread> threads;  // sorted; each state has an edge that eats something
    bool complete = false, truncated = false;
    int32_t edges = 0;
    SetId representative = -1;
    std::vector<Step> steps;                            // those that were made, as they came
    std::unique_ptr<std::array<int16_t, 256>> step_of;  // by byte, -1 for none; null: they are few
  };
  // Which states were passed in a step. Few, mostly: those are compared one by one.
  class Passed {
   public:
    void clear();
    // True: it is new, and there is room.
    bool add(const Thread& thread);
    [[nodiscard]] bool full() const { return list_.size() >= kMaxPassed; }

   private:
    std::vector<Thread> list_;
    std::unordered_set<uint64_t> keys_;
  };

  int32_t push(StateId back, int32_t below, bool nests);
  void begin_step();
  // Adds to found_ what is reached from here without eating.
  void reach(StateId state, int32_t stack);
  void find_thread(const Thread& thread);
  void follow(StateId from, int32_t stack, const Edge& edge);
  size_t remembered(SetId from, uint8_t byte) {
    const Set& set = sets_[from];
    if (set.step_of != nullptr) {
      const int16_t at = (*set.step_of)[byte];
      return at >= 0 ? static_cast<size_t>(at) : remember(from, byte);
    }
    for (size_t i = 0; i < set.steps.size(); ++i) {
      if (byte >= set.steps[i].first && byte <= set.steps[i].last) return i;
    }
    return remember(from, byte);
  }
  size_t remember(SetId from, uint8_t byte);
  void drop_dominated(std::vector<Thread>& threads) const;
  void tidy_found();
  SetId intern_found();
  SetId intern(std::vector<Thread> threads, bool complete, bool truncated = false);

  const Automaton* automaton_;
  std::vector<Frame> frames_;
  std::unordered_map<uint64_t, int32_t> frame_of_;
  std::vector<Set> sets_;
  std::unordered_multimap<uint64_t, SetId> set_of_;
  SetId start_ = kDead;
  size_t rows_ = 0, all_steps_ = 0, all_threads_ = 0;
  uint32_t count_ = 1;
  // Of the step being made.
  std::vector<Thread> found_, waiting_;
  Passed passed_;
  int32_t found_edges_ = 0;
  uint32_t work_ = 0;
  bool complete_ = false, truncated_ = false;
};

}  // namespace paceline::grammar
