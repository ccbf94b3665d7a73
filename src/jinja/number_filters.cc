// Filters that give numbers.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/utf8.h"
#include "jinja/arithmetic.h"
#include "jinja/bound.h"
#include "jinja/filter_tables.h"

namespace paceline::jinja {
namespace {

// Digits with single underscores between them, as int() and float() take them.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      plain += text[i];
      continue;
    }
    const auto is_digit = [&](size_t at) {
      return at < text.size() && std::isxdigit(static_cast<unsigned char>(text[at]));
    };
    if (i == 0 || !is_digit(i - 1) || !is_digit(i + 1)) return std::nullopt;
  }
  return plain;
}

enum class ReadInteger : uint8_t { done, invalid, too_large };

ReadInteger read_integer(std::string_view given, int64_t base, int64_t& result) {
  const auto plain = without_underscores(strip_like_python(given));
  if (!plain) return ReadInteger::invalid;
  std::string_view digits = *plain;
  const bool is_negative = digits.starts_with('-');
  if (is_negative || digits.starts_with('+')) digits.remove_prefix(1);
  const auto has_prefix = [&](int64_t of, char letter) {
    return (base == of || base == 0) && digits.size() > 2 && digits[0] == '0' && (digits[1] | 0x20) == letter;
  };
  for (const auto& [of, letter] : {std::pair{16, 'x'}, {8, 'o'}, {2, 'b'}}) {
    if (!has_prefix(of, letter)) continue;
    digits.remove_prefix(2);
    base = of;
    break;
  }
  if (base == 0) base = 10;
  if (base < 2 || base > 36 || digits.empty() || digits[0] == '-') return ReadInteger::invalid;
  const std::string signed_digits = (is_negative ? "-" : "") + std::string(digits);
  const char* end = signed_digits.data() + signed_digits.size();
  const auto [last, ec] = std::from_chars(signed_digits.data(), end, result, static_cast<int>(base));
  if (ec == std::errc::invalid_argument || last != end) return ReadInteger::invalid;
  return ec == std::errc() ? ReadInteger::done : ReadInteger::too_large;
}

std::optional<double> read_real(std::string_view given) {
  const auto plain = without_underscores(strip_like_python(given));
  if (!plain || plain->empty()) return std::nullopt;
  std::string_view digits = *plain;
  if (digits.starts_with('+')) {
    digits.remove_prefix(1);
    if (digits.starts_with('-')) return std::nullopt;
  }
  double value = 0;
  const auto [last, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (ec == std::errc::invalid_argument || last != digits.data() + digits.size()) return std::nullopt;
  // from_chars takes nan(...) too.
  if (digits.find('(') != std::string_view::npos) return std::nullopt;
  if (ec == std::errc::result_out_of_range) {
    return digits.find("e-") != std::string_view::npos || digits.find("E-") != std::string_view::npos
               ? 0.0
               : std::copysign(std::numeric_limits<double>::infinity(), digits[0] == '-' ? -1.0 : 1.0);
  }
  return value;
}

std::optional<Value> truncated(double value) {
  if (!std::isfinite(value) || std::fabs(value) >= 9223372036854775808.0) return std::nullopt;
  return Value::integer(static_cast<int64_t>(value));
}

Result<Value> to_int(Run& run, const Value& input, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("int", arguments, {"default", "base"}));
  TRY_ASSIGN(const int64_t base, bound.integer(1, 10));
  const Value otherwise = bound[0] != nullptr ? *bound[0] : Value::integer(0);
  if (input.is_undefined()) return Error{input.hint()};
  if (input.is_integral()) return Value::integer(input.integer());
  if (input.is(Kind::real)) {
    if (std::isinf(input.real())) return Error{"int: infinity has no integer"};
    if (std::isnan(input.real())) return otherwise;
    const auto whole = truncated(input.real());
    if (!whole) return Error{"int: the number is out of range"};
    return *whole;
  }
  if (!input.is_string()) return otherwise;
  SPEND(run, input.text().size() / 16);
  int64_t number = 0;
  switch (read_integer(input.text(), base, number)) {
    case ReadInteger::done: return Value::integer(number);
    case ReadInteger::too_large: return Error{"int: the number is out of range"};
    case ReadInteger::invalid: break;
  }
  const auto real = read_real(input.text());
  if (!real || !std::isfinite(*real)) return otherwise;
  const auto whole = truncated(*real);
  if (!whole) return Error{"int: the number is out of range"};
  return *whole;
}

