#include "text/grammar/token_walk.h"

#include <array>

namespace paceline::grammar {
namespace {

void set_bit(std::span<uint64_t> bitmap, TokenId id) { bitmap[id / 64] |= uint64_t{1} << (id % 64); }
void clear_bit(std::span<uint64_t> bitmap, TokenId id) { bitmap[id / 64] &= ~(uint64_t{1} << (id % 64)); }

// Tree and automaton together: a branch is left as soon as the automaton has no step for it.
void walk(const TokenTree& tree, TokenTree::Range range, Matcher& matcher, SetId position, std::span<uint64_t> bitmap) {
  std::array<SetId, kMaxTokenBytes + 1> behind{};
  behind[0] = position;
  for (int32_t node = range.begin; node < range.end;) {
    const int depth = tree.depth[node];
    const SetId here = matcher.step_remembered(behind[depth - 1], tree.byte[node]);
    if (here == kDead) {
      node = tree.skip[node];
      continue;
    }
    behind[depth] = here;
    for (const TokenId id : tree.tokens_at(node)) set_bit(bitmap, id);
    ++node;
  }
}

// Within a string: the plain tokens as they were found beforehand, and a walk over the few others.
void add_body(const State& state, const TokenIndex& index, Matcher& matcher, SetId position,
              std::span<uint64_t> bitmap) {
  const auto plain = index.plain(state.body, state.body_room);
  for (size_t i = 0; i < plain.size(); ++i) bitmap[i] |= plain[i];
  const TokenTree& rest = index.rest(state.body);
  walk(rest, {0, rest.nodes()}, matcher, position, bitmap);
  if (state.body_except < 0) return;
  const TokenTree::Range branch = index.all().branch(static_cast<uint8_t>(state.body_except));
  for (int32_t node = branch.begin; node < branch.end; ++node) {
    for (const TokenId id : index.all().tokens_at(node)) clear_bit(bitmap, id);
  }
  walk(index.all(), branch, matcher, position, bitmap);
}

}  // namespace

void add_allowed(const Automaton& automaton, const TokenIndex& index, Matcher& matcher, SetId position,
                 std::span<uint64_t> bitmap) {
  // Copied: the walk adds sets.
  const std::vector<Thread> threads = matcher.threads(position);
  if (threads.empty()) return;
  const State& first = automaton.states[threads[0].state];
  if (threads.size() == 1 && first.body != Body::none) {
    add_body(first, index, matcher, position, bitmap);
  } else {
    walk(index.all(), {0, index.all().nodes()}, matcher, position, bitmap);
  }
  const auto ids = static_cast<TokenId>(index.words() * 64);
  for (const Thread& thread : threads) {
    for (const Edge& edge : automaton.edges_of(thread.state)) {
      if (edge.kind == EdgeKind::token && edge.token >= 0 && edge.token < ids &&
          matcher.step_token(position, edge.token) != kDead) {
        set_bit(bitmap, edge.token);
      }
    }
  }
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
