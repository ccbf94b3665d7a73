// The methods of strings.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/utf8.h"
#include "jinja/bound.h"
#include "jinja/characters.h"
#include "jinja/escape.h"
#include "jinja/format.h"
#include "jinja/methods.h"
#include "jinja/print.h"
#include "jinja/search.h"
#include "jinja/split.h"

namespace paceline::jinja {
namespace {

// Of text marked safe comes text marked safe.
Result<Value> like(Run& run, const Value& self, std::string text) {
  return run.string(std::move(text), self.is_markup());
}

template <std::string (*kMap)(std::string_view)>
Result<Value> mapped_method(Run& run, const Value& self, const Arguments& arguments) {
  TRY(Bound::of("case", arguments, {}));
  return like(run, self, kMap(self.text()));
}

template <StripSide kSide>
Result<Value> strip(Run& run, const Value& self, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("strip", arguments, {"/chars"}));
  if (bound.is_absent(0)) return like(run, self, std::string(strip_chars(self.text(), nullptr, kSide)));
  TRY_ASSIGN(const std::string_view chars, bound.string(0, ""));
  SPEND(run, chars.size() / 8 * (1 + self.text().size() / 64));
  return like(run, self, std::string(strip_chars(self.text(), &chars, kSide)));
}

// The part of the text that start and end, counted in characters, leave.
struct Window {
  size_t begin = 0, end = 0;
  bool is_inside = true;  // whether begin is not behind end: else not even an empty text is found there
};

Result<Window> window_of(const Value& self, const Bound& bound, size_t at) {
  const std::string_view text = self.text();
  if (bound.is_absent(at) && bound.is_absent(at + 1)) return Window{0, text.size(), true};
  const auto length = static_cast<int64_t>(count_characters(text));
  const auto place = [&](int64_t pos) { return pos < 0 ? std::max<int64_t>(pos + length, 0) : pos; };
  TRY_ASSIGN(const int64_t start, bound.is_absent(at) ? Result<int64_t>(int64_t{0}) : bound.integer(at, 0));
  TRY_ASSIGN(const int64_t stop, bound.is_absent(at + 1) ? Result<int64_t>(length) : bound.integer(at + 1, length));
  const int64_t from = place(start), to = std::min(place(stop), length);
  if (from > to) return Window{0, 0, false};
  return Window{byte_of_character(text, static_cast<size_t>(from)), byte_of_character(text, static_cast<size_t>(to)),
                true};
}

template <bool kAtStart>
Result<Value> starts_or_ends(Run& run, const Value& self, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound,
             Bound::of(kAtStart ? "startswith" : "endswith", arguments, {"/prefix", "/start", "/end"}, 1));
  TRY_ASSIGN(const Window window, window_of(self, bound, 1));
  const std::string_view text = std::string_view(self.text()).substr(window.begin, window.end - window.begin);
  const auto matches = [&](std::string_view part) {
    return window.is_inside && (kAtStart ? text.starts_with(part) : text.ends_with(part));
  };
  if (!bound[0]->is(Kind::tuple)) {
    TRY_ASSIGN(const std::string_view part, bound.string(0, ""));
    return Value::boolean(matches(part));
  }
  SPEND(run, bound[0]->items().size());
  for (const Value& part : bound[0]->items()) {
    if (!part.is_string()) return Error{"startswith() and endswith() want a string or a tuple of strings"};
    if (matches(part.text())) return Value::boolean(true);
  }
  return Value::boolean(false);
}

enum class Missing : uint8_t { minus_one, error };

template <bool kLast, Missing kMissing>
Result<Value> find(Run&, const Value& self, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("find", arguments, {"/sub", "/start", "/end"}, 1));
  TRY_ASSIGN(const std::string_view part, bound.string(0, ""));
  TRY_ASSIGN(const Window window, window_of(self, bound, 1));
  const std::string_view all = self.text();
  const std::string_view text = all.substr(window.begin, window.end - window.begin);
  const size_t found = !window.is_inside ? std::string_view::npos
                       : kLast           ? rfind_text(text, part)
                                         : find_text(text, part);
  if (found != std::string_view::npos)
    return Value::integer(static_cast<int64_t>(count_characters(all.substr(0, window.begin + found))));
  if (kMissing == Missing::error) return Error{"substring not found"};
  return Value::integer(-1);
}

Result<Value> count(Run&, const Value& self, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("count", arguments, {"/sub", "/start", "/end"}, 1));
  TRY_ASSIGN(const std::string_view part, bound.string(0, ""));
  TRY_ASSIGN(const Window window, window_of(self, bound, 1));
  if (!window.is_inside) return Value::integer(0);
  const std::string_view text = std::string_view(self.text()).substr(window.begin, window.end - window.begin);
  if (part.empty()) return Value::integer(static_cast<int64_t>(count_characters(text)) + 1);
  int64_t found = 0;
  for (size_t pos = find_text(text, part); pos != std::string_view::npos;
       pos = find_text(text, part, pos + part.size()))
    ++found;
  return Value::integer(found);
}

