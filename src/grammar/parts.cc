#include "grammar/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace paceline::grammar {
namespace {

struct ByteRange {
  int low, high;
};
constexpr ByteRange kJsonPlain[] = {{0x20, 0x21}, {0x23, 0x5B}, {0x5D, 0x7F}};
constexpr ByteRange kTextPlain[] = {{0x09, 0x0A}, {0x0D, 0x0D}, {0x20, 0x3B}, {0x3D, 0x7F}};
constexpr ByteRange kKeyPlain[] = {{'-', '.'}, {'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
constexpr ByteRange kHex[] = {{'0', '9'}, {'A', 'F'}, {'a', 'f'}};
constexpr int kMaxFreeKeyChars = 64;

Edge byte_edge(int low, int high, StateId to, StateId push = kNoState) {
  return {.kind = EdgeKind::bytes,
          .low = static_cast<uint8_t>(low),
          .high = static_cast<uint8_t>(high),
          .to = to,
          .push = push};
}

void add_ranges(std::vector<Edge>& list, std::span<const ByteRange> ranges, StateId to) {
  for (const ByteRange& range : ranges) list.push_back(byte_edge(range.low, range.high, to));
}

}  // namespace

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<uint8_t>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<int>(c));
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

Parts::Parts(AutomatonBuilder& builder, Dialect dialect) : builder_(&builder), dialect_(dialect) {
  add_utf8();
  add_escape();
  gap_ = builder.add();
  builder.bytes(gap_, ' ', ' ', kAccept);
  builder.go(gap_, kAccept);
  StateId line = builder.add();
  builder.bytes(gap_, '\n', '\n', line);
  for (int i = 0; i <= kMaxIndent; ++i) {
    builder.go(line, kAccept);
    if (i == kMaxIndent) break;
    const StateId next = builder.add();
    builder.bytes(line, ' ', ' ', next);
    builder.bytes(line, '\t', '\t', next);
    line = next;
  }
}

void Parts::add_utf8() {
  StateId to = kAccept;
  for (StateId& more : more_) {
    more = builder_->add();
    builder_->bytes(more, 0x80, 0xBF, to);
    to = more;
  }
  const auto bounded = [&](int low, int high, StateId rest) {
    const StateId made = builder_->add();
    builder_->bytes(made, low, high, rest);
    return made;
  };
  after_e0_ = bounded(0xA0, 0xBF, more_[0]);
  after_ed_ = bounded(0x80, 0x9F, more_[0]);
  after_f0_ = bounded(0x90, 0xBF, more_[1]);
  after_f4_ = bounded(0x80, 0x8F, more_[1]);
}

// Characters beyond ASCII, to kNext.
void Parts::add_characters(std::vector<Edge>& list) const {
  list.push_back(byte_edge(0xC2, 0xDF, more_[0], kNext));
  list.push_back(byte_edge(0xE0, 0xE0, after_e0_, kNext));
  list.push_back(byte_edge(0xE1, 0xEC, more_[1], kNext));
  list.push_back(byte_edge(0xED, 0xED, after_ed_, kNext));
  list.push_back(byte_edge(0xEE, 0xEF, more_[1], kNext));
  list.push_back(byte_edge(0xF0, 0xF0, after_f0_, kNext));
  list.push_back(byte_edge(0xF1, 0xF3, more_[2], kNext));
  list.push_back(byte_edge(0xF4, 0xF4, after_f4_, kNext));
}

void Parts::add_text_characters(std::vector<Edge>& list, int except) const {
  for (const ByteRange& range : kTextPlain) {
    if (except < range.low || except > range.high) {
      list.push_back(byte_edge(range.low, range.high, kNext));
      continue;
    }
    if (except > range.low) list.push_back(byte_edge(range.low, except - 1, kNext));
    if (except < range.high) list.push_back(byte_edge(except + 1, range.high, kNext));
  }
  add_characters(list);
}

// Behind a backslash. Surrogates come in pairs, which are one character.
void Parts::add_escape() {
  AutomatonBuilder& b = *builder_;
  escape_ = b.add();
  for (const char c : std::string_view("\"\\/bfnrt")) b.bytes(escape_, c, c, kAccept);
  const auto hex = [&](StateId from, StateId to) {
    for (const ByteRange& range : kHex) b.bytes(from, range.low, range.high, to);
  };
  const StateId two = b.add(), one = b.add(), three = b.add(), unicode = b.literal(escape_, "u");
  hex(three, two);
  hex(two, one);
  hex(one, kAccept);
  for (const ByteRange range : {ByteRange{'0', '9'}, {'A', 'C'}, {'E', 'F'}, {'a', 'c'}, {'e', 'f'}}) {
    b.bytes(unicode, range.low, range.high, three);
  }
  const StateId after_d = b.add();
  b.bytes(unicode, 'D', 'D', after_d);
  b.bytes(unicode, 'd', 'd', after_d);
  b.bytes(after_d, '0', '7', two);
  const StateId high2 = b.add(), high1 = b.add(), pair = b.add();
  for (const ByteRange range : {ByteRange{'8', '9'}, {'A', 'B'}, {'a', 'b'}}) {
    b.bytes(after_d, range.low, range.high, high2);
  }
  hex(high2, high1);
  hex(high1, pair);
  const StateId low = b.literal(pair, "\\u"), low_d = b.add();
  b.bytes(low, 'D', 'D', low_d);
  b.bytes(low, 'd', 'd', low_d);
  b.bytes(low_d, 'C', 'F', two);
  b.bytes(low_d, 'c', 'f', two);
}

AutomatonBuilder::EdgeListId Parts::json_body_list(bool takes, bool ends) {
  auto& known = json_lists_[takes][ends];
  if (known >= 0) return known;
  std::vector<Edge> list;
  if (takes) {
    add_ranges(list, kJsonPlain, kNext);
    list.push_back(byte_edge('\\', '\\', escape_, kNext));
    add_characters(list);
  }
  if (ends) list.push_back(byte_edge('"', '"', kAccept));
  return known = builder_->add_list(std::move(list));
}

// `after`: 0; 1 behind '<'; 2 behind "<|". What would spell the closing token in letters is not there: a reader of the
// text could not tell it from the token.
AutomatonBuilder::EdgeListId Parts::text_body_list(int after, bool takes, bool ends) {
  auto& known = text_lists_[after][takes][ends];
  if (known >= 0) return known;
  std::vector<Edge> list;
  if (takes) {
    add_text_characters(list, after == 1 ? '|' : after == 2 ? '"' : -1);
    if (after == 1) list.push_back(byte_edge('|', '|', kNextPlus2));
    list.push_back(byte_edge('<', '<', kNextPlus1));
  }
  if (ends) list.push_back({.kind = EdgeKind::token, .token = dialect_.quote, .to = kAccept});
  return known = builder_->add_list(std::move(list));
}

StateId Parts::string() {
  if (string_ == kNoState) string_ = string_of({});
  return string_;
}

StateId Parts::string_of(const LengthBounds& characters) {
  const auto [known, is_new] = strings_.emplace(characters, kNoState);
  if (!is_new) return known->second;
  const StateId body = body_of(characters), start = known->second = builder_->add();
  if (dialect_.call) {
    builder_->token(start, dialect_.quote, body);
  } else {
    builder_->bytes(start, '"', '"', body);
  }
  return start;
}

StateId Parts::body_of(const LengthBounds& characters) {
  // As far as nothing is known, and then back.
  int64_t at = 0;
  StateId next = kNoState;
  for (; at <= last_place(characters); ++at) {
    const auto known = bodies_.find(bounds_left(characters, at));
    if (known == bodies_.end()) continue;
    next = known->second;
    break;
  }
  while (--at >= 0 && !builder_->too_large()) {
    const LengthBounds left = bounds_left(characters, at);
    next = bodies_[left] = dialect_.call ? call_body(left, next) : json_body(left, next);
  }
  return next == kNoState ? builder_->add() : next;
}

StateId Parts::json_body(const LengthBounds& characters, StateId next) {
  const ChainPlace place = place_in(characters, 0);
  const StateId made = builder_->add_shared(json_body_list(place.below_high > 0, place.below_low == 0), next);
  State& state = builder_->state(made);
  if (next == kNoState) state.next = made;
  state.alias = alike_bodies_.emplace(std::pair(place, 0), made).first->second;
  state.body = place.below_high > 0 ? Body::json : Body::none;
  state.body_room = static_cast<int32_t>(std::min<int64_t>(place.below_high, kMaxTokenChars));
  state.count = count_of(characters, 1);
  return made;
}

StateId Parts::call_body(const LengthBounds& characters, StateId next) {
  const ChainPlace place = place_in(characters, 0);
  StateId first = kNoState;
  for (int after = 0; after < 3; ++after) {
    const StateId made = builder_->add_shared(text_body_list(after, place.below_high > 0, place.below_low == 0), next);
    if (after == 0) first = made;
    State& state = builder_->state(made);
    if (next == kNoState) state.next = first;
    state.alias = alike_bodies_.emplace(std::pair(place, after), made).first->second;
    state.body = place.below_high > 0 ? Body::text : Body::none;
    state.body_room = static_cast<int32_t>(std::min<int64_t>(place.below_high, kMaxTokenChars));
    state.body_except = static_cast<int16_t>(after == 1 ? '|' : after == 2 ? '"' : -1);
    state.count = count_of(characters, 2 + after);
  }
  return first;
}

StateId Parts::free_text() {
  const StateId made = builder_->add();
  builder_->state(made).body = Body::text;
  builder_->state(made).body_room = kMaxTokenChars;
  builder_->state(made).next = made;
  for (const ByteRange& range : kTextPlain) builder_->bytes(made, range.low, range.high, made);
  builder_->bytes(made, '<', '<', made);
  std::vector<Edge> beyond;
  add_characters(beyond);
  for (const Edge& edge : beyond) builder_->bytes(made, edge.low, edge.high, edge.to, made);
  return made;
}

void Parts::gap(StateId from, StateId to) {
  if (dialect_.call) {
    builder_->go(from, to);
  } else {
    builder_->call(from, gap_, to, false);
  }
}

void Parts::blank(StateId from, StateId to) {
  builder_->go(from, to);
  if (!dialect_.call) builder_->bytes(from, ' ', ' ', to);
}

void Parts::string_literal(StateId from, std::string_view text, StateId to) {
  if (!dialect_.call) return builder_->literal(from, json_quoted(text), to);
  const StateId first = builder_->add();
  builder_->token(from, dialect_.quote, first);
  builder_->token(builder_->literal(first, text), dialect_.quote, to);
}

std::string Parts::key_literal(std::string_view name) const {
  return dialect_.call ? std::string(name) : json_quoted(name);
}

namespace {

// A place along the names that a free key must not be. The first is where they all begin.
struct KeyPlace {
  std::map<uint8_t, size_t> children;  // by the next byte
  bool between_characters = true;
  bool is_name = false;
};

// How many bytes the character, or the escape, takes that begins at `at`.
size_t character_bytes(std::string_view name, size_t at) {
  if (name[at] == '\\') return name[at + 1] == 'u' ? 6 : 2;
  size_t bytes = 1;
  while (at + bytes < name.size() && (static_cast<uint8_t>(name[at + bytes]) & 0xC0) == 0x80) ++bytes;
  return bytes;
}

std::vector<KeyPlace> key_places(const std::vector<std::string>& names) {
  std::vector<KeyPlace> places(1);
  for (const std::string& name : names) {
    size_t at = 0, next_character = 0;
    for (size_t i = 0; i < name.size(); ++i) {
      if (i == next_character) {
        next_character += character_bytes(name, i);
      } else {
        places[at].between_characters = false;
      }
      const auto [child, is_new] = places[at].children.emplace(static_cast<uint8_t>(name[i]), places.size());
      at = child->second;
      if (is_new) places.emplace_back();
    }
    places[at].is_name = true;
  }
  return places;
}

}  // namespace

// Along the listed names letter by letter; where a key leaves them it is free. No escape is taken before that, which
// could spell a listed name in another way.
StateId Parts::free_key(std::vector<std::string> taken) {
  if (taken.empty() && !dialect_.call) return string();
  AutomatonBuilder& b = *builder_;
  StateId free = kNoState;
  std::vector<Edge> ways;  // to kNext
  if (dialect_.call) {
    for (int i = 0; i < kMaxFreeKeyChars; ++i) {
      const StateId made = b.add();
      b.go(made, kAccept);
      if (free != kNoState) {
        for (const ByteRange& range : kKeyPlain) b.bytes(made, range.low, range.high, free);
      }
      free = made;
    }
    add_ranges(ways, kKeyPlain, kNext);
  } else {
    for (std::string& name : taken) name = json_quoted(name).substr(1, json_quoted(name).size() - 2);
    free = b.add_shared(json_body_list(true, true), kNoState);
    b.state(free).next = free;
    b.state(free).body = Body::json;
    b.state(free).body_room = kMaxTokenChars;
    add_ranges(ways, kJsonPlain, kNext);
    add_characters(ways);
  }
  const std::vector<KeyPlace> places = key_places(taken);
  std::vector<StateId> states;
  for (size_t i = 0; i < places.size(); ++i) states.push_back(b.add());
  for (size_t i = 0; i < places.size(); ++i) {
    const KeyPlace& place = places[i];
    const StateId from = states[i];
    for (const auto& [child, to] : place.children) b.bytes(from, child, child, states[to]);
    if (!place.between_characters) continue;
    for (const Edge& way : ways) {
      const bool pushes = way.push != kNoState;
      const StateId to = pushes ? way.to : free, push = pushes ? free : kNoState;
      int low = way.low;
      for (auto child = place.children.lower_bound(way.low); child != place.children.end() && child->first <= way.high;
           ++child) {
        b.bytes(from, low, child->first - 1, to, push);
        low = child->first + 1;
      }
      b.bytes(from, low, way.high, to, push);
    }
    if (place.is_name) continue;
    if (!dialect_.call) b.bytes(from, '"', '"', kAccept);
    if (dialect_.call && i > 0) b.go(from, kAccept);
  }
  if (dialect_.call) return states[0];
  const StateId start = b.add();
  b.bytes(start, '"', '"', states[0]);
  return start;
}

StateId Parts::array_of(StateId item, const LengthBounds& items) {
  AutomatonBuilder& b = *builder_;
  const auto [known, is_new] = arrays_.emplace(std::pair(item, items), kNoState);
  if (!is_new) return known->second;
  const StateId close = b.add();
  b.bytes(close, ']', ']', kAccept);
  std::map<std::pair<ChainPlace, int>, StateId> alike;
  // For each number of items: behind the last of them; behind the comma; before the next.
  StateId next = kNoState, next_item = kNoState;
  for (int64_t at = last_place(items); at >= 0 && !b.too_large(); --at) {
    const ChainPlace place = place_in(items, at);
    const StateId done = b.add(), comma = b.add(), begin = b.add();
    const StateId states[] = {done, comma, begin};
    for (int i = 0; i < 3; ++i) {
      b.state(states[i]).alias = alike.emplace(std::pair(place, i), states[i]).first->second;
    }
    if (place.below_low == 0) gap(done, close);
    if (place.below_high > 0) {
      b.bytes(done, ',', ',', comma);
      gap(comma, begin);
      b.call(begin, item, next == kNoState ? done : next, true);
    }
    next = done;
    next_item = begin;
  }
  const StateId start = known->second = b.add(), open = b.literal(start, "[");
  const StateId first = b.add();
  gap(open, first);
  if (!items.high || *items.high > 0) b.go(first, next_item);
  if (items.low == 0) b.go(first, close);
  return start;
}

StateId Parts::any_array() {
  if (any_array_ == kNoState) {
    any_array_ = builder_->add();
    builder_->go(any_array_, array_of(any_value(), {}));
  }
  return any_array_;
}

StateId Parts::any_object() {
  if (any_object_ != kNoState) return any_object_;
  AutomatonBuilder& b = *builder_;
  any_object_ = b.add();
  const StateId open = b.literal(any_object_, "{"), first = b.add(), key = b.add(), colon = b.add();
  const StateId value = b.add(), done = b.add(), close = b.add(), comma = b.literal(done, ",");
  gap(open, first);
  b.go(first, key);
  b.go(first, close);
  b.call(key, free_key({}), colon, false);
  blank(b.literal(colon, ":"), value);
  b.call(value, any_value(), done, true);
  gap(comma, key);
  gap(done, close);
  b.bytes(close, '}', '}', kAccept);
  return any_object_;
}

StateId Parts::number(const NumberBounds& bounds) {
  if (bounds.low || bounds.high || bounds.multiple) return add_number(*builder_, bounds);
  StateId& known = numbers_[bounds.integer ? 1 : 0];
  if (known == kNoState) known = add_number(*builder_, bounds);
  return known;
}

StateId Parts::any_value() {
  if (any_value_ != kNoState) return any_value_;
  AutomatonBuilder& b = *builder_;
  const StateId made = any_value_ = b.add();
  b.one_of(made, {"true", "false", "null"}, kAccept);
  b.go(made, string());
  b.go(made, number({}));
  b.go(made, any_object());
  b.go(made, any_array());
  return made;
}

}  // namespace paceline::grammar
