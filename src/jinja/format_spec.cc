#include "jinja/format_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "jinja/characters.h"
#include "jinja/print.h"

namespace paceline::jinja {
namespace {

constexpr std::string_view kAligns = "<>^=";
constexpr int kMaxPrecision = 500;

class SpecReader {
 public:
  explicit SpecReader(std::string_view text) : rest_(text) {}

  Result<FormatSpec> read() {
    FormatSpec spec;
    read_align(spec);
    if (const char sign = take_one_of("+- ")) spec.sign = sign;
    spec.alternate = take_one_of("#") != '\0';
    if (take_one_of("0") != '\0' && spec.align == '\0') {
      spec.fill = "0";
      spec.align = '=';
    }
    TRY_ASSIGN(spec.width, read_number());
    spec.grouping = take_one_of(",_");
    if (take_one_of(".") != '\0') {
      if (rest_.empty() || rest_[0] < '0' || rest_[0] > '9') return Error{"format specifier missing precision"};
      TRY_ASSIGN(const size_t precision, read_number());
      spec.precision = static_cast<int>(precision);
    }
    spec.type = take_one_of("bcdeEfFgGnosxX%");
    if (!rest_.empty()) return Error{fmt::format("invalid format specifier at '{}'", rest_)};
    return spec;
  }

 private:
  void read_align(FormatSpec& spec) {
    if (rest_.empty()) return;
    const size_t fill_bytes = char_at(rest_, 0).bytes;
    if (rest_.size() > fill_bytes && kAligns.find(rest_[fill_bytes]) != std::string_view::npos) {
      spec.fill = rest_.substr(0, fill_bytes);
      spec.align = rest_[fill_bytes];
      rest_.remove_prefix(fill_bytes + 1);
    } else {
      spec.align = take_one_of(kAligns);
    }
  }

  char take_one_of(std::string_view chars) {
    if (rest_.empty() || chars.find(rest_[0]) == std::string_view::npos) return '\0';
    const char taken = rest_[0];
    rest_.remove_prefix(1);
    return taken;
  }

  Result<size_t> read_number() {
    size_t number = 0;
    while (!rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9') {
      number = number * 10 + static_cast<size_t>(rest_[0] - '0');
      if (number > kMaxFormatWidth) return Error{fmt::format("a format wider than {}", kMaxFormatWidth)};
      rest_.remove_prefix(1);
    }
    return number;
  }

  std::string_view rest_;
};

std::string with_groups(const std::string& digits, char separator, size_t every) {
  std::string grouped;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % every == 0) grouped += separator;
    grouped += digits[i];
  }
  return grouped;
}

// A number in two parts, so that padding may go between them.
struct Parts {
  std::string sign;
  std::string digits;
};

std::string sign_text(bool is_negative, char sign) {
  if (is_negative) return "-";
  return sign == '-' ? "" : std::string(1, sign);
}

Result<Parts> integer_parts(int64_t value, const FormatSpec& spec) {
  if (spec.precision >= 0) return Error{"precision not allowed in integer format specifier"};
  const bool is_negative = value < 0;
  const uint64_t size = is_negative ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  Parts parts{sign_text(is_negative, spec.sign), ""};
  size_t every = 3;
  switch (spec.type) {
    case 'b': parts.digits = fmt::format("{:b}", size); break;
    case 'o': parts.digits = fmt::format("{:o}", size); break;
    case 'x': parts.digits = fmt::format("{:x}", size); break;
    case 'X': parts.digits = fmt::format("{:X}", size); break;
    default: parts.digits = std::to_string(size);
  }
  const bool has_base = spec.type != '\0' && std::string_view("boxX").find(spec.type) != std::string_view::npos;
  if (has_base) every = 4;
  if (spec.grouping != '\0') parts.digits = with_groups(parts.digits, spec.grouping, every);
  if (spec.alternate && has_base) parts.sign += std::string("0") + spec.type;
  return parts;
}

// Python writes exponents with at least two digits, as printf does.
std::string printf_real(double size, char type, int precision, bool alternate) {
  const char pattern[] = {'%', alternate ? '#' : '-', '.', '*', type, '\0'};
  std::string text(400 + static_cast<size_t>(precision), '\0');
  const int written = std::snprintf(text.data(), text.size(), pattern, precision, size);
  text.resize(static_cast<size_t>(written));
  return text;
}

