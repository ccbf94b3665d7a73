#include "grammar/string_form.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "grammar/schema_fields.h"

namespace paceline::grammar {
namespace {

using boost::json::object;
using boost::json::value;

// States to look at for the texts of a pattern, a format and bounds beside each other.
constexpr int64_t kMaxWork = 200'000;

// A pattern that says first what a text must not begin with.
struct Split {
  std::vector<std::string> not_first = {};
  std::string rest = {};
};

// Behind the ) that closes what is open at the beginning; npos: there is none.
size_t behind_group(std::string_view text) {
  int open = 1;
  bool in_class = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\') {
      ++i;
    } else if (in_class) {
      in_class = c != ']';
    } else if (c == '[') {
      in_class = true;
    } else if (c == '(') {
      ++open;
    } else if (c == ')' && --open == 0) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

Split split(std::string_view pattern) {
  constexpr std::string_view kNot = "(?!";
  if (!pattern.starts_with("^(?!")) return {.rest = std::string(pattern)};
  Split made;
  pattern.remove_prefix(1);
  while (pattern.starts_with(kNot)) {
    const size_t end = behind_group(pattern.substr(kNot.size()));
    if (end == std::string_view::npos) break;
    made.not_first.push_back(fmt::format("^(?:{})", pattern.substr(kNot.size(), end - 1)));
    pattern.remove_prefix(kNot.size() + end);
  }
  made.rest = fmt::format("^{}", pattern);
  return made;
}

Result<RegexTexts> texts_of(std::string_view pattern, int64_t& work) {
  TRY_ASSIGN(const RegexNode node, parse_regex(pattern));
  return RegexTexts::of(node, work);
}

Result<RegexTexts> texts_of_both(std::string_view format, std::string_view pattern, int64_t& work) {
  TRY_ASSIGN(const RegexTexts formed, texts_of(*pattern_of_format(format), work));
  const Split parts = split(pattern);
  for (const std::string& excluded : parts.not_first) {
    TRY_ASSIGN(const RegexTexts texts, texts_of(excluded, work));
    TRY_ASSIGN(const bool matters, formed.meet(texts, work));
    if (matters) return Error{fmt::format("pattern: (?! is not supported beside the format {}", format)};
  }
  TRY_ASSIGN(const RegexTexts matching, texts_of(parts.rest, work));
  TRY_ASSIGN(RegexTexts both, formed.shared_with(matching, work));
  if (both.states().empty())
    return Error{
        fmt::format("pattern: it is not supported beside the format {}, of which no text here matches it", format)};
  return both;
}

bool has_both(const object& schema) { return has_known_format(schema) && schema.contains("pattern"); }

// Of a schema with one of them.
std::string_view only_pattern(const object& schema) {
  return has_known_format(schema) ? *pattern_of_format(schema.at("format").get_string())
                                  : std::string_view(schema.at("pattern").get_string());
}

Result<RegexTexts> formed_texts(const object& schema, int64_t& work) {
  if (!has_both(schema)) return texts_of(only_pattern(schema), work);
  return texts_of_both(schema.at("format").get_string(), schema.at("pattern").get_string(), work);
}

bool has_lengths(const object& schema) { return schema.contains("minLength") || schema.contains("maxLength"); }

Result<RegexTexts> texts_within_lengths(const object& schema, int64_t& work) {
  TRY_ASSIGN(const LengthBounds bounds, length_bounds(schema, "minLength", "maxLength", ""));
  if (bounds.low > work || bounds.high.value_or(0) > work)
    return Error{"minLength, maxLength: they are too large beside a pattern or a format"};
  RegexNode any{.kind = RegexNode::Kind::characters, .characters = {{0, kLastCode}}};
  const RegexNode counted{.kind = RegexNode::Kind::repeat,
                          .parts = {std::move(any)},
                          .least = static_cast<int32_t>(bounds.low),
                          .most = bounds.high ? static_cast<int32_t>(*bounds.high) : -1};
  TRY_ASSIGN(const RegexTexts formed, formed_texts(schema, work));
  TRY_ASSIGN(const RegexTexts lengths, RegexTexts::of(counted, work));
  TRY_ASSIGN(RegexTexts all, formed.shared_with(lengths, work));
  if (all.states().empty()) return Error{"minLength, maxLength: no text of the pattern or the format is that long"};
  return all;
}

}  // namespace

bool has_known_format(const object& schema) {
  const value* format = schema.if_contains("format");
  return format != nullptr && format->is_string() && pattern_of_format(format->get_string());
}

bool has_string_form(const object& schema) {
  const value* pattern = schema.if_contains("pattern");
  return has_known_format(schema) || (pattern != nullptr && pattern->is_string());
}

std::string why_no_pattern(const object& schema) {
  const value& pattern = schema.at("pattern");
  if (!pattern.is_string()) return "the keyword \"pattern\" must be a string";
  if (has_known_format(schema)) {
    int64_t work = kMaxWork;
    const auto both = texts_of_both(schema.at("format").get_string(), pattern.get_string(), work);
    return both.ok() ? "" : both.error().message;
  }
  const auto parsed = parse_regex(pattern.get_string());
  return parsed.ok() ? "" : parsed.error().message;
}

bool can_be_written(const object& schema) {
  object form;
  for (const char* name : {"format", "pattern"})
    if (const value* said = schema.if_contains(name)) form[name] = *said;
  const auto is_written = [&](Writing writing) {
    AutomatonBuilder apart;
    const StateId from = apart.add(), to = apart.add();
    return add_string_form(apart, form, writing, from, to).ok();
  };
  return is_written(Writing::json) && is_written(Writing::raw);
}

std::string why_no_lengths(const object& schema) {
  int64_t work = kMaxWork;
  const auto all = texts_within_lengths(schema, work);
  return all.ok() ? "" : all.error().message;
}

Status add_string_form(AutomatonBuilder& builder, const object& schema, Writing writing, StateId from, StateId to) {
  int64_t work = kMaxWork;
  if (has_lengths(schema)) {
    TRY_ASSIGN(const RegexTexts texts, texts_within_lengths(schema, work));
    return add_texts(builder, texts, writing, from, to);
  }
  if (has_both(schema)) {
    TRY_ASSIGN(const RegexTexts texts, formed_texts(schema, work));
    return add_texts(builder, texts, writing, from, to);
  }
  TRY_ASSIGN(const RegexNode pattern, parse_regex(only_pattern(schema)));
  return add_pattern(builder, pattern, writing, from, to);
}

}  // namespace paceline::grammar
