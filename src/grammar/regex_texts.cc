#include "grammar/regex_texts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/utf8.h"

namespace paceline::grammar {
namespace {

bool overlap(const CodeRange& a, const CodeRange& b) { return a.low <= b.high && b.low <= a.high; }

Error too_much() { return Error{"its patterns take too much work"}; }

// States that were reached, each once, in the order in which they are looked at.
class Reached {
 public:
  explicit Reached(size_t states) : known_(states, false) {}
  void add(size_t state) {
    if (known_[state]) return;
    known_[state] = true;
    open_.push_back(state);
  }
  [[nodiscard]] const std::vector<size_t>& all() const { return open_; }
  [[nodiscard]] bool has(size_t state) const { return known_[state]; }
  void clear() {
    for (const size_t state : open_) known_[state] = false;
    open_.clear();
  }

 private:
  std::vector<bool> known_;
  std::vector<size_t> open_;
};

}  // namespace

Result<RegexTexts> RegexTexts::of(const RegexNode& pattern, int64_t& work) {
  RegexTexts made;
  const int32_t first = made.add();
  made.accept_ = made.add(pattern, first, work);
  if (work < 0) return too_much();
  return made;
}

int32_t RegexTexts::add() {
  states_.emplace_back();
  return static_cast<int32_t>(states_.size()) - 1;
}

// Where it ends. What is too large ends early, and is not used.
int32_t RegexTexts::add(const RegexNode& node, int32_t from, int64_t& work) {
  if (--work < 0) return from;
  switch (node.kind) {
    case RegexNode::Kind::characters: {
      const int32_t to = add();
      for (const CodeRange& range : node.characters) states_[static_cast<size_t>(from)].edges.push_back({range, to});
      return to;
    }
    case RegexNode::Kind::sequence:
      for (const RegexNode& part : node.parts) from = add(part, from, work);
      return from;
    case RegexNode::Kind::alternatives: {
      const int32_t to = add();
      for (const RegexNode& part : node.parts) {
        const int32_t begin = add();
        go(from, begin);
        go(add(part, begin, work), to);
      }
      return to;
    }
    case RegexNode::Kind::repeat: break;
  }
  return add_repeat(node, from, work);
}

int32_t RegexTexts::add_repeat(const RegexNode& node, int32_t from, int64_t& work) {
  const RegexNode& part = node.parts.front();
  for (int32_t i = 0; i < node.least && work >= 0; ++i) from = add(part, from, work);
  const int32_t to = add();
  if (node.most < 0) {
    go(from, to);
    go(add(part, to, work), to);
    return to;
  }
  for (int32_t i = node.least; i < node.most && work >= 0; ++i) {
    go(from, to);
    from = add(part, from, work);
  }
  go(from, to);
  return to;
}

Result<bool> RegexTexts::have(std::string_view text, int64_t& work) const {
  Reached now(states_.size()), next(states_.size());
  now.add(0);
  for (size_t pos = 0;;) {
    // Those that are reached without a character join on the way.
    for (size_t i = 0; i < now.all().size(); ++i)
      for (const int32_t free : at(static_cast<int32_t>(now.all()[i])).free) now.add(static_cast<size_t>(free));
    work -= static_cast<int64_t>(now.all().size()) + 1;
    if (work < 0) return too_much();
    if (pos == text.size()) return now.has(static_cast<size_t>(accept_));
    const TextChar character = char_at(text, pos);
    pos += character.bytes;
    const auto code = static_cast<int32_t>(character.code);
    for (const size_t state : now.all())
      for (const Edge& edge : at(static_cast<int32_t>(state)).edges)
        if (overlap(edge.range, {code, code})) next.add(static_cast<size_t>(edge.to));
    now.clear();
    std::swap(now, next);
  }
}

// Both at once, from their beginnings: a text of both leads to both ends.
Result<bool> RegexTexts::meet(const RegexTexts& others, int64_t& work) const {
  const size_t width = others.states_.size();
  work -= static_cast<int64_t>(states_.size() * width / 64);
  if (work < 0) return too_much();
  Reached pairs(states_.size() * width);
  const auto reach = [&](int32_t one, int32_t other) {
    pairs.add(static_cast<size_t>(one) * width + static_cast<size_t>(other));
  };
  reach(0, 0);
  for (size_t i = 0; i < pairs.all().size(); ++i) {
    const auto one = static_cast<int32_t>(pairs.all()[i] / width), other = static_cast<int32_t>(pairs.all()[i] % width);
    if (one == accept_ && other == others.accept_) return true;
    work -= 1 + static_cast<int64_t>(at(one).edges.size() * others.at(other).edges.size());
    if (work < 0) return too_much();
    for (const int32_t next : at(one).free) reach(next, other);
    for (const int32_t next : others.at(other).free) reach(one, next);
    for (const Edge& edge : at(one).edges)
      for (const Edge& beside : others.at(other).edges)
        if (overlap(edge.range, beside.range)) reach(edge.to, beside.to);
  }
  return false;
}

// Pairs of states, as far as they are reached.
Result<RegexTexts> RegexTexts::shared_with(const RegexTexts& others, int64_t& work) const {
  RegexTexts made;
  std::map<std::pair<int32_t, int32_t>, int32_t> known;
  std::vector<std::pair<int32_t, int32_t>> open;
  const auto reach = [&](int32_t one, int32_t other) {
    const auto [at, is_new] = known.emplace(std::pair(one, other), static_cast<int32_t>(open.size()));
    if (is_new) {
      made.add();
      open.emplace_back(one, other);
    }
    return at->second;
  };
  reach(0, 0);
  made.accept_ = -1;
  for (size_t i = 0; i < open.size(); ++i) {
    const auto [one, other] = open[i];
    const auto from = static_cast<int32_t>(i);
    if (one == accept_ && other == others.accept_) made.accept_ = from;
    work -= 1 + static_cast<int64_t>(at(one).edges.size() * others.at(other).edges.size());
    if (work < 0) return too_much();
    // One after the other: the same pairs are reached as by any other order.
    for (const int32_t next : at(one).free) made.go(from, reach(next, other));
    for (const int32_t next : others.at(other).free) made.go(from, reach(one, next));
    for (const Edge& edge : at(one).edges) {
      for (const Edge& beside : others.at(other).edges) {
        if (!overlap(edge.range, beside.range)) continue;
        const CodeRange both{std::max(edge.range.low, beside.range.low), std::min(edge.range.high, beside.range.high)};
        const int32_t to = reach(edge.to, beside.to);
        made.states_[i].edges.push_back({both, to});
      }
    }
  }
  return made.accept_ < 0 ? RegexTexts() : made.without_dead_ends();
}

// There is a way from the first to the last.
RegexTexts RegexTexts::without_dead_ends() const {
  std::vector<std::vector<size_t>> before(states_.size());
  for (size_t i = 0; i < states_.size(); ++i) {
    for (const int32_t to : states_[i].free) before[static_cast<size_t>(to)].push_back(i);
    for (const Edge& edge : states_[i].edges) before[static_cast<size_t>(edge.to)].push_back(i);
  }
  Reached alive(states_.size());
  alive.add(static_cast<size_t>(accept_));
  for (size_t i = 0; i < alive.all().size(); ++i)
    for (const size_t state : before[alive.all()[i]]) alive.add(state);
  RegexTexts made;
  std::vector<int32_t> place(states_.size(), -1);
  for (size_t i = 0; i < states_.size(); ++i)
    if (alive.has(i)) place[i] = made.add();
  made.accept_ = place[static_cast<size_t>(accept_)];
  for (size_t i = 0; i < states_.size(); ++i) {
    if (place[i] < 0) continue;
    State& kept = made.states_[static_cast<size_t>(place[i])];
    for (const int32_t to : states_[i].free)
      if (const int32_t next = place[static_cast<size_t>(to)]; next >= 0) kept.free.push_back(next);
    for (const Edge& edge : states_[i].edges)
      if (const int32_t next = place[static_cast<size_t>(edge.to)]; next >= 0) kept.edges.push_back({edge.range, next});
  }
  return made;
}

bool may_be_empty(const RegexNode& pattern) {
  switch (pattern.kind) {
    case RegexNode::Kind::characters: return false;
    case RegexNode::Kind::sequence: return std::ranges::all_of(pattern.parts, may_be_empty);
    case RegexNode::Kind::alternatives: return std::ranges::any_of(pattern.parts, may_be_empty);
    case RegexNode::Kind::repeat: break;
  }
  return pattern.least == 0 || may_be_empty(pattern.parts.front());
}

RegexNode within(const RegexNode& pattern, const std::vector<CodeRange>& allowed) {
  RegexNode made = pattern;
  made.characters.clear();
  made.parts.clear();
  for (const CodeRange& range : pattern.characters)
    for (const CodeRange& fits : allowed)
      if (overlap(range, fits))
        made.characters.push_back({std::max(range.low, fits.low), std::min(range.high, fits.high)});
  for (const RegexNode& part : pattern.parts) made.parts.push_back(within(part, allowed));
  return made;
}

}  // namespace paceline::grammar
