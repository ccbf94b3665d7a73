// Filters that write text.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/utf8.h"
#include "jinja/bound.h"
#include "jinja/characters.h"
#include "jinja/escape.h"
#include "jinja/filter_tables.h"
#include "jinja/format.h"
#include "jinja/methods.h"
#include "jinja/print.h"

namespace paceline::jinja {
namespace {

template <std::string (*kMap)(std::string_view)>
Result<Value> mapped(Run& run, const Value& input, const Arguments& arguments) {
  TRY(Bound::of("case", arguments, {}));
  TRY_ASSIGN(const std::string text, to_text(run, input));
  SPEND(run, text.size() / 16);
  return run.string(kMap(text), input.is_markup());
}

// Words begin behind blanks, dashes and opening brackets.
std::string titled(std::string_view text) {
  std::string titled;
  bool in_word = false;
  std::string word;
  const auto finish = [&] {
    const size_t first = byte_of_character(word, 1);
    titled += to_upper(word.substr(0, first)) + to_lower(word.substr(first));
    word.clear();
  };
  for (size_t pos = 0; pos < text.size();) {
    const TextChar next = char_at(text, pos);
    const bool between =
        is_python_space(next.code) ||
        (next.code < 0x80 && std::string_view("-({[<").find(static_cast<char>(next.code)) != std::string_view::npos);
    if (between == in_word) finish();
    in_word = !between;
    word += text.substr(pos, next.bytes);
    pos += next.bytes;
  }
  finish();
  return titled;
}

Result<Value> trim(Run& run, const Value& input, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("trim", arguments, {"chars"}));
  TRY_ASSIGN(const std::string text, to_text(run, input));
  SPEND(run, text.size() / 64);
  if (bound.is_absent(0)) return run.string(std::string(strip_like_python(text)), input.is_markup());
  TRY_ASSIGN(const std::string_view chars, bound.string(0, ""));
  SPEND(run, chars.size() / 8 * (1 + text.size() / 64));
  return run.string(std::string(strip_chars(text, &chars, StripSide::both)), input.is_markup());
}

Result<Value> replace(Run& run, const Value& input, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("replace", arguments, {"old", "new", "count"}, 2));
  TRY_ASSIGN(const std::string text, to_text(run, input));
  TRY_ASSIGN(const std::string from, to_text(run, *bound[0]));
  TRY_ASSIGN(const std::string to, to_text(run, *bound[1]));
  TRY_ASSIGN(const int64_t count, bound.is_absent(2) ? Result<int64_t>(int64_t{-1}) : bound.integer(2, -1));
  SPEND(run, text.size() / 64);
  if (to.size() > from.size()) TRY(run.reserve((text.size() / std::max<size_t>(from.size(), 1) + 1) * to.size()));
  return run.string(replace_some(text, from, to, count));
}

Result<Value> string(Run& run, const Value& input, const Arguments& arguments) {
  TRY(Bound::of("string", arguments, {}));
  if (input.is_string()) return input;
  TRY_ASSIGN(std::string text, to_text(run, input));
  return run.string(std::move(text));
}

Result<Value> safe(Run& run, const Value& input, const Arguments& arguments) {
  TRY(Bound::of("safe", arguments, {}));
  TRY_ASSIGN(std::string text, to_text(run, input));
  return run.string(std::move(text), true);
}

Result<Value> escape(Run& run, const Value& input, const Arguments& arguments) {
  TRY(Bound::of("escape", arguments, {}));
  TRY_ASSIGN(std::string text, escaped(run, input));
  return run.string(std::move(text), true);
}

Result<Value> forceescape(Run& run, const Value& input, const Arguments& arguments) {
  TRY(Bound::of("forceescape", arguments, {}));
  TRY_ASSIGN(std::string text, to_text(run, input));
  TRY(run.reserve(5 * text.size()));
  return run.string(html_escaped(text), true);
}

Result<Value> indent(Run& run, const Value& input, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("indent", arguments, {"width", "first", "blank"}));
  if (!input.is_string())
    return Error{input.is_undefined() ? input.hint()
                                      : fmt::format("indent wants a string, found '{}'", type_name(input))};
  std::string indention(4, ' ');
  if (bound[0] != nullptr && bound[0]->is_string()) {
    indention = bound[0]->text();
  } else {
    TRY_ASSIGN(const int64_t width, bound.integer(0, 4));
    TRY(run.reserve(static_cast<size_t>(std::max<int64_t>(width, 0))));
    indention.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
  }
  const std::string text = input.text() + "\n";
  const std::vector<std::string_view> lines = split_lines(text, false);
  SPEND(run, lines.size() + text.size() / 64);
  TRY(run.reserve(lines.size() * (indention.size() + sizeof(std::string_view))));
  std::string indented = bound.truth(1, false) ? indention : "";
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) indented += "\n";
    if (i > 0 && (bound.truth(2, false) || !lines[i].empty())) indented += indention;
    indented += lines[i];
  }
  return run.string(std::move(indented), input.is_markup());
}

