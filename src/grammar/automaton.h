// A grammar as an automaton over bytes with a stack: states with edges that eat a byte of a range or one special token,
// or nothing, and may push a state to go on from when the part that they enter accepts. Immutable once built.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"

namespace paceline::grammar {

using StateId = int32_t;

// The state that ends the part it is in: what was pushed last goes on, or the document is complete.
inline constexpr StateId kAccept = 0;
inline constexpr StateId kNoState = -1;
// Targets of shared edges: the state's own `next`, or one or two behind it.
inline constexpr StateId kNext = -2, kNextPlus1 = -3, kNextPlus2 = -4;

enum class EdgeKind : uint8_t { nothing, bytes, token };

struct Edge {
  EdgeKind kind = EdgeKind::nothing;
  uint8_t low = 0, high = 0;  // bytes: the range, inclusive
  bool nests = false;         // pushing counts as a level of nesting
  TokenId token = -1;
  StateId to = kNoState;
  StateId push = kNoState;  // kNoState: nothing is pushed
};

// Bodies of strings, where nearly every token may follow. Tokens that are whole characters without an exception of
// their kind are allowed as one precomputed set; only the others are walked.
enum class Body : uint8_t {
  none,
  json,  // exceptions: control characters, quote, backslash
  text,  // exception: '<'
};
inline constexpr int kBodies = 2;

// No token of more characters is ever allowed; so no token sees farther than this along a counted chain.
inline constexpr int32_t kMaxTokenChars = 64;

// A place in the body of a string that counts its characters: at least `low` more and at most `high`. Of two in the
// same chain, whoever allows all lengths that the other allows, allows all its texts.
struct Count {
  int8_t chain = 0;  // 0: it counts nothing
  int32_t low = 0, high = 0;
};
inline constexpr int32_t kUncounted = 1 << 28;  // a count without a bound

struct State {
  int32_t first_edge = 0, edges = 0;
  StateId next = kNoState;
  // A state that no token can tell from this one: where counts are far from their bounds.
  StateId alias = kNoState;
  int32_t body_room = 0;  // how many characters the body may still take, at most kMaxTokenChars
  Body body = Body::none;
  int16_t body_except = -1;  // a byte that the next character must not begin with, although it is no exception
  Count count;
};

inline constexpr int32_t kUnreachable = 1 << 28;

struct Automaton {
  std::vector<State> states;
  std::vector<Edge> edges;
  // Per state: levels of nesting that it takes at least to reach the end of its part; kUnreachable: there is none.
  std::vector<int32_t> heights;
  StateId start = kNoState;
  int32_t max_nesting = 0;
  int64_t edges_seen = 0;  // to find out the heights
  // Where many alternatives begin, and what the schema calls the place.
  std::vector<std::pair<StateId, std::string>> wide;

  [[nodiscard]] std::span<const Edge> edges_of(StateId state) const {
    return {edges.data() + states[state].first_edge, static_cast<size_t>(states[state].edges)};
  }
  [[nodiscard]] StateId target(StateId state, StateId to) const {
    return to <= kNext ? states[state].next + (kNext - to) : to;
  }
};

// Bounds on what a schema may ask for.
inline constexpr size_t kMaxStates = 300'000;
inline constexpr size_t kMaxEdges = 1'000'000;
// Bytes of it that are read to compile it, those within others each time: some tenths of a second.
inline constexpr size_t kMaxSchemaWork = size_t{64} << 20;
// Levels beyond what the grammar needs at least.
inline constexpr int32_t kSpareNesting = 64;

class AutomatonBuilder {
 public:
  using EdgeListId = int32_t;

  AutomatonBuilder();

  StateId add();
  // Edges that many states share, with targets kNext...
  EdgeListId add_list(std::vector<Edge> edges);
  // A state with a shared list. Its other fields may be set by state().
  StateId add_shared(EdgeListId list, StateId next);
  [[nodiscard]] State& state(StateId id) { return states_[id]; }

  void go(StateId from, StateId to);
  void bytes(StateId from, int low, int high, StateId to, StateId push = kNoState);
  void token(StateId from, TokenId id, StateId to);
  // Enters `part`, then goes on at `back`. `nests`: one level deeper.
  void call(StateId from, StateId part, StateId back, bool nests);
  // Eats `text` and returns the state behind it.
  StateId literal(StateId from, std::string_view text);
  void literal(StateId from, std::string_view text, StateId to);
  // Many alternatives begin here.
  void note_wide(StateId from, std::string place) { wide_.emplace_back(from, std::move(place)); }
  // An end must be within reach from here, or finish() says what has none.
  void note_needed(StateId from, std::string what) { needed_.emplace_back(from, std::move(what)); }
  // One of `texts`, letter by letter without a guess.
  void one_of(StateId from, std::vector<std::string_view> texts, StateId to);

  // So many bytes of a schema were read. False: they are more than may be.
  bool spend(size_t work) { return (work_ += work) <= kMaxSchemaWork; }
  [[nodiscard]] size_t states() const { return states_.size(); }
  // True: the bounds are passed, and what was added since is of no use. finish() will say so.
  [[nodiscard]] bool too_large() const { return states_.size() > kMaxStates || edge_count_ > kMaxEdges; }

  Result<Automaton> finish(StateId start) &&;

 private:
  void add_edge(StateId from, Edge edge);

  std::vector<State> states_;
  std::vector<std::vector<Edge>> lists_;
  std::vector<EdgeListId> list_of_;
  std::vector<std::pair<StateId, std::string>> wide_, needed_;
  size_t edge_count_ = 0, work_ = 0;
};

}  // namespace paceline::grammar
