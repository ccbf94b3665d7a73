#include "grammar/matcher.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace paceline::grammar {
namespace {

// What passing a state costs, in edges looked at.
constexpr uint32_t kPassWork = 8;

uint64_t thread_key(const Thread& thread) {
  return (static_cast<uint64_t>(thread.state) << 32) | static_cast<uint32_t>(thread.stack);
}

uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

}  // namespace

void Matcher::Passed::clear() {
  list_.clear();
  keys_.clear();
}

bool Matcher::Passed::add(const Thread& thread) {
  constexpr size_t kFew = 32;
  if (full()) return false;
  if (list_.size() < kFew) {
    if (std::find(list_.begin(), list_.end(), thread) != list_.end()) return false;
  } else {
    if (keys_.empty()) {
      for (const Thread& known : list_) keys_.insert(thread_key(known));
    }
    if (!keys_.insert(thread_key(thread)).second) return false;
  }
  list_.push_back(thread);
  return true;
}

Matcher::Matcher(const Automaton& automaton) : automaton_(&automaton) { clear(); }

void Matcher::clear() {
  frames_.assign(1, {});
  frame_of_.clear();
  sets_.clear();
  set_of_.clear();
  rows_ = all_steps_ = all_threads_ = 0;
  intern({}, false);  // kDead
  start_ = start_at(automaton_->start);
}

SetId Matcher::start_at(StateId state) {
  begin_step();
  reach(state, 0);
  return intern_found();
}

size_t Matcher::bytes() const {
  return sets_.size() * (sizeof(Set) + 32) + all_threads_ * sizeof(Thread) + rows_ * sizeof(std::array<int16_t, 256>) +
         all_steps_ * sizeof(Step) + frames_.size() * (sizeof(Frame) + 32);
}

int32_t Matcher::push(StateId back, int32_t below, bool nests) {
  const uint64_t key = (static_cast<uint64_t>(below) << 32) | (static_cast<uint64_t>(back) << 1) | (nests ? 1 : 0);
  if (const auto known = frame_of_.find(key); known != frame_of_.end()) return known->second;
  const auto made = static_cast<int32_t>(frames_.size());
  frame_of_.emplace(key, made);
  frames_.push_back({back, below, frames_[below].nesting + (nests ? 1 : 0), made, nests});
  const StateId alias = automaton_->states[back].alias;
  const int32_t below_alike = frames_[below].representative;
  if (alias != back || below_alike != below) {
    const int32_t alike = push(alias, below_alike, nests);
    frames_[made].representative = alike;
  }
  return made;
}

void Matcher::begin_step() {
  found_.clear();
  passed_.clear();
  found_edges_ = 0;
  work_ = 1;
  complete_ = truncated_ = false;
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

void Matcher::find_thread(const Thread& thread) {
  const int32_t edges = automaton_->states[thread.state].edges;
  const auto is_full = [&](size_t threads, int32_t most_edges) {
    return !found_.empty() && (found_.size() >= threads || found_edges_ + edges > most_edges);
  };
  if (is_full(kMaxThreads, kMaxSetEdges)) {
    // Many may be one. If so few are that this would happen again soon, that was all.
    tidy_found();
    if (is_full(kMaxThreads * 3 / 4, kMaxSetEdges * 3 / 4)) {
      truncated_ = true;
      return;
    }
  }
  found_.push_back(thread);
  found_edges_ += edges;
}

void Matcher::reach(StateId state, int32_t stack) {
  waiting_.push_back({state, stack});
  while (!waiting_.empty()) {
    const Thread now = waiting_.back();
    waiting_.pop_back();
    work_ += kPassWork;
    if (truncated_) {
      waiting_.clear();
      return;
    }
    if (frames_[now.stack].nesting + automaton_->heights[now.state] > automaton_->max_nesting) continue;
    if (now.state == kAccept) {
      if (now.stack == 0) {
        complete_ = true;
      } else {
        waiting_.push_back({frames_[now.stack].back, frames_[now.stack].below});
      }
      continue;
    }
    const auto edges = automaton_->edges_of(now.state);
    bool eats = false, passes = false;
    for (const Edge& edge : edges) (edge.kind == EdgeKind::nothing ? passes : eats) = true;
    work_ += static_cast<uint32_t>(edges.size());
    if (!passes) {
      if (eats) find_thread(now);
      continue;
    }
    // Loops that eat nothing come back to where they began.
    if (!passed_.add(now)) {
      truncated_ = truncated_ || passed_.full();
      continue;
    }
    if (eats) find_thread(now);
    // The last pushed is followed first, so that what is dropped is what the schema names last.
    for (auto edge = edges.rbegin(); edge != edges.rend(); ++edge) {
      if (edge->kind == EdgeKind::nothing) follow(now.state, now.stack, *edge);
    }
  }
}

Step Matcher::find_step(SetId from, uint8_t byte) {
  begin_step();
  uint8_t first = 0, last = 255;
  // Steps do not add sets before the end, so that the threads stay where they are.
  for (const Thread& thread : sets_[from].threads) {
    const auto edges = automaton_->edges_of(thread.state);
    work_ += static_cast<uint32_t>(edges.size());
    for (const Edge& edge : edges) {
      if (edge.kind != EdgeKind::bytes) continue;
      if (byte < edge.low) {
        last = std::min<uint8_t>(last, edge.low - 1);
        continue;
      }
      if (byte > edge.high) {
        first = std::max<uint8_t>(first, edge.high + 1);
        continue;
      }
      first = std::max(first, edge.low);
      last = std::min(last, edge.high);
      follow(thread.state, thread.stack, edge);
      if (waiting_.empty()) continue;
      const Thread reached = waiting_.back();
      waiting_.pop_back();
      reach(reached.state, reached.stack);
    }
  }
  const SetId to = intern_found();
  return {to, first, last, work_, 0};
}

size_t Matcher::remember(SetId from, uint8_t byte) {
  constexpr size_t kFew = 6;
  const Step found = find_step(from, byte);  // may move the sets
  Set& set = sets_[from];
  const size_t at = set.steps.size();
  set.steps.push_back(found);
  ++all_steps_;
  if (at < kFew) return at;
  const auto note = [&](size_t i) {
    const Step& step = set.steps[i];
    std::fill(set.step_of->begin() + step.first, set.step_of->begin() + step.last + 1, static_cast<int16_t>(i));
  };
  if (set.step_of != nullptr) {
    note(at);
    return at;
  }
  set.step_of = std::make_unique<std::array<int16_t, 256>>();
  set.step_of->fill(-1);
  ++rows_;
  for (size_t i = 0; i <= at; ++i) note(i);
  return at;
}

SetId Matcher::step_token(SetId from, TokenId token) {
  begin_step();
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
  drop_dominated(alike);
  const SetId found = intern(std::move(alike), sets_[set].complete, sets_[set].truncated);
  return sets_[set].representative = found;
}

SetId Matcher::without_bodies(SetId set) {
  std::vector<Thread> left;
  for (const Thread& thread : sets_[set].threads) {
    if (automaton_->states[thread.state].body == Body::none) left.push_back(thread);
  }
  return intern(std::move(left), false);
}

std::string Matcher::key_of(SetId set) const {
  std::vector<int32_t> words{sets_[set].complete ? 1 : 0};
  for (const Thread& thread : sets_[set].threads) {
    words.push_back(thread.state);
    // Twice the state and whether it nests, down to the empty stack.
    for (int32_t at = thread.stack; at != 0; at = frames_[at].below) {
      words.push_back(-2 * frames_[at].back - (frames_[at].nests ? 1 : 0) - 1);
    }
  }
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(int32_t)};
}

