#include "jinja/tests.h"

#include <fmt/format.h>

#include "jinja/arithmetic.h"
#include "jinja/bound.h"
#include "jinja/characters.h"
#include "jinja/compare.h"
#include "jinja/filters.h"
#include "jinja/methods.h"
#include "jinja/print.h"

namespace paceline::jinja {
namespace {

// A test that asks nothing but the value.
template <bool (*kHolds)(const Value&)>
Result<bool> plain(Run&, const Value& value, const Arguments& arguments) {
  TRY(Bound::of("test", arguments, {}));
  return kHolds(value);
}

bool is_defined(const Value& value) { return !value.is_undefined(); }
bool is_undefined(const Value& value) { return value.is_undefined(); }
bool is_none(const Value& value) { return value.is_none(); }
bool is_boolean(const Value& value) { return value.is(Kind::boolean); }
bool is_false(const Value& value) { return value.is(Kind::boolean) && value.integer() == 0; }
bool is_yes(const Value& value) { return value.is(Kind::boolean) && value.integer() == 1; }
bool is_integer(const Value& value) { return value.is(Kind::integer); }
bool is_float(const Value& value) { return value.is(Kind::real); }
bool is_text(const Value& value) { return value.is_string(); }
bool is_mapping(const Value& value) { return value.is(Kind::dict); }
bool is_numeric(const Value& value) { return value.is_number(); }
bool is_escaped(const Value& value) { return value.is_markup(); }
// What is undefined can be called as far as Python knows: that the call fails is another matter.
bool is_callable(const Value& value) {
  return value.is_undefined() || (value.is(Kind::native) && value.native().is_callable());
}

// What has a length and items; what is undefined counts, as in Jinja.
bool is_sequence(const Value& value) {
  return value.is_undefined() || value.is_string() || value.is_sequence() || value.is(Kind::range) ||
         value.is(Kind::dict);
}
bool is_iterable(const Value& value) { return is_sequence(value) || value.is(Kind::view) || value.is(Kind::iterator); }

Result<Value> modulo(Run& run, const Value& value, const Value& divisor) {
  return compute(run, BinaryOp::modulo, value, divisor);
}

template <bool kOdd>
Result<bool> parity(Run& run, const Value& value, const Arguments& arguments) {
  TRY(Bound::of("odd", arguments, {}));
  TRY_ASSIGN(const Value rest, modulo(run, value, Value::integer(2)));
  return equal(rest, Value::integer(kOdd ? 1 : 0));
}

Result<bool> is_divisible(Run& run, const Value& value, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("divisibleby", arguments, {"num"}, 1));
  TRY_ASSIGN(const Value rest, modulo(run, value, *bound[0]));
  return equal(rest, Value::integer(0));
}

template <uint8_t kFlag>
Result<bool> has_case(Run& run, const Value& value, const Arguments& arguments) {
  TRY(Bound::of("lower", arguments, {}));
  TRY_ASSIGN(const std::string text, to_text(run, value));
  SPEND(run, text.size() / 16);
  return has_case_only(text, kFlag);
}

Result<bool> is_same(Run&, const Value& value, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("sameas", arguments, {"other"}, 1));
  return same(value, *bound[0]);
}

Result<bool> is_in(Run& run, const Value& value, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("in", arguments, {"seq"}, 1));
  return contains(run, *bound[0], value);
}

template <bool kWanted>
Result<bool> equality(Run& run, const Value& value, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("eq", arguments, {"other"}, 1));
  if (!run.spend_on(value)) return run.exhausted();
  return equal(value, *bound[0]) == kWanted;
}

template <bool kLess, bool kOrEqual>
Result<bool> ordering(Run& run, const Value& value, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("lt", arguments, {"other"}, 1));
  if (!run.spend_on(value)) return run.exhausted();
  TRY_ASSIGN(const auto found, order(value, *bound[0]));
  return (kLess ? found < 0 : found > 0) || (kOrEqual && found == 0);
}

Result<bool> names_filter(Run&, const Value& value, const Arguments& arguments) {
  TRY(Bound::of("filter", arguments, {}));
  return value.is_string() && find_filter(value.text()) != nullptr;
}

Result<bool> names_test(Run&, const Value& value, const Arguments& arguments) {
  TRY(Bound::of("test", arguments, {}));
  return value.is_string() && find_test(value.text()) != nullptr;
}

struct NamedTest {
  std::string_view name;
  TestFunction function;
};

constexpr NamedTest kTests[] = {
    {"!=", equality<false>},
    {"<", ordering<true, false>},
    {"<=", ordering<true, true>},
    {"==", equality<true>},
    {">", ordering<false, false>},
    {">=", ordering<false, true>},
    {"boolean", plain<is_boolean>},
    {"callable", plain<is_callable>},
    {"defined", plain<is_defined>},
    {"divisibleby", is_divisible},
    {"eq", equality<true>},
    {"equalto", equality<true>},
    {"escaped", plain<is_escaped>},
    {"even", parity<false>},
    {"false", plain<is_false>},
    {"filter", names_filter},
    {"float", plain<is_float>},
    {"ge", ordering<false, true>},
    {"greaterthan", ordering<false, false>},
    {"gt", ordering<false, false>},
    {"in", is_in},
    {"integer", plain<is_integer>},
    {"iterable", plain<is_iterable>},
    {"le", ordering<true, true>},
    {"lessthan", ordering<true, false>},
    {"lower", has_case<kLower>},
    {"lt", ordering<true, false>},
    {"mapping", plain<is_mapping>},
    {"ne", equality<false>},
    {"none", plain<is_none>},
    {"number", plain<is_numeric>},
    {"odd", parity<true>},
    {"sameas", is_same},
    {"sequence", plain<is_sequence>},
    {"string", plain<is_text>},
    {"test", names_test},
    {"true", plain<is_yes>},
    {"undefined", plain<is_undefined>},
    {"upper", has_case<kUpper>},
};

}  // namespace

TestFunction find_test(std::string_view name) {
  for (const NamedTest& test : kTests) {
    if (test.name == name) return test.function;
  }
  return nullptr;
}

}  // namespace paceline::jinja