Result<Value> replace_method(Run& run, const Value& self, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("replace", arguments, {"/old", "/new", "/count"}, 2));
  TRY_ASSIGN(const std::string_view from, bound.string(0, ""));
  TRY_ASSIGN(const std::string_view given, bound.string(1, ""));
  TRY_ASSIGN(const int64_t most, bound.integer(2, -1));
  const std::string to = self.is_markup() && !bound[1]->is_markup() ? html_escaped(given) : std::string(given);
  // Each occurrence takes at least one byte of the text, or stands between two.
  if (to.size() > from.size())
    TRY(run.reserve((self.text().size() / std::max<size_t>(from.size(), 1) + 1) * to.size()));
  return like(run, self, replace_some(self.text(), from, to, most));
}

Result<Value> join_method(Run& run, const Value& self, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("join", arguments, {"/iterable"}, 1));
  TRY_ASSIGN(const Items items, iterate(run, *bound[0]));
  std::string joined;
  for (size_t i = 0; i < items.size(); ++i) {
    SPEND(run, 1);
    const Value item = items[i];
    if (!item.is_string() && !self.is_markup())
      return Error{fmt::format("join() wants strings, found '{}' at {}", type_name(item), i)};
    if (i > 0) joined += self.text();
    if (self.is_markup()) {
      TRY_ASSIGN(const std::string text, escaped(run, item));
      joined += text;
    } else {
      joined += item.text();
    }
    if (joined.size() > run.limits().bytes) return Error{"join() makes too long a text"};
  }
  return like(run, self, std::move(joined));
}

template <uint8_t kFlags>
Result<Value> all_are(Run&, const Value& self, const Arguments& arguments) {
  TRY(Bound::of("is...", arguments, {}));
  const std::string_view text = self.text();
  for (size_t pos = 0; pos < text.size();) {
    const TextChar next = char_at(text, pos);
    if ((char_flags(next.code) & kFlags) == 0) return Value::boolean(false);
    pos += next.bytes;
  }
  return Value::boolean(!text.empty() || kFlags == kPrintable);
}

Result<Value> is_space(Run&, const Value& self, const Arguments& arguments) {
  TRY(Bound::of("isspace", arguments, {}));
  return Value::boolean(!self.text().empty() && strip_like_python(self.text()).empty());
}

Result<Value> is_ascii(Run&, const Value& self, const Arguments& arguments) {
  TRY(Bound::of("isascii", arguments, {}));
  return Value::boolean(std::all_of(self.text().begin(), self.text().end(),
                                    [](char byte) { return static_cast<unsigned char>(byte) < 0x80; }));
}

template <uint8_t kFlag>
Result<Value> has_case(Run&, const Value& self, const Arguments& arguments) {
  TRY(Bound::of("islower", arguments, {}));
  return Value::boolean(has_case_only(self.text(), kFlag));
}

Result<Value> is_title(Run&, const Value& self, const Arguments& arguments) {
  TRY(Bound::of("istitle", arguments, {}));
  const std::string_view text = self.text();
  bool in_word = false, found = false;
  for (size_t pos = 0; pos < text.size();) {
    const TextChar next = char_at(text, pos);
    const uint8_t flags = char_flags(next.code);
    if ((flags & (kUpper | kTitle)) ? in_word : (flags & kLower) && !in_word) return Value::boolean(false);
    in_word = (flags & kCased) != 0;
    found |= in_word;
    pos += next.bytes;
  }
  return Value::boolean(found);
}

template <bool kPrefix>
Result<Value> remove_affix(Run& run, const Value& self, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of(kPrefix ? "removeprefix" : "removesuffix", arguments, {"/affix"}, 1));
  TRY_ASSIGN(const std::string_view affix, bound.string(0, ""));
  std::string_view text = self.text();
  if (kPrefix && text.starts_with(affix)) text.remove_prefix(affix.size());
  if (!kPrefix && text.ends_with(affix)) text.remove_suffix(affix.size());
  return like(run, self, std::string(text));
}

enum class Pad : uint8_t { left, right, both };

template <Pad kPad>
Result<Value> pad(Run& run, const Value& self, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("just", arguments, {"/width", "/fill"}, 1));
  TRY_ASSIGN(const int64_t width, bound.integer(0, 0));
  TRY_ASSIGN(const std::string_view fill, bound.string(1, " "));
  if (count_characters(fill) != 1) return Error{"the fill character must be exactly one character long"};
  const auto length = static_cast<int64_t>(count_characters(self.text()));
  if (width <= length) return like(run, self, self.text());
  const auto all = static_cast<size_t>(width - length);
  TRY(run.reserve(all * 4));
  // As Python: the odd one goes left where the width is odd.
  const size_t left = kPad == Pad::left    ? all
                      : kPad == Pad::right ? 0
                                           : all / 2 + (all & static_cast<size_t>(width) & 1);
  std::string text;
  for (size_t i = 0; i < left; ++i) text += fill;
  text += self.text();
  for (size_t i = left; i < all; ++i) text += fill;
  return like(run, self, std::move(text));
}

