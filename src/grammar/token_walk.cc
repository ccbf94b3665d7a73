#include "grammar/token_walk.h"

#include <algorithm>
#include <array>

namespace paceline::grammar {
namespace {

void set_bit(std::span<uint64_t> bitmap, TokenId id) { bitmap[id / 64] |= uint64_t{1} << (id % 64); }
void clear_bit(std::span<uint64_t> bitmap, TokenId id) { bitmap[id / 64] &= ~(uint64_t{1} << (id % 64)); }

class MaskWalk {
 public:
  MaskWalk(const Automaton& automaton, const TokenIndex& index, Matcher& matcher, std::span<uint64_t> bitmap,
           MaskWork& work)
      : automaton_(automaton), index_(index), matcher_(matcher), bitmap_(bitmap), work_(work) {}

  void add(SetId position);

 private:
  [[nodiscard]] const State* common_body(SetId position) const;
  void walk(const TokenTree& tree, TokenTree::Range range, SetId position);
  void walk_all(SetId position) { walk(index_.all(), {0, index_.all().nodes()}, position); }
  void add_body(const State& state, SetId position);
  bool add_others(SetId position);
  void add_tokens(SetId position);

  const Automaton& automaton_;
  const TokenIndex& index_;
  Matcher& matcher_;
  std::span<uint64_t> bitmap_;
  MaskWork& work_;
  WalkCount count_;
};

// Tree and automaton together: a branch is left as soon as the automaton has no step for it.
void MaskWalk::walk(const TokenTree& tree, TokenTree::Range range, SetId position) {
  // First bytes, whatever the rest would take.
  for (int32_t node = range.begin; node < range.end; node = tree.skip[node]) {
    ++count_.units;
    if (matcher_.step_counted(position, tree.byte[node], count_) == kDead) continue;
    for (const TokenId id : tree.tokens_at(node)) set_bit(bitmap_, id);
  }
  std::array<SetId, kMaxTokenBytes + 1> behind{};
  behind[0] = position;
  for (int32_t node = range.begin; node < range.end;) {
    const int depth = tree.depth[node];
    if (++count_.units > work_.most) {
      work_.cut = true;
      return;
    }
    const SetId here = matcher_.step_counted(behind[depth - 1], tree.byte[node], count_);
    if (here == kDead) {
      node = tree.skip[node];
      continue;
    }
    behind[depth] = here;
    for (const TokenId id : tree.tokens_at(node)) set_bit(bitmap_, id);
    ++node;
  }
}

// Within a string: the plain tokens as they were found beforehand, and a walk over the few others.
void MaskWalk::add_body(const State& state, SetId position) {
  const auto plain = index_.plain(state.body, state.body_room);
  for (size_t i = 0; i < plain.size(); ++i) bitmap_[i] |= plain[i];
  const TokenTree& rest = index_.rest(state.body);
  walk(rest, {0, rest.nodes()}, position);
  if (state.body_except < 0) return;
  const TokenTree::Range branch = index_.all().branch(static_cast<uint8_t>(state.body_except));
  for (int32_t node = branch.begin; node < branch.end; ++node) {
    for (const TokenId id : index_.all().tokens_at(node)) clear_bit(bitmap_, id);
  }
  walk(index_.all(), branch, position);
}

void MaskWalk::add_tokens(SetId position) {
  // Copied: steps add sets.
  const std::vector<Thread> threads = matcher_.threads(position);
  const auto ids = static_cast<TokenId>(index_.words() * 64);
  std::vector<TokenId> asked;
  for (const Thread& thread : threads) {
    for (const Edge& edge : automaton_.edges_of(thread.state)) {
      if (edge.kind == EdgeKind::token && edge.token >= 0 && edge.token < ids) asked.push_back(edge.token);
    }
  }
  std::sort(asked.begin(), asked.end());
  asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
  for (const TokenId token : asked) {
    if (matcher_.step_token(position, token) != kDead) set_bit(bitmap_, token);
  }
}

// The body that the position is within, with the most room of those that its threads have; null where they are not of
// one kind, or too many for certainty that none is dropped behind a plain character.
const State* MaskWalk::common_body(SetId position) const {
  const std::vector<Thread>& threads = matcher_.threads(position);
  if (threads.size() > 1 && matcher_.edges(position) > kMaxSetEdges / 4) return nullptr;
  const State* found = nullptr;
  for (const Thread& thread : threads) {
    const State& state = automaton_.states[thread.state];
    if (state.body == Body::none) continue;
    // One that takes not every plain character has to stand alone.
    if (threads.size() > 1 && state.body_except >= 0) return nullptr;
    if (found != nullptr && state.body != found->body) return nullptr;
    if (found == nullptr || state.body_room > found->body_room) found = &state;
  }
  return found;
}

// Plain tokens that threads without a body take. False: it cannot be told without those that have one.
bool MaskWalk::add_others(SetId position) {
  const SetId others = matcher_.without_bodies(position);
  if (others == kDead) return true;
  count_.widest = 0;
  count_.truncated = false;
  walk_all(others);
  return !count_.truncated && count_.widest <= kMaxSetEdges / 4;
}

void MaskWalk::add(SetId position) {
  if (matcher_.threads(position).empty()) return;
  matcher_.begin_count();
  const State* body = common_body(position);
  if (body == nullptr) {
    walk_all(position);
  } else {
    // What the bodies take of plain characters leaves each of them where it is, only further on; what the others take
    // of them is found with the others alone. What is no plain character is tried with all.
    add_body(*body, position);
    if (!add_others(position)) {
      std::fill(bitmap_.begin(), bitmap_.end(), 0);
      walk_all(position);
    }
  }
  add_tokens(position);
  work_.units = count_.units;
}

}  // namespace

void add_allowed(const Automaton& automaton, const TokenIndex& index, Matcher& matcher, SetId position,
                 std::span<uint64_t> bitmap, MaskWork& work) {
  MaskWalk(automaton, index, matcher, bitmap, work).add(position);
}

SetId position_behind(const TokenIndex& index, Matcher& matcher, SetId position, TokenId token) {
  const std::string_view bytes = index.bytes_of(token);
  if (bytes.empty()) return matcher.step_token(position, token);
  for (const char byte : bytes) {
    position = matcher.step(position, static_cast<uint8_t>(byte));
    if (position == kDead) break;
  }
  return position;
}

}  // namespace paceline::grammar
