#include "jinja/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "jinja/access.h"
#include "jinja/format_spec.h"
#include "jinja/print.h"

namespace paceline::jinja {
namespace {

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// ---- "%s" % values

class PercentFormatter {
 public:
  PercentFormatter(Run& run, std::string_view pattern, const Value& values)
      : run_(run), rest_(pattern), values_(values) {}

  Result<std::string> format();

 private:
  Status field();
  Result<Value> next_value();
  Result<Value> named_value();
  Status flags(FormatSpec& spec);
  Result<size_t> number();
  Result<std::string> converted(const Value& value, FormatSpec spec);
  char take() {
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }

  Run& run_;
  std::string_view rest_;
  const Value& values_;
  size_t used_ = 0;
  bool by_name_ = false;
  std::string out_;
};

Result<Value> PercentFormatter::next_value() {
  if (values_.is(Kind::tuple)) {
    if (used_ >= values_.items().size()) return Error{"not enough arguments for format string"};
    return values_.items()[used_++];
  }
  if (used_++ > 0) return Error{"not enough arguments for format string"};
  return values_;
}

Result<Value> PercentFormatter::named_value() {
  const size_t end = rest_.find(')');
  if (end == std::string_view::npos) return Error{"incomplete format key"};
  if (!values_.is(Kind::dict)) return Error{"format requires a mapping"};
  const std::string_view name = rest_.substr(1, end - 1);
  rest_.remove_prefix(end + 1);
  by_name_ = true;
  const Value* found = values_.dict().find(name);
  if (found == nullptr) return Error{fmt::format("no value for '%({})'", name)};
  return *found;
}

Result<size_t> PercentFormatter::number() {
  if (!rest_.empty() && rest_[0] == '*') return Error{"'*' in a format is not known"};
  size_t number = 0;
  while (!rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9') {
    number = number * 10 + static_cast<size_t>(take() - '0');
    if (number > kMaxFormatWidth) return Error{fmt::format("a format wider than {}", kMaxFormatWidth)};
  }
  return number;
}

Status PercentFormatter::flags(FormatSpec& spec) {
  bool zero = false;
  while (!rest_.empty() && std::string_view("-+ #0").find(rest_[0]) != std::string_view::npos) {
    switch (const char flag = take()) {
      case '-': spec.align = '<'; break;
      case '0': zero = true; break;
      case '#': spec.alternate = true; break;
      default: spec.sign = spec.sign == '+' ? '+' : flag;
    }
  }
  if (zero && spec.align != '<') {
    spec.align = '=';
    spec.fill = "0";
  }
  TRY_ASSIGN(spec.width, number());
  if (!rest_.empty() && rest_[0] == '.') {
    take();
    TRY_ASSIGN(const size_t precision, number());
    spec.precision = static_cast<int>(precision);
  }
  while (!rest_.empty() && std::string_view("hlL").find(rest_[0]) != std::string_view::npos) take();
  return Done{};
}

Result<std::string> PercentFormatter::converted(const Value& value, FormatSpec spec) {
  const char type = spec.type;
  if (type == 's' || type == 'r' || type == 'a') {
    TRY_ASSIGN(std::string text, type == 's' ? to_text(run_, value) : to_repr(run_, value));
    spec.type = 's';
    if (spec.align == '=') spec.fill = " ";
    spec.align = spec.align == '<' ? '<' : '>';
    return format_value(run_, Value::string(std::move(text)), spec);
  }
  if (value.is_undefined()) return Error{value.hint()};
  if (type == 'c' && value.is_string()) {
    spec.type = 's';
    if (spec.align != '<') spec.align = '>';
    return format_value(run_, value, spec);
  }
  if (!value.is_number()) return Error{fmt::format("%{} format: a number is required, not {}", type, type_name(value))};
  if (type == 'd' || type == 'i' || type == 'u') {
    spec.type = 'd';
    const int precision = std::exchange(spec.precision, -1);
    if (!std::isfinite(value.real()) || std::fabs(value.real()) >= 9.2e18) return Error{"%d: out of range"};
    const Value whole = value.is_integral() ? value : Value::integer(static_cast<int64_t>(value.real()));
    if (precision < 0) return format_value(run_, whole, spec);
    FormatSpec digits = spec;
    digits.fill = "0";
    digits.align = '=';
    digits.width = static_cast<size_t>(precision) + (whole.integer() < 0 || spec.sign != '-' ? 1 : 0);
    TRY_ASSIGN(std::string text, format_value(run_, Value::integer(whole.integer()), digits));
    spec.type = 's';
    spec.align = spec.align == '<' ? '<' : '>';
    spec.fill = " ";
    return format_value(run_, Value::string(std::move(text)), spec);
  }
  if (std::string_view("oxXeEfFgGc").find(type) == std::string_view::npos)
    return Error{fmt::format("unsupported format character '{}'", type)};
  if (spec.align == '\0') spec.align = '>';
  const bool wants_integer = type == 'o' || type == 'x' || type == 'X' || type == 'c';
  if (wants_integer && !value.is_integral())
    return Error{fmt::format("%{} format: an integer is required, not {}", type, type_name(value))};
  return format_value(run_, value, spec);
}

Status PercentFormatter::field() {
  Value value;
  const bool is_named = !rest_.empty() && rest_[0] == '(';
  if (is_named) {
    TRY_ASSIGN(value, named_value());
  }
  FormatSpec spec;
  TRY(flags(spec));
  if (rest_.empty()) return Error{"incomplete format"};
  spec.type = take();
  if (spec.type == '%') {
    out_ += '%';
    return Done{};
  }
  if (!is_named) {
    TRY_ASSIGN(value, next_value());
  }
  TRY_ASSIGN(const std::string text, converted(value, spec));
  out_ += text;
  return Done{};
}

Result<std::string> PercentFormatter::format() {
  while (!rest_.empty()) {
    const size_t percent = std::min(rest_.find('%'), rest_.size());
    out_ += rest_.substr(0, percent);
    rest_.remove_prefix(percent);
    if (rest_.empty()) break;
    take();
    SPEND(run_, 1);
    TRY(field());
    if (out_.size() > run_.limits().output_bytes) return Error{"a formatted text is too long"};
  }
  const bool used_all = values_.is(Kind::tuple) ? used_ == values_.items().size() : used_ > 0;
  if (!used_all && !by_name_ && !values_.is(Kind::dict) && !values_.is(Kind::list))
    return Error{"not all arguments converted during string formatting"};
  return std::move(out_);
}

// ---- "{}".format(values)

class BraceFormatter {
 public:
  BraceFormatter(Run& run, const Arguments& arguments) : run_(run), arguments_(arguments) {}

