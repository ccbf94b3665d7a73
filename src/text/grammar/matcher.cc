#include "text/grammar/matcher.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace paceline::grammar {
namespace {

// So many ways to read a document are followed at once. Those beyond are dropped, which makes the grammar smaller and
// nothing else: each way that is followed can be completed by itself.
constexpr size_t kMaxThreads = 1024;
// States passed through in one step without eating.
constexpr size_t kMaxPassed = 8192;

// Few, mostly: those are compared one by one.
class PassedThreads {
 public:
  // True: it is new.
  bool add(const Thread& thread) {
    constexpr size_t kFew = 32;
    if (list_.size() >= kMaxPassed) return false;
    if (list_.size() < kFew) {
      if (std::find(list_.begin(), list_.end(), thread) != list_.end()) return false;
    } else {
      if (keys_.empty()) {
        for (const Thread& known : list_) keys_.insert(key_of(known));
      }
      if (!keys_.insert(key_of(thread)).second) return false;
    }
    list_.push_back(thread);
    return true;
  }

 private:
  static uint64_t key_of(const Thread& thread) {
    return (static_cast<uint64_t>(thread.state) << 32) | static_cast<uint32_t>(thread.stack);
  }

  std::vector<Thread> list_;
  std::unordered_set<uint64_t> keys_;
};

uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

}  // namespace

Matcher::Matcher(const Automaton& automaton) : automaton_(&automaton) { clear(); }

void Matcher::clear() {
  frames_.assign(1, {});
  frame_of_.clear();
  sets_.clear();
  set_of_.clear();
  rows_ = 0;
  intern({}, false);  // kDead
  found_.clear();
  complete_ = false;
  reach(automaton_->start, 0);
  start_ = intern_found();
}

size_t Matcher::bytes() const {
  size_t threads = 0;
  for (const Set& set : sets_) threads += set.threads.size();
  return sets_.size() * sizeof(Set) + threads * sizeof(Thread) + rows_ * sizeof(std::array<SetId, 256>) +
         frames_.size() * (sizeof(Frame) + 32);
}

int32_t Matcher::push(StateId back, int32_t below, bool nests) {
  const uint64_t key = (static_cast<uint64_t>(below) << 32) | (static_cast<uint64_t>(back) << 1) | (nests ? 1 : 0);
  if (const auto known = frame_of_.find(key); known != frame_of_.end()) return known->second;
  const auto made = static_cast<int32_t>(frames_.size());
  frame_of_.emplace(key, made);
  frames_.push_back({back, below, frames_[below].nesting + (nests ? 1 : 0), made});
  const StateId alias = automaton_->states[back].alias;
  const int32_t below_alike = frames_[below].representative;
  if (alias != back || below_alike != below) {
    const int32_t alike = push(alias, below_alike, nests);
    frames_[made].representative = alike;
  }
  return made;
}

void Matcher::follow(StateId from, int32_t stack, const Edge& edge) {
  const StateId to = automaton_->target(from, edge.to);
  int32_t nesting = frames_[stack].nesting;
  if (edge.push != kNoState) {
    const StateId back = automaton_->target(from, edge.push);
    if (nesting + automaton_->heights[back] > automaton_->max_nesting) return;
    nesting += edge.nests ? 1 : 0;
    if (nesting + automaton_->heights[to] > automaton_->max_nesting) return;
    stack = push(back, stack, edge.nests);
  }
  waiting_.push_back({to, stack});
}

void Matcher::reach(StateId state, int32_t stack) {
  waiting_.push_back({state, stack});
  PassedThreads passed;
  while (!waiting_.empty()) {
    const Thread now = waiting_.back();
    waiting_.pop_back();
    if (frames_[now.stack].nesting + automaton_->heights[now.state] > automaton_->max_nesting) continue;
    if (now.state == kAccept) {
      if (now.stack == 0) {
        complete_ = true;
      } else {
        waiting_.push_back({frames_[now.stack].back, frames_[now.stack].below});
      }
      continue;
    }
    bool eats = false, passes = false;
    for (const Edge& edge : automaton_->edges_of(now.state)) {
      (edge.kind == EdgeKind::nothing ? passes : eats) = true;
    }
    if (eats && found_.size() < kMaxThreads) found_.push_back(now);
    if (!passes) continue;
    // Loops that eat nothing come back to where they began.
    if (!passed.add(now)) continue;
    const auto edges = automaton_->edges_of(now.state);
    // The last pushed is followed first, so that what is dropped is what the schema names last.
    for (auto edge = edges.rbegin(); edge != edges.rend(); ++edge) {
      if (edge->kind == EdgeKind::nothing) follow(now.state, now.stack, *edge);
    }
  }
}

SetId Matcher::step(SetId from, uint8_t byte) {
  found_.clear();
  complete_ = false;
  // Steps do not add sets before the end, so that the threads stay where they are.
  for (const Thread& thread : sets_[from].threads) {
    for (const Edge& edge : automaton_->edges_of(thread.state)) {
      if (edge.kind != EdgeKind::bytes || byte < edge.low || byte > edge.high) continue;
      follow(thread.state, thread.stack, edge);
      if (waiting_.empty()) continue;
      const Thread reached = waiting_.back();
      waiting_.pop_back();
      reach(reached.state, reached.stack);
    }
  }
  return intern_found();
}

SetId Matcher::step_token(SetId from, TokenId token) {
  found_.clear();
  complete_ = false;
  for (const Thread& thread : sets_[from].threads) {
    for (const Edge& edge : automaton_->edges_of(thread.state)) {
      if (edge.kind != EdgeKind::token || edge.token != token) continue;
      reach(automaton_->target(thread.state, edge.to), thread.stack);
    }
  }
  return intern_found();
}

SetId Matcher::representative(SetId set) {
  if (sets_[set].representative >= 0) return sets_[set].representative;
  std::vector<Thread> alike;
  for (const Thread& thread : sets_[set].threads) {
    alike.push_back({automaton_->states[thread.state].alias, frames_[thread.stack].representative});
  }
  std::sort(alike.begin(), alike.end());
  alike.erase(std::unique(alike.begin(), alike.end()), alike.end());
  const SetId found = intern(std::move(alike), sets_[set].complete);
  return sets_[set].representative = found;
}

void Matcher::add_row(SetId set) {
  sets_[set].steps = std::make_unique<std::array<SetId, 256>>();
  sets_[set].steps->fill(-1);
  ++rows_;
}

SetId Matcher::intern_found() {
  std::sort(found_.begin(), found_.end());
  found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
  return intern(found_, complete_);
}

SetId Matcher::intern(std::vector<Thread> threads, bool complete) {
  uint64_t hash = complete ? 1 : 0;
  for (const Thread& thread : threads) {
    hash = mixed(hash, (static_cast<uint64_t>(thread.state) << 32) | static_cast<uint32_t>(thread.stack));
  }
  const auto [first, last] = set_of_.equal_range(hash);
  for (auto known = first; known != last; ++known) {
    const Set& set = sets_[known->second];
    if (set.complete == complete && set.threads == threads) return known->second;
  }
  const auto made = static_cast<SetId>(sets_.size());
  sets_.push_back({std::move(threads), complete, -1, nullptr});
  set_of_.emplace(hash, made);
  return made;
}

}  // namespace paceline::grammar
