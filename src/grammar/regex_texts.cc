#include "grammar/regex_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/utf8.h"

namespace paceline::grammar {
namespace {

constexpr size_t kMostStates = 4096, kMostPairs = 1 << 18;

// An automaton of characters, not of bytes: from state 0 to `accept`.
class TextAutomaton {
 public:
  static Result<TextAutomaton> of(const RegexNode& pattern) {
    TextAutomaton made;
    made.accept_ = made.add(pattern, made.add());
    if (made.states_.size() > kMostStates) return Error{fmt::format("a pattern has more than {} places", kMostStates)};
    return made;
  }

  struct Edge {
    CodeRange range;
    int32_t to;
  };
  [[nodiscard]] const std::vector<Edge>& edges(int32_t state) const {
    return states_[static_cast<size_t>(state)].edges;
  }
  [[nodiscard]] const std::vector<int32_t>& free(int32_t state) const {
    return states_[static_cast<size_t>(state)].free;
  }
  [[nodiscard]] int32_t accept() const { return accept_; }

  // With all that can be reached from them without a character.
  void close(std::set<int32_t>& states) const {
    std::vector<int32_t> open(states.begin(), states.end());
    while (!open.empty()) {
      const int32_t state = open.back();
      open.pop_back();
      for (const int32_t next : free(state))
        if (states.insert(next).second) open.push_back(next);
    }
  }

 private:
  struct State {
    std::vector<Edge> edges = {};
    std::vector<int32_t> free = {};
  };

  int32_t add() {
    states_.emplace_back();
    return static_cast<int32_t>(states_.size()) - 1;
  }
  void go(int32_t from, int32_t to) { states_[static_cast<size_t>(from)].free.push_back(to); }

  // Where it ends. One that is too large ends early: it is not used.
  int32_t add(const RegexNode& node, int32_t from) {
    if (states_.size() > kMostStates) return from;
    switch (node.kind) {
      case RegexNode::Kind::characters: {
        const int32_t to = add();
        for (const CodeRange& range : node.characters) states_[static_cast<size_t>(from)].edges.push_back({range, to});
        return to;
      }
      case RegexNode::Kind::sequence:
        for (const RegexNode& part : node.parts) from = add(part, from);
        return from;
      case RegexNode::Kind::alternatives: {
        const int32_t to = add();
        for (const RegexNode& part : node.parts) {
          const int32_t begin = add();
          go(from, begin);
          go(add(part, begin), to);
        }
        return to;
      }
      case RegexNode::Kind::repeat: break;
    }
    for (int32_t i = 0; i < node.least && states_.size() <= kMostStates; ++i) from = add(node.parts[0], from);
    const int32_t to = add();
    if (node.most < 0) {
      go(from, to);
      go(add(node.parts[0], to), to);
      return to;
    }
    for (int32_t i = node.least; i < node.most && states_.size() <= kMostStates; ++i) {
      go(from, to);
      from = add(node.parts[0], from);
    }
    go(from, to);
    return to;
  }

  std::vector<State> states_;
  int32_t accept_ = 0;
};

bool holds(const CodeRange& range, int32_t code) { return range.low <= code && code <= range.high; }

}  // namespace

Result<bool> matches(const RegexNode& pattern, std::string_view text) {
  TRY_ASSIGN(const TextAutomaton automaton, TextAutomaton::of(pattern));
  std::set<int32_t> now = {0};
  automaton.close(now);
  for (size_t at = 0; at < text.size();) {
    const TextChar character = char_at(text, at);
    at += character.bytes;
    const auto code = static_cast<int32_t>(character.code);
    std::set<int32_t> next;
    for (const int32_t state : now)
      for (const auto& edge : automaton.edges(state))
        if (holds(edge.range, code)) next.insert(edge.to);
    automaton.close(next);
    now = std::move(next);
  }
  return now.contains(automaton.accept());
}

Result<bool> share_a_text(const RegexNode& a, const RegexNode& b) {
  TRY_ASSIGN(const TextAutomaton first, TextAutomaton::of(a));
  TRY_ASSIGN(const TextAutomaton second, TextAutomaton::of(b));
  using Pair = std::pair<int32_t, int32_t>;
  std::set<Pair> known = {{0, 0}};
  std::vector<Pair> open = {{0, 0}};
  const auto reach = [&](int32_t one, int32_t other) {
    if (known.emplace(one, other).second) open.emplace_back(one, other);
  };
  while (!open.empty()) {
    const auto [one, other] = open.back();
    open.pop_back();
    if (one == first.accept() && other == second.accept()) return true;
    if (known.size() > kMostPairs) return Error{"two patterns are too large to be compared"};
    for (const int32_t next : first.free(one)) reach(next, other);
    for (const int32_t next : second.free(other)) reach(one, next);
    for (const auto& edge : first.edges(one))
      for (const auto& beside : second.edges(other))
        if (edge.range.low <= beside.range.high && beside.range.low <= edge.range.high) reach(edge.to, beside.to);
  }
  return false;
}

RegexNode within(const RegexNode& pattern, const std::vector<CodeRange>& allowed) {
  RegexNode made = pattern;
  made.characters.clear();
  made.parts.clear();
  for (const CodeRange& range : pattern.characters)
    for (const CodeRange& fits : allowed) {
      const CodeRange both{std::max(range.low, fits.low), std::min(range.high, fits.high)};
      if (both.low <= both.high) made.characters.push_back(both);
    }
  for (const RegexNode& part : pattern.parts) made.parts.push_back(within(part, allowed));
  return made;
}

}  // namespace paceline::grammar