Result<Value> center(Run& run, const Value& input, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("center", arguments, {"width"}));
  TRY_ASSIGN(std::string text, to_text(run, input));
  Arguments width;
  width.positional.push_back(bound[0] != nullptr ? *bound[0] : Value::integer(80));
  return find_string_method("center")(run, Value::string(std::move(text)), width);
}

Result<Value> truncate(Run& run, const Value& input, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("truncate", arguments, {"length", "killwords", "end", "leeway"}));
  TRY_ASSIGN(const int64_t length, bound.integer(0, 255));
  TRY_ASSIGN(const std::string_view end, bound.string(2, "..."));
  TRY_ASSIGN(const int64_t leeway, bound.is_absent(3) ? Result<int64_t>(int64_t{5}) : bound.integer(3, 5));
  const auto end_length = static_cast<int64_t>(count_characters(end));
  if (length < end_length || leeway < 0)
    return Error{"truncate: expected a length that holds the end, and a leeway from 0"};
  if (input.is_string()) SPEND(run, input.text().size() / 32);
  TRY_ASSIGN(const size_t given, length_of(input));
  if (static_cast<int64_t>(given) - leeway <= length) return input;
  if (!input.is_string()) return Error{fmt::format("truncate wants a string, found '{}'", type_name(input))};
  std::string_view kept = input.text();
  kept = kept.substr(0, byte_of_character(kept, static_cast<size_t>(length - end_length)));
  if (!bound.truth(1, false)) kept = kept.substr(0, kept.rfind(' '));
  return run.string(std::string(kept) + std::string(end));
}

Result<Value> wordcount(Run& run, const Value& input, const Arguments& arguments) {
  TRY(Bound::of("wordcount", arguments, {}));
  TRY_ASSIGN(const std::string text, to_text(run, input));
  SPEND(run, text.size() / 16);
  int64_t words = 0;
  bool in_word = false;
  for (size_t pos = 0; pos < text.size();) {
    const TextChar next = char_at(text, pos);
    const bool is_word = is_word_char(next.code);
    words += is_word && !in_word ? 1 : 0;
    in_word = is_word;
    pos += next.bytes;
  }
  return Value::integer(words);
}

Result<Value> format(Run& run, const Value& input, const Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty())
    return Error{"format wants arguments either by place or by name"};
  TRY_ASSIGN(const std::string pattern, to_text(run, input));
  Value values;
  if (arguments.named.empty()) {
    TRY_ASSIGN(values, run.tuple(arguments.positional));
  } else {
    auto named = std::make_shared<Dict>();
    for (const auto& [name, value] : arguments.named) named->set(Value::string(name), value);
    TRY_ASSIGN(values, run.dict(std::move(named)));
  }
  TRY_ASSIGN(std::string text, format_percent(run, pattern, values));
  return run.string(std::move(text), input.is_markup());
}

Result<Value> urlencode(Run& run, const Value& input, const Arguments& arguments) {
  TRY(Bound::of("urlencode", arguments, {}));
  if (!input.is_string() && !input.is_number()) return Error{"urlencode wants a string or a number"};
  TRY_ASSIGN(const std::string text, to_text(run, input));
  SPEND(run, text.size() / 4);
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain =
        (byte < 0x80 && std::isalnum(byte) != 0) || std::string_view("_.-~/").find(c) != std::string_view::npos;
    encoded += is_plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return run.string(std::move(encoded));
}

constexpr NamedFilter kTextFilters[] = {
    {"capitalize", mapped<to_capitalized>},
    {"center", center},
    {"e", escape},
    {"escape", escape},
    {"forceescape", forceescape},
    {"format", format},
    {"indent", indent},
    {"lower", mapped<to_lower>},
    {"replace", replace},
    {"safe", safe},
    {"string", string},
    {"title", mapped<titled>},
    {"tojson", tojson},
    {"trim", trim},
    {"truncate", truncate},
    {"upper", mapped<to_upper>},
    {"urlencode", urlencode},
    {"wordcount", wordcount},
};

}  // namespace

std::span<const NamedFilter> text_filters() { return kTextFilters; }

}  // namespace paceline::jinja
