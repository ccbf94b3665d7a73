#include <algorithm>
#include <map>
#include <tuple>

#include "grammar/parts.h"

namespace paceline::grammar {
namespace {

// A number without its sign, between two others.
struct Magnitudes {
  Decimal low;
  std::optional<Decimal> high;
  bool low_excluded = false, high_excluded = false;
  bool integer = false, exponent = false;
  Multiple multiple = {1, kMaxFractionDigits};
};

// Whether the digits written so far are those of the bound; if not, the bound is kept whatever follows.
struct Tight {
  bool low = false, high = false;
};

class MagnitudeBuilder {
 public:
  MagnitudeBuilder(AutomatonBuilder& builder, const Magnitudes& range) : b_(builder), range_(range) {}

  void add(StateId from) {
    const auto least = static_cast<int>(range_.low.integer.size());
    const int most = range_.high ? static_cast<int>(range_.high->integer.size()) : kMaxIntegerDigits;
    for (int digits = least; digits <= std::min(most, kMaxIntegerDigits); ++digits) {
      b_.go(from, integer_part(digits, 0, {digits == least, range_.high && digits == most}, 0));
    }
  }

 private:
  static char digit_of(const std::string& digits, int at) {
    return at < static_cast<int>(digits.size()) ? digits[at] : '0';
  }
  static bool zero_from(const std::string& digits, int at) {
    return at >= static_cast<int>(digits.size()) || digits.find_first_not_of('0', at) == std::string::npos;
  }

  // What is left of the digits so far when the multiple has been taken away, with one digit more.
  [[nodiscard]] int64_t left_behind(int64_t left, int digit) const {
    return (left * 10 + digit - '0') % range_.multiple.count;
  }

  // Before digit `at` of so many.
  StateId integer_part(int digits, int at, Tight tight, int64_t left) {
    const bool free = !tight.low && !tight.high;
    const auto key =
        std::tuple(free && at > 0 ? -1 : digits, free && at > 0 ? digits - at : at, tight.low, tight.high, left);
    if (const auto known = integers_.find(key); known != integers_.end()) return known->second;
    const StateId made = b_.add();
    integers_[key] = made;
    if (at == digits) {
      end_of(made, 0, tight, left);
      if (!range_.integer) b_.bytes(made, '.', '.', fraction(0, tight, left));
      return made;
    }
    const char first = at == 0 && digits > 1 ? '1' : '0';
    const std::string* low = tight.low ? &range_.low.integer : nullptr;
    const std::string* high = tight.high ? &range_.high->integer : nullptr;
    add_digits(made, first, low ? (*low)[at] : '0', high ? (*high)[at] : '9', tight,
               [&](Tight then, int digit) { return integer_part(digits, at + 1, then, left_behind(left, digit)); });
    return made;
  }

  // Before digit `at` behind the point.
  StateId fraction(int at, Tight tight, int64_t left) {
    const auto key = std::tuple(at, tight.low, tight.high, left);
    if (const auto known = fractions_.find(key); known != fractions_.end()) return known->second;
    const StateId made = b_.add();
    fractions_[key] = made;
    if (at > 0) end_of(made, at, tight, left);
    if (at == range_.multiple.digits) return made;
    add_digits(made, '0', tight.low ? digit_of(range_.low.fraction, at) : '0',
               tight.high ? digit_of(range_.high->fraction, at) : '9', tight,
               [&](Tight then, int digit) { return fraction(at + 1, then, left_behind(left, digit)); });
    return made;
  }

  template <class Next>
  void add_digits(StateId from, char first, char low, char high, Tight tight, Next next) {
    int least = std::max(first, low), most = high;
    const auto add_one = [&](int digit) {
      b_.bytes(from, digit, digit, next({tight.low && digit == low, tight.high && digit == high}, digit));
    };
    // The bounds' own digits by themselves, and all between them alike, unless each leaves something else.
    if (least <= most && tight.low && least == low) add_one(least++);
    if (least <= most && tight.high) add_one(most--);
    if (range_.multiple.count > 1) {
      for (int digit = least; digit <= most; ++digit) add_one(digit);
    } else if (least <= most) {
      b_.bytes(from, least, most, next({}, least));
    }
  }

  // Whether the multiple goes into what has so many digits behind the point.
  [[nodiscard]] bool goes_into(int64_t left, int fraction_digits) const {
    for (int i = fraction_digits; range_.multiple.count > 1 && i < range_.multiple.digits; ++i)
      left = left_behind(left, '0');
    return left == 0;
  }

  // The number may end here if it is within the bounds as it stands.
  void end_of(StateId state, int fraction_digits, Tight tight, int64_t left) {
    if (!goes_into(left, fraction_digits)) return;
    if (tight.low && (!zero_from(range_.low.fraction, fraction_digits) || range_.low_excluded)) return;
    if (tight.high && range_.high_excluded && zero_from(range_.high->fraction, fraction_digits)) return;
    b_.go(state, kAccept);
    if (!range_.exponent) return;
    if (exponent_ == kNoState) {
      exponent_ = b_.add();
      const StateId sign = b_.add(), one = b_.add(), two = b_.add();
      b_.bytes(exponent_, 'E', 'E', sign);
      b_.bytes(exponent_, 'e', 'e', sign);
      b_.bytes(sign, '+', '+', one);
      b_.bytes(sign, '-', '-', one);
      b_.go(sign, one);
      b_.bytes(one, '0', '9', two);
      b_.bytes(two, '0', '9', kAccept);
      b_.go(two, kAccept);
    }
    b_.go(state, exponent_);
  }

  AutomatonBuilder& b_;
  const Magnitudes& range_;
  std::map<std::tuple<int, int, bool, bool, int64_t>, StateId> integers_;
  std::map<std::tuple<int, bool, bool, int64_t>, StateId> fractions_;
  StateId exponent_ = kNoState;
};

bool is_zero(const Decimal& number) {
  return number.integer == "0" && number.fraction.find_first_not_of('0') == std::string::npos;
}

}  // namespace

StateId add_number(AutomatonBuilder& builder, const NumberBounds& bounds) {
  const StateId start = builder.add();
  const bool bounded = bounds.low || bounds.high || bounds.multiple;
  Magnitudes range;
  range.multiple = bounds.multiple.value_or(range.multiple);
  range.integer = bounds.integer || range.multiple.digits == 0;
  range.exponent = !bounded && !bounds.integer;
  const auto add_branch = [&](StateId from) { MagnitudeBuilder(builder, range).add(from); };

  const bool high_is_negative = bounds.high && bounds.high->negative && !is_zero(*bounds.high);
  if (!high_is_negative) {
    const bool low_counts = bounds.low && (!bounds.low->negative || is_zero(*bounds.low));
    range.low = low_counts ? *bounds.low : Decimal{};
    range.low_excluded = low_counts && bounds.low_excluded;
    range.high = bounds.high;
    range.high_excluded = bounds.high_excluded;
    add_branch(start);
  }
  const bool low_is_negative = !bounds.low || (bounds.low->negative && !is_zero(*bounds.low));
  if (low_is_negative) {
    range.low = high_is_negative ? *bounds.high : Decimal{};
    range.low_excluded = high_is_negative && bounds.high_excluded;
    // No -0: an integer begins at 1, and a fraction or a number with an exponent is above 0.
    if (!high_is_negative) {
      if (range.integer) range.low.integer = "1";
      range.low_excluded = !range.integer;
    }
    range.high = bounds.low;
    range.high_excluded = bounds.low_excluded;
    add_branch(builder.literal(start, "-"));
  }
  return start;
}

}  // namespace paceline::grammar