Result<Value> to_float(Run& run, const Value& input, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("float", arguments, {"default"}));
  const Value otherwise = bound[0] != nullptr ? *bound[0] : Value::real(0);
  if (input.is_undefined()) return Error{input.hint()};
  if (input.is_number()) return Value::real(input.real());
  if (!input.is_string()) return otherwise;
  SPEND(run, input.text().size() / 16);
  const auto real = read_real(input.text());
  return real ? Value::real(*real) : otherwise;
}

Result<Value> absolute(Run&, const Value& input, const Arguments& arguments) {
  TRY(Bound::of("abs", arguments, {}));
  if (input.is_undefined()) return Error{input.hint()};
  if (!input.is_number()) return Error{fmt::format("abs wants a number, found '{}'", type_name(input))};
  if (input.is(Kind::real)) return Value::real(std::fabs(input.real()));
  return input.integer() < 0 ? negated(input) : Result<Value>(Value::integer(input.integer()));
}

// Half to even, from the exact value of the number, as Python rounds and printf does.
double rounded(double value, int64_t precision) {
  if (!std::isfinite(value) || precision > 330) return value;
  if (precision < -310) return std::copysign(0.0, value);
  if (precision < 0) {
    const double scale = std::pow(10.0, static_cast<double>(-precision));
    return std::nearbyint(value / scale) * scale;
  }
  const std::string digits = fmt::format("{:.{}f}", value, static_cast<int>(precision));
  double read = value;
  (void)std::from_chars(digits.data(), digits.data() + digits.size(), read);
  return read;
}

Result<Value> rounded_integer(int64_t value, int64_t precision) {
  if (precision >= 0) return Value::integer(value);
  if (precision < -18) return Value::integer(0);
  int64_t scale = 1;
  for (int64_t i = 0; i < -precision; ++i) scale *= 10;
  int64_t rest = floor_modulo(value, scale);
  int64_t low = 0;
  if (__builtin_sub_overflow(value, rest, &low)) return Error{"round: the number is out of range"};
  const bool up = rest * 2 > scale || (rest * 2 == scale && (low / scale) % 2 != 0);
  if (up && __builtin_add_overflow(low, scale, &low)) return Error{"round: the number is out of range"};
  return Value::integer(low);
}

Result<Value> round(Run&, const Value& input, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("round", arguments, {"precision", "method"}));
  TRY_ASSIGN(const int64_t precision, bound.integer(0, 0));
  TRY_ASSIGN(const std::string_view method, bound.string(1, "common"));
  if (input.is_undefined()) return Error{input.hint()};
  if (!input.is_number()) return Error{fmt::format("round wants a number, found '{}'", type_name(input))};
  if (method == "common") {
    if (input.is_integral()) return rounded_integer(input.integer(), precision);
    return Value::real(rounded(input.real(), precision));
  }
  if (method != "ceil" && method != "floor") return Error{"round: method must be common, ceil or floor"};
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = input.real() * scale;
  if (!std::isfinite(scaled)) return Error{"round: the number is out of range"};
  return Value::real((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

Result<Value> sum(Run& run, const Value& input, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("sum", arguments, {"attribute", "start"}));
  TRY_ASSIGN(const AttributePath path, AttributePath::of(bound[0]));
  TRY_ASSIGN(const Items items, iterate(run, input));
  Value total = bound[1] != nullptr ? *bound[1] : Value::integer(0);
  if (total.is_string()) return Error{"sum cannot sum strings"};
  for (const Value& item : items) {
    SPEND(run, 1);
    TRY_ASSIGN(const Value value, path.get(run, item));
    TRY_ASSIGN(total, compute(run, BinaryOp::add, total, value));
  }
  return total;
}

constexpr NamedFilter kNumberFilters[] = {
    {"abs", absolute}, {"float", to_float}, {"int", to_int}, {"round", round}, {"sum", sum},
};

}  // namespace

std::span<const NamedFilter> number_filters() { return kNumberFilters; }

}  // namespace paceline::jinja