SetId Matcher::adopt(const Matcher& other, SetId set) {
  std::unordered_map<int32_t, int32_t> known{{0, 0}};
  std::vector<int32_t> path;
  std::vector<Thread> threads;
  for (const Thread& thread : other.sets_[set].threads) {
    path.clear();
    int32_t at = thread.stack;
    for (; !known.contains(at); at = other.frames_[at].below) path.push_back(at);
    int32_t mine = known[at];
    for (auto frame = path.rbegin(); frame != path.rend(); ++frame) {
      mine = push(other.frames_[*frame].back, mine, other.frames_[*frame].nests);
      known[*frame] = mine;
    }
    threads.push_back({thread.state, mine});
  }
  std::sort(threads.begin(), threads.end());
  return intern(std::move(threads), other.sets_[set].complete, other.sets_[set].truncated);
}

// Of the places in counted chains over the same stack, those whose lengths another one allows as well.
void Matcher::drop_dominated(std::vector<Thread>& threads) const {
  const auto count_of = [&](const Thread& thread) -> const Count& { return automaton_->states[thread.state].count; };
  const auto counting =
      std::partition(threads.begin(), threads.end(), [&](const Thread& thread) { return count_of(thread).chain == 0; });
  if (threads.end() - counting < 2) {
    std::sort(threads.begin(), threads.end());
    return;
  }
  std::sort(counting, threads.end(), [&](const Thread& a, const Thread& b) {
    const Count &x = count_of(a), &y = count_of(b);
    return std::tuple(a.stack, x.chain, x.low, -x.high, a.state) <
           std::tuple(b.stack, y.chain, y.low, -y.high, b.state);
  });
  const Thread* widest = nullptr;
  auto kept = counting;
  for (auto thread = counting; thread != threads.end(); ++thread) {
    const bool alike =
        widest != nullptr && widest->stack == thread->stack && count_of(*widest).chain == count_of(*thread).chain;
    if (alike && count_of(*thread).high <= count_of(*widest).high) continue;
    *kept = *thread;
    widest = &*kept++;
  }
  threads.erase(kept, threads.end());
  std::sort(threads.begin(), threads.end());
}

void Matcher::tidy_found() {
  std::sort(found_.begin(), found_.end());
  found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
  drop_dominated(found_);
  found_edges_ = 0;
  for (const Thread& thread : found_) found_edges_ += automaton_->states[thread.state].edges;
}

SetId Matcher::intern_found() {
  if (found_.empty() && !complete_) return kDead;
  tidy_found();
  return intern(found_, complete_, truncated_);
}

SetId Matcher::intern(std::vector<Thread> threads, bool complete, bool truncated) {
  uint64_t hash = (complete ? 1 : 0) + (truncated ? 2 : 0);
  for (const Thread& thread : threads) hash = mixed(hash, thread_key(thread));
  const auto [first, last] = set_of_.equal_range(hash);
  for (auto known = first; known != last; ++known) {
    const Set& set = sets_[known->second];
    if (set.complete == complete && set.truncated == truncated && set.threads == threads) return known->second;
  }
  const auto made = static_cast<SetId>(sets_.size());
  all_threads_ += threads.size();
  int32_t edges = 0;
  for (const Thread& thread : threads) edges += automaton_->states[thread.state].edges;
  sets_.push_back({std::move(threads), complete, truncated, edges, -1, {}, nullptr});
  set_of_.emplace(hash, made);
  return made;
}

}  // namespace paceline::grammar
