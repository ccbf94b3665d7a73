#include "grammar/automaton.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace paceline::grammar {
namespace {

// What it takes from `edge` on, as far as is known.
int32_t height_over(const Automaton& automaton, StateId from, const Edge& edge) {
  int32_t height = automaton.heights[automaton.target(from, edge.to)];
  if (edge.nests) ++height;
  if (edge.push != kNoState) height = std::max(height, automaton.heights[automaton.target(from, edge.push)]);
  return std::min(height, kUnreachable);
}

struct Predecessors {
  std::vector<int32_t> begin;
  std::vector<StateId> from;
};

Predecessors find_predecessors(const Automaton& automaton) {
  const auto states = static_cast<StateId>(automaton.states.size());
  const auto each = [&](auto&& visit) {
    for (StateId from = 0; from < states; ++from) {
      for (const Edge& edge : automaton.edges_of(from)) {
        visit(automaton.target(from, edge.to), from);
        if (edge.push != kNoState) visit(automaton.target(from, edge.push), from);
      }
    }
  };
  Predecessors found;
  found.begin.assign(states + 1, 0);
  each([&](StateId to, StateId) { ++found.begin[to + 1]; });
  for (StateId i = 0; i < states; ++i) found.begin[i + 1] += found.begin[i];
  found.from.resize(found.begin[states]);
  auto place = found.begin;
  each([&](StateId to, StateId from) { found.from[place[to]++] = from; });
  return found;
}

// A state whose only edge leads on, without eating or pushing, is where it leads to.
bool is_idle(const Automaton& automaton, StateId state) {
  const auto edges = automaton.edges_of(state);
  return edges.size() == 1 && edges[0].kind == EdgeKind::nothing && edges[0].push == kNoState && edges[0].to >= 0;
}

void skip_idle_states(Automaton& automaton) {
  std::vector<StateId> to(automaton.states.size(), kNoState);
  std::vector<StateId> path;
  for (size_t i = 0; i < to.size(); ++i) {
    auto state = static_cast<StateId>(i);
    // A circle of idle states ends where it was entered: each is its own end until the path is known.
    for (path.clear(); to[state] == kNoState && is_idle(automaton, state); state = automaton.edges_of(state)[0].to) {
      to[state] = state;
      path.push_back(state);
    }
    if (to[state] == kNoState) to[state] = state;
    for (const StateId passed : path) to[passed] = to[state];
  }
  for (Edge& edge : automaton.edges) {
    if (edge.to >= 0) edge.to = to[edge.to];
    if (edge.push >= 0) edge.push = to[edge.push];
  }
  automaton.start = to[automaton.start];
}

// The least fixed point, from the accepting state backwards; each state's number only falls, in few steps.
void find_heights(Automaton& automaton) {
  automaton.heights.assign(automaton.states.size(), kUnreachable);
  automaton.heights[kAccept] = 0;
  const Predecessors before = find_predecessors(automaton);
  // By height, so that nearly every state is settled the first time.
  std::vector<std::vector<StateId>> waiting{{kAccept}};
  for (size_t height = 0; height < waiting.size(); ++height) {
    while (!waiting[height].empty()) {
      const StateId to = waiting[height].back();
      waiting[height].pop_back();
      for (int32_t i = before.begin[to]; i < before.begin[to + 1]; ++i) {
        const StateId from = before.from[i];
        // Nothing behind a state of this height is lower: a state with many ways on is looked at once, not for each.
        if (automaton.heights[from] <= static_cast<int32_t>(height)) continue;
        automaton.edges_seen += automaton.states[from].edges;
        int32_t best = automaton.heights[from];
        for (const Edge& edge : automaton.edges_of(from)) best = std::min(best, height_over(automaton, from, edge));
        if (best >= automaton.heights[from]) continue;
        automaton.heights[from] = best;
        if (waiting.size() <= static_cast<size_t>(best)) waiting.resize(best + 1);
        waiting[best].push_back(from);
      }
    }
  }
}

}  // namespace

AutomatonBuilder::AutomatonBuilder() { CHECK(add() == kAccept); }

StateId AutomatonBuilder::add() {
  // Beyond the bounds nothing grows; the last state is handed out again and the automaton is refused in the end.
  if (too_large()) return static_cast<StateId>(states_.size()) - 1;
  states_.emplace_back();
  list_of_.push_back(-1);
  return static_cast<StateId>(states_.size()) - 1;
}

