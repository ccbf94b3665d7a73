// The parts that JSON and Gemma's tool calls are made of, built once per automaton and called by the rest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "grammar/automaton.h"

namespace paceline::grammar {

// What a document is written in. `json`: JSON. `call`: arguments as Gemma writes them, {key:<|"|>text<|"|>,n:42}: keys
// bare, strings raw between tokens of their own, no white space.
struct Dialect {
  bool call = false;
  TokenId quote = -1;  // call: the token around strings
};

struct LengthBounds {
  int64_t low = 0;
  std::optional<int64_t> high;
  auto operator<=>(const LengthBounds&) const = default;
};

// What a token can tell of a place in a counted chain: how far the bounds are, up to a token's length.
struct ChainPlace {
  int64_t below_low, below_high;
  auto operator<=>(const ChainPlace&) const = default;
};

inline ChainPlace place_in(const LengthBounds& bounds, int64_t at) {
  constexpr int64_t kFar = kMaxTokenChars + 1;
  return {std::clamp<int64_t>(bounds.low - at, 0, kFar), bounds.high ? std::min(*bounds.high - at, kFar) : kFar};
}

// The last place of a chain: the high bound, or without one the place that leads to itself.
inline int64_t last_place(const LengthBounds& bounds) { return bounds.high ? *bounds.high : bounds.low; }

// What is left of the bounds at a place.
inline LengthBounds bounds_left(const LengthBounds& bounds, int64_t at) {
  return {std::max<int64_t>(bounds.low - at, 0), bounds.high ? std::optional(*bounds.high - at) : std::nullopt};
}

inline Count count_of(const LengthBounds& characters, int chain) {
  return {static_cast<int8_t>(chain), static_cast<int32_t>(characters.low),
          characters.high ? static_cast<int32_t>(*characters.high) : kUncounted};
}

// A bound of a number in decimal: -12.5 is {true, "12", "5"}.
struct Decimal {
  bool negative = false;
  std::string integer = "0", fraction;
};

// Numbers that so many go into, of the last of so many digits behind the point: 0.25 is {25, 2}.
struct Multiple {
  int64_t count = 1;
  int digits = 0;
};

struct NumberBounds {
  bool integer = false;
  std::optional<Multiple> multiple = {};
  std::optional<Decimal> low, high;
  bool low_excluded = false, high_excluded = false;
};

class Parts {
 public:
  Parts(AutomatonBuilder& builder, Dialect dialect);

  [[nodiscard]] const Dialect& dialect() const { return dialect_; }
  AutomatonBuilder& builder() { return *builder_; }

  // Each returns the state to call. They end at kAccept.
  StateId string();
  StateId string_of(const LengthBounds& characters);
  StateId number(const NumberBounds& bounds);
  StateId any_value();
  StateId any_object();
  StateId any_array();
  StateId array_of(StateId item, const LengthBounds& items);
  // Text as the model likes: whole characters, anything else; the caller adds the way out. kAccept is not reached.
  StateId free_text();
  // Edges that eat any one character but '<' and `except` (-1: none), and lead to kNext.
  void add_text_characters(std::vector<Edge>& list, int except) const;

  // White space that may stand between a bracket or comma and what is beside it: nothing, one blank, or a line's end
  // and up to kMaxIndent blanks and tabs. Goes from `from` to `to`.
  void gap(StateId from, StateId to);
  // Behind a colon: nothing or one blank.
  void blank(StateId from, StateId to);

  // A string or key as it is written in this dialect; `text` is valid UTF-8.
  void string_literal(StateId from, std::string_view text, StateId to);
  [[nodiscard]] std::string key_literal(std::string_view name) const;
  // The characters of a key that is not listed, colon excluded; `taken` are the names it must not be.
  StateId free_key(std::vector<std::string> taken);

 private:
  // The state within a string that has so many characters still to come, and those behind it. Strings that have as many
  // to come go on alike, so there is one chain for all of them.
  StateId body_of(const LengthBounds& characters);
  StateId json_body(const LengthBounds& characters, StateId next);
  StateId call_body(const LengthBounds& characters, StateId next);
  AutomatonBuilder::EdgeListId json_body_list(bool takes, bool ends);
  AutomatonBuilder::EdgeListId text_body_list(int after, bool takes, bool ends);
  void add_characters(std::vector<Edge>& list) const;
  void add_utf8();
  void add_escape();

  AutomatonBuilder* builder_;
  Dialect dialect_;
  StateId gap_ = kNoState, escape_ = kNoState;
  // Behind a first byte: one, two or three more; and the four first bytes whose second byte is bounded.
  StateId more_[3] = {}, after_e0_ = kNoState, after_ed_ = kNoState, after_f0_ = kNoState, after_f4_ = kNoState;
  StateId numbers_[2] = {kNoState, kNoState};  // without bounds: any, integers
  StateId string_ = kNoState, any_value_ = kNoState, any_object_ = kNoState, any_array_ = kNoState;
  std::map<LengthBounds, StateId> strings_, bodies_;
  std::map<std::pair<StateId, LengthBounds>, StateId> arrays_;
  std::map<std::pair<ChainPlace, int>, StateId> alike_bodies_;
  AutomatonBuilder::EdgeListId json_lists_[2][2] = {{-1, -1}, {-1, -1}};
  AutomatonBuilder::EdgeListId text_lists_[3][2][2] = {
      {{-1, -1}, {-1, -1}}, {{-1, -1}, {-1, -1}}, {{-1, -1}, {-1, -1}}};
};

inline constexpr int kMaxIndent = 20;

// `text` between quotes, with the escapes that JSON demands and no other.
std::string json_quoted(std::string_view text);

// ---- numbers

inline constexpr int kMaxIntegerDigits = 18, kMaxFractionDigits = 17;

// Numbers have at most so many digits before and behind the point, and an exponent of two digits, if none is bounded:
// each is a finite double, and none goes on forever. -0 is never written. Multiples have no more digits behind the
// point than what they are multiples of.
StateId add_number(AutomatonBuilder& builder, const NumberBounds& bounds);

}  // namespace paceline::grammar