Result<Parts> real_parts(double value, const FormatSpec& spec) {
  if (spec.precision > kMaxPrecision) return Error{fmt::format("a precision above {}", kMaxPrecision)};
  Parts parts{sign_text(std::signbit(value) && !std::isnan(value), spec.sign), ""};
  double size = std::fabs(value);
  const int precision = spec.precision < 0 ? 6 : spec.precision;
  if (std::isnan(value) || std::isinf(value)) {
    parts.digits = std::isnan(value) ? "nan" : "inf";
    if (spec.type == 'F' || spec.type == 'E' || spec.type == 'G') parts.digits = std::isnan(value) ? "NAN" : "INF";
    return parts;
  }
  if (spec.type == '\0' && spec.precision < 0) {
    parts.digits = real_text(size);
  } else if (spec.type == '\0') {
    // Like g, but with a digit behind the point.
    parts.digits = printf_real(size, 'g', std::max(precision, 1), false);
    const bool is_plain = parts.digits.find_first_of(".e") == std::string::npos;
    if (is_plain) parts.digits += ".0";
  } else if (spec.type == '%') {
    parts.digits = printf_real(size * 100, 'f', precision, spec.alternate) + "%";
  } else {
    parts.digits = printf_real(size, spec.type == 'n' ? 'g' : spec.type, precision, spec.alternate);
  }
  if (spec.grouping != '\0') {
    const size_t whole = std::min(parts.digits.find_first_not_of("0123456789"), parts.digits.size());
    parts.digits = with_groups(parts.digits.substr(0, whole), spec.grouping, 3) + parts.digits.substr(whole);
  }
  return parts;
}

std::string padded(const Parts& parts, const FormatSpec& spec, char align) {
  const size_t length = count_characters(parts.sign) + count_characters(parts.digits);
  const size_t missing = spec.width > length ? spec.width - length : 0;
  const size_t before = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  const auto fill = [&](size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i) text += spec.fill;
    return text;
  };
  if (align == '=') return parts.sign + fill(missing) + parts.digits;
  return fill(before) + parts.sign + parts.digits + fill(missing - before);
}

bool is_real_type(char type) {
  return type != '\0' && std::string_view("eEfFgG%").find(type) != std::string_view::npos;
}

}  // namespace

Result<FormatSpec> parse_format_spec(std::string_view text) { return SpecReader(text).read(); }

Result<std::string> format_value(Run& run, const Value& value, const FormatSpec& spec) {
  TRY(run.reserve(4 * spec.width));
  const auto refuse = [&] {
    return Error{fmt::format("format code '{}' is not for '{}'", spec.type, type_name(value))};
  };
  const bool is_plain_boolean = value.is(Kind::boolean) && spec.type == '\0';
  if (value.is_number() && !is_plain_boolean) {
    if (spec.type == 's') return refuse();
    const bool as_real = value.is(Kind::real) || is_real_type(spec.type);
    if (as_real && spec.type != '\0' && spec.type != 'n' && !is_real_type(spec.type)) return refuse();
    if (spec.type == 'c') {
      const int64_t code = value.integer();
      if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return Error{"%c: not a character"};
      Parts parts;
      append_utf8(static_cast<char32_t>(code), parts.digits);
      return padded(parts, spec, spec.align == '\0' ? '<' : spec.align);
    }
    TRY_ASSIGN(const Parts parts, as_real ? real_parts(value.real(), spec) : integer_parts(value.integer(), spec));
    return padded(parts, spec, spec.align == '\0' ? '>' : spec.align);
  }
  if (spec.type != '\0' && spec.type != 's') return refuse();
  if (spec.align == '=' && spec.fill != "0") return Error{"'=' alignment not allowed in string format specifier"};
  TRY_ASSIGN(std::string text, to_text(run, value));
  if (spec.precision >= 0) text.resize(byte_of_character(text, static_cast<size_t>(spec.precision)));
  return padded({"", std::move(text)}, spec, spec.align == '\0' || spec.align == '=' ? '<' : spec.align);
}

}  // namespace paceline::jinja
