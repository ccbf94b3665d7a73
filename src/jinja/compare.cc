#include "jinja/compare.h"

#include <fmt/format.h>

#include <algorithm>

#include "jinja/search.h"

namespace paceline::jinja {
namespace {

// A long double holds every int64_t, so integers and reals are compared exactly.
std::partial_ordering compare_numbers(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return a.integer() <=> b.integer();
  const auto wide = [](const Value& value) {
    return value.is_integral() ? static_cast<long double>(value.integer()) : static_cast<long double>(value.real());
  };
  return wide(a) <=> wide(b);
}

bool equal_items(std::span<const Value> a, std::span<const Value> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), equal);
}

// The same numbers.
bool equal_ranges(const Range& a, const Range& b) {
  if (a.count != b.count || a.count == 0) return a.count == b.count;
  return a.start == b.start && (a.count == 1 || a.step == b.step);
}

bool equal_dicts(const Dict& a, const Dict& b) {
  if (a.size() != b.size()) return false;
  return std::all_of(a.entries().begin(), a.entries().end(), [&](const Dict::Entry& entry) {
    const Value* other = b.find(entry.first);
    return other != nullptr && equal(entry.second, *other);
  });
}

}  // namespace

bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::undefined:
    case Kind::none: return true;
    case Kind::string: return a.text() == b.text();
    case Kind::list:
    case Kind::tuple: return a.pointer() == b.pointer() || equal_items(a.items(), b.items());
    case Kind::range: return equal_ranges(a.range(), b.range());
    case Kind::dict: return a.pointer() == b.pointer() || equal_dicts(a.dict(), b.dict());
    default: return a.pointer() == b.pointer();
  }
}

Result<std::partial_ordering> order(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return compare_numbers(a, b);
  for (const Value* value : {&a, &b}) {
    if (value->is_undefined()) return Error{value->hint()};
  }
  // Bytes of UTF-8 are ordered as their characters are.
  if (a.is_string() && b.is_string()) return std::partial_ordering(a.text().compare(b.text()) <=> 0);
  if ((a.is(Kind::list) && b.is(Kind::list)) || (a.is(Kind::tuple) && b.is(Kind::tuple))) {
    const size_t common = std::min(a.items().size(), b.items().size());
    for (size_t i = 0; i < common; ++i) {
      if (!equal(a.items()[i], b.items()[i])) return order(a.items()[i], b.items()[i]);
    }
    return std::partial_ordering(a.items().size() <=> b.items().size());
  }
  return Error{fmt::format("'{}' and '{}' have no order", type_name(a), type_name(b))};
}

Result<bool> contains(Run& run, const Value& container, const Value& item) {
  switch (container.kind()) {
    case Kind::string:
      if (!item.is_string()) {
        return Error{item.is_undefined()
                         ? item.hint()
                         : fmt::format("'in <string>' requires string as left operand, not {}", type_name(item))};
      }
      SPEND(run, (container.text().size() + item.text().size()) / 64);
      return find_text(container.text(), item.text()) != std::string::npos;
    case Kind::dict:
      if (!run.spend_on(item)) return run.exhausted();
      if (!is_hashable(item)) return Error{fmt::format("unhashable type: '{}'", type_name(item))};
      return container.dict().find(item) != nullptr;
    default: break;
  }
  // Before an iterator is read: what is left in it weighs at most as much.
  if (!run.spend_on(container)) return run.exhausted();
  TRY_ASSIGN(const Items items, iterate(run, container));
  for (const Value& other : items) {
    if (equal(other, item)) return true;
  }
  return false;
}

bool same(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::undefined: return a.pointer() == b.pointer();
    case Kind::none: return true;
    case Kind::boolean:
    case Kind::integer: return a.integer() == b.integer();
    case Kind::real: return a.real() == b.real();
    case Kind::string: return a.text() == b.text();
    default: return a.pointer() == b.pointer();
  }
}

}  // namespace paceline::jinja