Result<Value> zfill(Run& run, const Value& self, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("zfill", arguments, {"/width"}, 1));
  TRY_ASSIGN(const int64_t width, bound.integer(0, 0));
  const auto length = static_cast<int64_t>(count_characters(self.text()));
  std::string text = self.text();
  if (width > length) {
    TRY(run.reserve(static_cast<size_t>(width - length)));
    const bool has_sign = text.starts_with('-') || text.starts_with('+');
    text.insert(has_sign ? 1 : 0, static_cast<size_t>(width - length), '0');
  }
  return like(run, self, std::move(text));
}

Result<Value> format_method(Run& run, const Value& self, const Arguments& arguments) {
  TRY_ASSIGN(std::string text, format_braces(run, self.text(), arguments));
  return like(run, self, std::move(text));
}

constexpr NamedMethod kMethods[] = {
    {"capitalize", mapped_method<to_capitalized>},
    {"center", pad<Pad::both>},
    {"count", count},
    {"endswith", starts_or_ends<false>},
    {"find", find<false, Missing::minus_one>},
    {"format", format_method},
    {"index", find<false, Missing::error>},
    {"isalnum", all_are<kAlphabetic | kDecimal | kDigit | kNumeric>},
    {"isalpha", all_are<kAlphabetic>},
    {"isascii", is_ascii},
    {"isdecimal", all_are<kDecimal>},
    {"isdigit", all_are<kDigit>},
    {"islower", has_case<kLower>},
    {"isnumeric", all_are<kNumeric>},
    {"isprintable", all_are<kPrintable>},
    {"isspace", is_space},
    {"istitle", is_title},
    {"isupper", has_case<kUpper>},
    {"join", join_method},
    {"ljust", pad<Pad::right>},
    {"lower", mapped_method<to_lower>},
    {"lstrip", strip<StripSide::left>},
    {"partition", partition},
    {"removeprefix", remove_affix<true>},
    {"removesuffix", remove_affix<false>},
    {"replace", replace_method},
    {"rfind", find<true, Missing::minus_one>},
    {"rindex", find<true, Missing::error>},
    {"rjust", pad<Pad::left>},
    {"rpartition", rpartition},
    {"rsplit", rsplit},
    {"rstrip", strip<StripSide::right>},
    {"split", split},
    {"splitlines", splitlines},
    {"startswith", starts_or_ends<true>},
    {"strip", strip<StripSide::both>},
    {"swapcase", mapped_method<with_case_swapped>},
    {"title", mapped_method<to_title>},
    {"upper", mapped_method<to_upper>},
    {"zfill", zfill},
};

bool is_char_of(std::string_view text, size_t pos, size_t bytes, const std::string_view* chars) {
  if (chars == nullptr) return is_python_space(char_at(text, pos).code);
  return chars->find(text.substr(pos, bytes)) != std::string_view::npos;
}

}  // namespace

MethodFunction find_string_method(std::string_view name) {
  for (const NamedMethod& method : kMethods) {
    if (method.name == name) return method.function;
  }
  return nullptr;
}

std::string_view strip_chars(std::string_view text, const std::string_view* chars, StripSide side) {
  while (side != StripSide::right && !text.empty()) {
    const size_t bytes = char_at(text, 0).bytes;
    if (!is_char_of(text, 0, bytes, chars)) break;
    text.remove_prefix(bytes);
  }
  while (side != StripSide::left && !text.empty()) {
    const size_t begin = char_begin_before(text, text.size());
    if (!is_char_of(text, begin, text.size() - begin, chars)) break;
    text.remove_suffix(text.size() - begin);
  }
  return text;
}

std::string replace_some(std::string_view text, std::string_view from, std::string_view to, int64_t count) {
  std::string replaced;
  size_t pos = 0;
  auto left = count < 0 ? std::numeric_limits<int64_t>::max() : count;
  if (from.empty()) {
    // Before every character and at the end.
    while (left-- > 0) {
      replaced += to;
      if (pos == text.size()) return replaced;
      const size_t bytes = char_at(text, pos).bytes;
      replaced += text.substr(pos, bytes);
      pos += bytes;
    }
    return replaced.append(text.substr(pos));
  }
  while (left-- > 0) {
    const size_t found = find_text(text, from, pos);
    if (found == std::string_view::npos) break;
    replaced.append(text, pos, found - pos).append(to);
    pos = found + from.size();
  }
  return replaced.append(text, pos);
}

bool has_case_only(std::string_view text, uint8_t wanted_flag) {
  bool found = false;
  for (size_t pos = 0; pos < text.size();) {
    const TextChar next = char_at(text, pos);
    const uint8_t flags = char_flags(next.code) & kCased;
    if (flags != 0 && (flags & wanted_flag) == 0) return false;
    found |= flags != 0;
    pos += next.bytes;
  }
  return found;
}

}  // namespace paceline::jinja
