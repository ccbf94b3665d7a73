#include "jinja/arithmetic.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "jinja/escape.h"
#include "jinja/format.h"

namespace paceline::jinja {
namespace {

constexpr std::string_view kSigns[] = {"+", "-", "*", "/", "//", "%", "**"};
constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();

Error unsupported(BinaryOp op, const Value& a, const Value& b) {
  for (const Value* value : {&a, &b}) {
    if (value->is_undefined()) return Error{value->hint()};
  }
  if (op == BinaryOp::add && a.is_string())
    return Error{fmt::format("can only concatenate str (not \"{}\") to str", type_name(b))};
  return Error{fmt::format("unsupported operand types for {}: '{}' and '{}'", kSigns[static_cast<size_t>(op)],
                           type_name(a), type_name(b))};
}

Error overflow() { return Error{"an integer is out of range"}; }

Result<Value> integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return Error{"0 cannot be raised to a negative power"};
    return Value::real(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t power = 1;
  while (exponent > 0) {
    if ((exponent & 1) && __builtin_mul_overflow(power, base, &power)) return overflow();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return overflow();
  }
  return Value::integer(power);
}

int64_t floor_quotient(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? quotient - 1 : quotient;
}

Result<Value> compute_integers(BinaryOp op, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (op) {
    case BinaryOp::add:
      if (__builtin_add_overflow(a, b, &result)) return overflow();
      return Value::integer(result);
    case BinaryOp::subtract:
      if (__builtin_sub_overflow(a, b, &result)) return overflow();
      return Value::integer(result);
    case BinaryOp::multiply:
      if (__builtin_mul_overflow(a, b, &result)) return overflow();
      return Value::integer(result);
    case BinaryOp::power: return integer_power(a, b);
    default: break;
  }
  if (b == 0) return Error{"division by zero"};
  if (op == BinaryOp::divide) {
    return Value::real(static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b)));
  }
  if (a == kLowest && b == -1) return op == BinaryOp::modulo ? Result<Value>(Value::integer(0)) : overflow();
  return Value::integer(op == BinaryOp::modulo ? floor_modulo(a, b) : floor_quotient(a, b));
}

double real_modulo(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0 && (b < 0) != (rest < 0)) rest += b;
  return rest == 0 ? std::copysign(0.0, b) : rest;
}

// As Python: from the remainder, so that both agree.
double real_floor_quotient(double a, double b) {
  const double quotient = (a - real_modulo(a, b)) / b;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

Result<Value> compute_reals(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::add: return Value::real(a + b);
    case BinaryOp::subtract: return Value::real(a - b);
    case BinaryOp::multiply: return Value::real(a * b);
    case BinaryOp::power: {
      if (a == 0 && b < 0) return Error{"0.0 cannot be raised to a negative power"};
      const double power = std::pow(a, b);
      if (std::isnan(power) && !std::isnan(a) && !std::isnan(b)) return Error{"complex numbers are not known"};
      if (std::isinf(power) && std::isfinite(a) && std::isfinite(b)) return Error{"a number is out of range"};
      return Value::real(power);
    }
    default: break;
  }
  if (b == 0) return Error{"division by zero"};
  if (op == BinaryOp::divide) return Value::real(a / b);
  return Value::real(op == BinaryOp::modulo ? real_modulo(a, b) : real_floor_quotient(a, b));
}

Result<Value> add_texts(Run& run, const Value& a, const Value& b) {
  TRY(run.reserve(a.text().size() + b.text().size()));
  if (!a.is_markup() && !b.is_markup()) return Value::string(a.text() + b.text());
  TRY_ASSIGN(std::string left, escaped(run, a));
  TRY_ASSIGN(const std::string right, escaped(run, b));
  return run.string(left + right, true);
}

Result<Value> add_sequences(Run& run, const Value& a, const Value& b) {
  SPEND(run, (a.items().size() + b.items().size()) / 8);
  std::vector<Value> items(a.items().begin(), a.items().end());
  items.insert(items.end(), b.items().begin(), b.items().end());
  return a.is(Kind::list) ? run.list(std::move(items)) : run.tuple(std::move(items));
}

Result<Value> repeat(Run& run, const Value& value, int64_t times) {
  const auto count = static_cast<size_t>(std::max<int64_t>(times, 0));
  const size_t once = value.is_string() ? value.text().size() : value.items().size() * sizeof(Value);
  if (once > 0 && count > run.limits().bytes / once) return Error{"a repeated value is too long"};
  TRY(run.reserve(once * count));
  if (value.is_string()) {
    std::string text;
    text.reserve(once * count);
    if (once > 0) SPEND(run, count / 8);
    for (size_t i = 0; i < count && once > 0; ++i) text += value.text();
    return value.is_markup() ? Value::markup(std::move(text)) : Value::string(std::move(text));
  }
  std::vector<Value> items;
  for (size_t i = 0; i < count && once > 0; ++i) {
    SPEND(run, 1 + value.items().size() / 8);
    items.insert(items.end(), value.items().begin(), value.items().end());
  }
  return value.is(Kind::list) ? run.list(std::move(items)) : run.tuple(std::move(items));
}

bool is_list_or_tuple(const Value& value) { return value.is(Kind::list) || value.is(Kind::tuple); }

}  // namespace

int64_t floor_modulo(int64_t a, int64_t b) {
  if (b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && ((rest < 0) != (b < 0)) ? rest + b : rest;
}

Result<Value> compute(Run& run, BinaryOp op, const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return compute_integers(op, a.integer(), b.integer());
  if (a.is_number() && b.is_number()) return compute_reals(op, a.real(), b.real());
  if (op == BinaryOp::add) {
    if (a.is_string() && b.is_string()) return add_texts(run, a, b);
    if (is_list_or_tuple(a) && a.kind() == b.kind()) return add_sequences(run, a, b);
  }
  if (op == BinaryOp::multiply) {
    if ((a.is_string() || is_list_or_tuple(a)) && b.is_integral()) return repeat(run, a, b.integer());
    if ((b.is_string() || is_list_or_tuple(b)) && a.is_integral()) return repeat(run, b, a.integer());
  }
  if (op == BinaryOp::modulo && a.is_string()) {
    TRY_ASSIGN(std::string text, format_percent(run, a.text(), b));
    return run.string(std::move(text), a.is_markup());
  }
  return unsupported(op, a, b);
}

Result<Value> negated(const Value& value) {
  if (value.is(Kind::real)) return Value::real(-value.real());
  if (value.is_undefined()) return Error{value.hint()};
  if (!value.is_integral()) return Error{fmt::format("bad operand type for unary -: '{}'", type_name(value))};
  if (value.integer() == kLowest) return overflow();
  return Value::integer(-value.integer());
}

}  // namespace paceline::jinja