  Result<std::string> format(std::string_view pattern, int depth);

 private:
  Result<std::string> field(std::string_view field, int depth);
  Result<Value> lookup(std::string_view name);
  Result<Value> first_value(std::string_view name);

  Run& run_;
  const Arguments& arguments_;
  size_t next_ = 0;
};

Result<Value> BraceFormatter::first_value(std::string_view name) {
  size_t at = 0;
  if (name.empty()) {
    at = next_++;
  } else if (is_digits(name)) {
    const auto [end, ec] = std::from_chars(name.data(), name.data() + name.size(), at);
    if (ec != std::errc()) return Error{"format(): index out of range"};
  } else {
    SPEND(run_, arguments_.named.size() / 8);
    for (const auto& [known, value] : arguments_.named) {
      if (known == name) return value;
    }
    return Error{fmt::format("format(): no argument '{}'", name)};
  }
  if (at >= arguments_.positional.size()) return Error{"format(): index out of range"};
  return arguments_.positional[at];
}

Result<Value> BraceFormatter::lookup(std::string_view name) {
  const size_t first_end = std::min(name.find_first_of(".["), name.size());
  TRY_ASSIGN(Value value, first_value(name.substr(0, first_end)));
  name.remove_prefix(first_end);
  while (!name.empty()) {
    SPEND(run_, 1);
    if (name[0] == '.') {
      const size_t end = std::min(name.find_first_of(".[", 1), name.size());
      TRY_ASSIGN(value, get_attribute(run_, value, name.substr(1, end - 1)));
      name.remove_prefix(end);
      continue;
    }
    const size_t end = name.find(']');
    if (name[0] != '[' || end == std::string_view::npos || end == 1) return Error{"format(): malformed field"};
    const std::string_view key = name.substr(1, end - 1);
    int64_t number = 0;
    const bool is_number =
        is_digits(key) && std::from_chars(key.data(), key.data() + key.size(), number).ec == std::errc();
    TRY_ASSIGN(value, get_item(run_, value, is_number ? Value::integer(number) : Value::string(std::string(key))));
    name.remove_prefix(end + 1);
  }
  return value;
}

Result<std::string> BraceFormatter::field(std::string_view field, int depth) {
  const size_t name_end = std::min(field.find_first_of("!:"), field.size());
  TRY_ASSIGN(Value value, lookup(field.substr(0, name_end)));
  field.remove_prefix(name_end);
  if (field.starts_with('!')) {
    if (field.size() < 2 || (field.size() > 2 && field[2] != ':')) return Error{"format(): malformed conversion"};
    if (field[1] != 's' && field[1] != 'r' && field[1] != 'a') return Error{"format(): unknown conversion"};
    TRY_ASSIGN(std::string text, field[1] == 's' ? to_text(run_, value) : to_repr(run_, value));
    value = Value::string(std::move(text));
    field.remove_prefix(2);
  }
  if (field.empty()) return to_text(run_, value);
  TRY_ASSIGN(const std::string spec_text, format(field.substr(1), depth + 1));
  if (spec_text.empty()) return to_text(run_, value);
  TRY_ASSIGN(const FormatSpec spec, parse_format_spec(spec_text));
  if (!value.is_string() && !value.is_number()) return Error{"format(): a specification for a container"};
  return format_value(run_, value, spec);
}

Result<std::string> BraceFormatter::format(std::string_view pattern, int depth) {
  if (depth > 2) return Error{"format(): fields nested too deep"};
  std::string out;
  for (size_t pos = 0; pos < pattern.size();) {
    const char c = pattern[pos];
    if (c != '{' && c != '}') {
      out += c;
      ++pos;
      continue;
    }
    if (pos + 1 < pattern.size() && pattern[pos + 1] == c) {
      out += c;
      pos += 2;
      continue;
    }
    if (c == '}') return Error{"format(): single '}' in the pattern"};
    size_t end = pos + 1;
    for (int open = 1; end < pattern.size(); ++end) {
      open += pattern[end] == '{' ? 1 : pattern[end] == '}' ? -1 : 0;
      if (open == 0) break;
    }
    if (end >= pattern.size()) return Error{"format(): a field does not end"};
    SPEND(run_, 1);
    TRY_ASSIGN(const std::string text, field(pattern.substr(pos + 1, end - pos - 1), depth));
    out += text;
    if (out.size() > run_.limits().output_bytes) return Error{"a formatted text is too long"};
    pos = end + 1;
  }
  return out;
}

}  // namespace

Result<std::string> format_percent(Run& run, std::string_view pattern, const Value& values) {
  return PercentFormatter(run, pattern, values).format();
}

Result<std::string> format_braces(Run& run, std::string_view pattern, const Arguments& arguments) {
  return BraceFormatter(run, arguments).format(pattern, 0);
}

}  // namespace paceline::jinja
