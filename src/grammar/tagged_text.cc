#include "grammar/tagged_text.h"

#include <utility>

namespace paceline::grammar {
namespace {

// Chains that count are told apart by number; those below are Parts'.
constexpr int kFirstChain = 5;

Edge angle_edge(StateId to) { return {.kind = EdgeKind::bytes, .low = '<', .high = '<', .to = to}; }

}  // namespace

// A state for each letter of the closing tag that has been read; its last letter is never eaten.
StateId TaggedText::any() {
  if (any_ != kNoState) return any_;
  std::vector<StateId> states;
  for (size_t read = 0; read < kParameterEnd.size(); ++read) {
    const int letter = read == 0 ? -1 : kParameterEnd[read];
    std::vector<Edge> list;
    parts_.add_text_characters(list, letter);
    const StateId made = builder_.add_shared(builder_.add_list(std::move(list)), states.empty() ? kNoState : states[0]);
    states.push_back(made);
    State& state = builder_.state(made);
    state.next = states[0];
    state.body = Body::text;
    state.body_room = kMaxTokenChars;
    state.body_except = static_cast<int16_t>(letter);
  }
  for (size_t read = 0; read < states.size(); ++read) {
    builder_.bytes(states[read], '<', '<', states[1]);
    if (read > 0 && read + 1 < states.size()) {
      builder_.bytes(states[read], kParameterEnd[read], kParameterEnd[read], states[read + 1]);
    }
    builder_.go(states[read], kAccept);
  }
  return any_ = states[0];
}

StateId TaggedText::of(const LengthBounds& characters) {
  // As far as nothing is known, and then back.
  int64_t at = 0;
  StateId next = kNoState;
  for (; at <= last_place(characters); ++at) {
    const auto known = counted_.find(bounds_left(characters, at));
    if (known == counted_.end()) continue;
    next = known->second;
    break;
  }
  while (--at >= 0 && !builder_.too_large()) {
    const LengthBounds left = bounds_left(characters, at);
    next = counted_[left] = counted(left, next);
  }
  return next == kNoState ? builder_.add() : next;
}

StateId TaggedText::counted(const LengthBounds& characters, StateId next) {
  const ChainPlace place = place_in(characters, 0);
  StateId first = kNoState;
  for (int after = 0; after < 2; ++after) {
    const StateId made = builder_.add_shared(list_of(after == 1, place.below_high > 0, place.below_low == 0), next);
    if (after == 0) first = made;
    State& state = builder_.state(made);
    if (next == kNoState) state.next = first;
    state.alias = alike_.emplace(std::pair(place, after), made).first->second;
    // What ends the text is a plain character, so that near the bound a token may go on behind it.
    state.body = place.below_high >= kMaxTokenChars ? Body::text : Body::none;
    state.body_room = kMaxTokenChars;
    state.body_except = static_cast<int16_t>(after == 1 ? '/' : -1);
    state.count = count_of(characters, kFirstChain + after);
  }
  return first;
}

AutomatonBuilder::EdgeListId TaggedText::list_of(bool after_angle, bool takes, bool ends) {
  auto& known = lists_[after_angle][takes][ends];
  if (known >= 0) return known;
  std::vector<Edge> list;
  if (takes) {
    parts_.add_text_characters(list, after_angle ? '/' : -1);
    list.push_back(angle_edge(kNextPlus1));
  }
  if (ends) list.push_back({.to = kAccept});
  return known = builder_.add_list(std::move(list));
}

}  // namespace paceline::grammar
