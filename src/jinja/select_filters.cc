// map, select and their like: a filter or a test for each item.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "jinja/access.h"
#include "jinja/bound.h"
#include "jinja/filter_tables.h"
#include "jinja/methods.h"
#include "jinja/tests.h"

namespace paceline::jinja {
namespace {

Result<std::string_view> name_argument(const Arguments& arguments, size_t at, std::string_view what) {
  if (arguments.positional.size() <= at) return Error{fmt::format("expected {}, found nothing", what)};
  if (!arguments.positional[at].is_string()) return Error{fmt::format("expected {}, found no string", what)};
  return std::string_view(arguments.positional[at].text());
}

Arguments without_first(const Arguments& arguments, size_t count) {
  Arguments rest;
  rest.positional.assign(arguments.positional.begin() + static_cast<ptrdiff_t>(count), arguments.positional.end());
  rest.named = arguments.named;
  return rest;
}

Result<Value> map_attribute(Run& run, const Value& input, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("map", arguments, {"attribute", "default"}));
  TRY_ASSIGN(const AttributePath path, AttributePath::of(bound[0]));
  TRY_ASSIGN(std::vector<Value> items, own_items(run, input));
  for (Value& item : items) {
    SPEND(run, 1);
    TRY_ASSIGN(item, path.get(run, std::move(item), bound.is_absent(1) ? nullptr : bound[1]));
  }
  return run.iterator(std::move(items));
}

Result<Value> map(Run& run, const Value& input, const Arguments& arguments) {
  // As in Jinja, nothing at all is as good as an empty list here.
  if (!is_true(input)) return run.iterator({});
  const bool by_attribute =
      arguments.positional.empty() && std::any_of(arguments.named.begin(), arguments.named.end(),
                                                  [](const auto& named) { return named.first == "attribute"; });
  if (by_attribute) return map_attribute(run, input, arguments);
  TRY_ASSIGN(const std::string_view name, name_argument(arguments, 0, "a filter's name for map"));
  const FilterFunction filter = find_filter(name);
  if (filter == nullptr) return Error{fmt::format("no filter named '{}'", name)};
  SPEND(run, (arguments.positional.size() + arguments.named.size()) / 8);
  const Arguments rest = without_first(arguments, 1);
  TRY_ASSIGN(std::vector<Value> items, own_items(run, input));
  // map('map', 'map', ...) goes deeper with each name.
  const Deeper deeper(run);
  if (deeper.is_too_deep()) return Deeper::error();
  for (Value& item : items) {
    SPEND(run, 1);
    TRY_ASSIGN(item, filter(run, item, rest));
  }
  return run.iterator(std::move(items));
}

Result<Value> choose(Run& run, const Value& input, const Arguments& arguments, bool by_attribute, bool wanted) {
  if (!is_true(input)) return run.iterator({});
  AttributePath path;
  if (by_attribute) {
    if (arguments.positional.empty()) return Error{"expected an attribute's name, found nothing"};
    TRY_ASSIGN(path, AttributePath::of(arguments.positional.data()));
  }
  const size_t name_at = by_attribute ? 1 : 0;
  TestFunction test = nullptr;
  Arguments rest;
  if (arguments.positional.size() > name_at) {
    TRY_ASSIGN(const std::string_view name, name_argument(arguments, name_at, "a test's name"));
    test = find_test(name);
    if (test == nullptr) return Error{fmt::format("no test named '{}'", name)};
    SPEND(run, (arguments.positional.size() + arguments.named.size()) / 8);
    rest = without_first(arguments, name_at + 1);
  }
  TRY_ASSIGN(const Items items, iterate(run, input));
  std::vector<Value> chosen;
  for (const Value& item : items) {
    SPEND(run, 1);
    TRY_ASSIGN(const Value value, path.get(run, item));
    TRY_ASSIGN(const bool holds, test != nullptr ? test(run, value, rest) : Result<bool>(is_true(value)));
    if (holds == wanted) chosen.push_back(item);
  }
  return run.iterator(std::move(chosen));
}

template <bool kByAttribute, bool kWanted>
Result<Value> choose_filter(Run& run, const Value& input, const Arguments& arguments) {
  return choose(run, input, arguments, kByAttribute, kWanted);
}

Result<Value> attr(Run& run, const Value& input, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("attr", arguments, {"name"}, 1));
  TRY_ASSIGN(const std::string_view name, bound.string(0, ""));
  // Attributes alone, not the items of a dict.
  if (input.is(Kind::dict) && method_access(input, name) == MethodAccess::none)
    return Value::undefined(fmt::format("'dict object' has no attribute '{}'", name));
  return get_attribute(run, input, name);
}

constexpr NamedFilter kSelectFilters[] = {
    {"attr", attr},
    {"map", map},
    {"reject", choose_filter<false, false>},
    {"rejectattr", choose_filter<true, false>},
    {"select", choose_filter<false, true>},
    {"selectattr", choose_filter<true, true>},
};

}  // namespace

std::span<const NamedFilter> select_filters() { return kSelectFilters; }

Result<AttributePath> AttributePath::of(const Value* attribute) {
  AttributePath path;
  if (attribute == nullptr || attribute->is_none()) return path;
  if (!attribute->is_string()) {
    path.keys.push_back(*attribute);
    return path;
  }
  std::string_view rest = attribute->text();
  while (true) {
    const size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    int64_t number = 0;
    const auto [end, ec] = std::from_chars(part.data(), part.data() + part.size(), number);
    const bool is_number = ec == std::errc() && end == part.data() + part.size() && number >= 0 && part[0] != '-';
    path.keys.push_back(is_number ? Value::integer(number) : Value::string(std::string(part)));
    if (dot == std::string_view::npos) return path;
    rest.remove_prefix(dot + 1);
  }
}

Result<Value> AttributePath::get(Run& run, Value item, const Value* otherwise) const {
  for (const Value& key : keys) {
    SPEND(run, 1);
    TRY_ASSIGN(item, get_item(run, item, key));
    if (item.is_undefined() && otherwise != nullptr) item = *otherwise;
  }
  return item;
}

}  // namespace paceline::jinja