AutomatonBuilder::EdgeListId AutomatonBuilder::add_list(std::vector<Edge> edges) {
  edge_count_ += edges.size();
  lists_.push_back(std::move(edges));
  return static_cast<EdgeListId>(lists_.size()) - 1;
}

StateId AutomatonBuilder::add_shared(EdgeListId list, StateId next) {
  const StateId made = add();
  list_of_[made] = list;
  states_[made].next = next;
  return made;
}

void AutomatonBuilder::add_edge(StateId from, Edge edge) {
  if (too_large()) return;
  CHECK(from != kAccept);
  if (list_of_[from] < 0) list_of_[from] = add_list({});
  lists_[list_of_[from]].push_back(edge);
  ++edge_count_;
}

void AutomatonBuilder::go(StateId from, StateId to) { add_edge(from, {.to = to}); }

void AutomatonBuilder::bytes(StateId from, int low, int high, StateId to, StateId push) {
  if (low > high) return;
  add_edge(from, {.kind = EdgeKind::bytes,
                  .low = static_cast<uint8_t>(low),
                  .high = static_cast<uint8_t>(high),
                  .to = to,
                  .push = push});
}

void AutomatonBuilder::token(StateId from, TokenId id, StateId to) {
  add_edge(from, {.kind = EdgeKind::token, .token = id, .to = to});
}

void AutomatonBuilder::call(StateId from, StateId part, StateId back, bool nests) {
  // A part that ends with the part in it needs no way back, unless the level counts.
  const bool last = back == kAccept && !nests;
  add_edge(from, {.nests = nests, .to = part, .push = last ? kNoState : back});
}

StateId AutomatonBuilder::literal(StateId from, std::string_view text) {
  for (const char c : text) {
    const StateId to = add();
    bytes(from, static_cast<uint8_t>(c), static_cast<uint8_t>(c), to);
    from = to;
  }
  return from;
}

void AutomatonBuilder::literal(StateId from, std::string_view text, StateId to) {
  CHECK(!text.empty());
  const auto last = static_cast<uint8_t>(text.back());
  bytes(literal(from, text.substr(0, text.size() - 1)), last, last, to);
}

void AutomatonBuilder::one_of(StateId from, std::vector<std::string_view> texts, StateId to) {
  std::sort(texts.begin(), texts.end());
  std::vector<StateId> path{from};  // the states along the last text
  std::string_view last;
  for (const std::string_view text : texts) {
    const auto differs =
        static_cast<size_t>(std::mismatch(text.begin(), text.end(), last.begin(), last.end()).first - text.begin());
    path.resize(differs + 1);
    for (size_t i = differs; i < text.size(); ++i) path.push_back(literal(path.back(), text.substr(i, 1)));
    go(path.back(), to);
    last = text;
  }
}

Result<Automaton> AutomatonBuilder::finish(StateId start) && {
  if (too_large()) return Error{fmt::format("the schema is too large: more than {} states", kMaxStates)};
  Automaton made;
  std::vector<int32_t> begin;
  for (const auto& list : lists_) {
    begin.push_back(static_cast<int32_t>(made.edges.size()));
    made.edges.insert(made.edges.end(), list.begin(), list.end());
  }
  made.states = std::move(states_);
  for (size_t i = 0; i < made.states.size(); ++i) {
    State& state = made.states[i];
    if (state.alias == kNoState) state.alias = static_cast<StateId>(i);
    if (list_of_[i] < 0) continue;
    state.first_edge = begin[list_of_[i]];
    state.edges = static_cast<int32_t>(lists_[list_of_[i]].size());
  }
  made.start = start;
  made.wide = std::move(wide_);
  skip_idle_states(made);
  find_heights(made);
  for (const auto& [state, what] : needed_) {
    if (made.heights[state] >= kUnreachable)
      return Error{fmt::format("{}: the schema allows no finite document", what)};
  }
  if (made.heights[made.start] >= kUnreachable) return Error{"the schema allows no finite document"};
  made.max_nesting = made.heights[made.start] + kSpareNesting;
  return made;
}

}  // namespace paceline::grammar
