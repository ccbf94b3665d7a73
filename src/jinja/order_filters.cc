// Filters that put items in order.
#include <fmt/format.h>

#include <algorithm>

#include "jinja/bound.h"
#include "jinja/characters.h"
#include "jinja/compare.h"
#include "jinja/filter_tables.h"

namespace paceline::jinja {
namespace {

struct Keyed {
  Value key, item;
};

// Stable. Written out because a comparison may fail, which std::stable_sort has no way to say.
Status sort_by_key(Run& run, std::vector<Keyed>& list, bool descending) {
  std::vector<Keyed> merged(list.size());
  for (size_t width = 1; width < list.size(); width *= 2) {
    for (size_t begin = 0; begin < list.size(); begin += 2 * width) {
      const size_t middle = std::min(begin + width, list.size()), end = std::min(begin + 2 * width, list.size());
      size_t left = begin, right = middle;
      for (size_t out = begin; out < end; ++out) {
        bool take_right = left == middle;
        if (!take_right && right < end) {
          SPEND(run, 1 + static_cast<size_t>(list[left].key.extent().weight));
          TRY_ASSIGN(const auto ordering, order(list[right].key, list[left].key));
          take_right = descending ? ordering > 0 : ordering < 0;
        }
        merged[out] = std::move(list[take_right ? right++ : left++]);
      }
    }
    std::swap(list, merged);
  }
  return Done{};
}

struct KeyRule {
  AttributePath path;
  bool case_sensitive = false;
  const Value* otherwise = nullptr;

  Result<Value> operator()(Run& run, const Value& item) const {
    TRY_ASSIGN(Value key, path.get(run, item, otherwise));
    if (case_sensitive) return key;
    return without_case(run, key);
  }
};

Result<std::vector<Keyed>> keyed(Run& run, const Value& input, const KeyRule& rule) {
  TRY_ASSIGN(std::vector<Value> items, own_items(run, input));
  std::vector<Keyed> list;
  list.reserve(items.size());
  for (Value& item : items) {
    SPEND(run, 1);
    TRY_ASSIGN(Value key, rule(run, item));
    list.push_back({std::move(key), std::move(item)});
  }
  return list;
}

Result<Value> items_of(Run& run, std::vector<Keyed> list) {
  std::vector<Value> items;
  items.reserve(list.size());
  for (Keyed& entry : list) items.push_back(std::move(entry.item));
  return run.list(std::move(items));
}

// "a,b.c": the keys in this order.
Result<std::vector<AttributePath>> paths_of(const Value* attribute) {
  std::vector<AttributePath> paths;
  if (attribute == nullptr || !attribute->is_string()) {
    TRY_ASSIGN(AttributePath path, AttributePath::of(attribute));
    paths.push_back(std::move(path));
    return paths;
  }
  std::string_view rest = attribute->text();
  while (true) {
    const size_t comma = rest.find(',');
    const Value part = Value::string(std::string(rest.substr(0, comma)));
    TRY_ASSIGN(AttributePath path, AttributePath::of(&part));
    paths.push_back(std::move(path));
    if (comma == std::string_view::npos) return paths;
    rest.remove_prefix(comma + 1);
  }
}

Result<Value> sort(Run& run, const Value& input, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("sort", arguments, {"reverse", "case_sensitive", "attribute"}));
  TRY_ASSIGN(const std::vector<AttributePath> paths, paths_of(bound.is_absent(2) ? nullptr : bound[2]));
  TRY_ASSIGN(std::vector<Value> items, own_items(run, input));
  std::vector<Keyed> list;
  for (Value& item : items) {
    std::vector<Value> keys;
    for (const AttributePath& path : paths) {
      SPEND(run, 1);
      const KeyRule rule{path, bound.truth(1, false)};
      TRY_ASSIGN(Value key, rule(run, item));
      keys.push_back(std::move(key));
    }
    TRY_ASSIGN(Value key, run.list(std::move(keys)));
    list.push_back({std::move(key), std::move(item)});
  }
  TRY(sort_by_key(run, list, bound.truth(0, false)));
  return items_of(run, std::move(list));
}

Result<Value> dictsort(Run& run, const Value& input, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("dictsort", arguments, {"case_sensitive", "by", "reverse"}));
  TRY_ASSIGN(const std::string_view by, bound.string(1, "key"));
  if (by != "key" && by != "value") return Error{"dictsort sorts by 'key' or 'value'"};
  if (input.is_undefined()) return Error{input.hint()};
  if (!input.is(Kind::dict)) return Error{fmt::format("dictsort wants a mapping, found '{}'", type_name(input))};
  TRY_ASSIGN(const Value view, run.view(input, View::What::items));
  KeyRule rule{{}, bound.truth(0, false)};
  rule.path.keys.push_back(Value::integer(by == "key" ? 0 : 1));
  TRY_ASSIGN(std::vector<Keyed> list, keyed(run, view, rule));
  TRY(sort_by_key(run, list, bound.truth(2, false)));
  return items_of(run, std::move(list));
}

Result<Value> unique(Run& run, const Value& input, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("unique", arguments, {"case_sensitive", "attribute"}));
  TRY_ASSIGN(AttributePath path, AttributePath::of(bound[1]));
  TRY_ASSIGN(std::vector<Keyed> list, keyed(run, input, {std::move(path), bound.truth(0, false)}));
  Dict seen;
  std::vector<Value> items;
  for (Keyed& entry : list) {
    if (!run.spend_on(entry.key)) return run.exhausted();
    if (!is_hashable(entry.key)) return Error{fmt::format("unhashable type: '{}'", type_name(entry.key))};
    SPEND(run, 1);
    if (seen.find(entry.key) != nullptr) continue;
    seen.set(entry.key, Value::none());
    items.push_back(std::move(entry.item));
  }
  return run.iterator(std::move(items));
}

template <bool kLargest>
Result<Value> extreme(Run& run, const Value& input, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of(kLargest ? "max" : "min", arguments, {"case_sensitive", "attribute"}));
  TRY_ASSIGN(AttributePath path, AttributePath::of(bound[1]));
  TRY_ASSIGN(const std::vector<Keyed> list, keyed(run, input, {std::move(path), bound.truth(0, false)}));
  if (list.empty()) return Value::undefined("No aggregated item, sequence was empty.");
  const Keyed* best = list.data();
  for (const Keyed& entry : list) {
    if (&entry == best) continue;
    SPEND(run, static_cast<size_t>(best->key.extent().weight));
    TRY_ASSIGN(const auto ordering, order(entry.key, best->key));
    if (kLargest ? ordering > 0 : ordering < 0) best = &entry;
  }
  return best->item;
}

Result<Value> group(Run& run, Value key, std::vector<Value> members) {
  TRY_ASSIGN(Value list, run.list(std::move(members)));
  TRY_ASSIGN(Value pair, run.tuple({std::move(key), std::move(list)}));
  static_cast<Sequence&>(*pair.pointer()).is_group = true;
  return pair;
}

Result<Value> groupby(Run& run, const Value& input, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("groupby", arguments, {"attribute", "default", "case_sensitive"}, 1));
  TRY_ASSIGN(AttributePath path, AttributePath::of(bound[0]));
  const KeyRule rule{path, bound.truth(2, false), bound.is_absent(1) ? nullptr : bound[1]};
  TRY_ASSIGN(std::vector<Keyed> list, keyed(run, input, rule));
  TRY(sort_by_key(run, list, false));
  std::vector<Value> groups;
  for (size_t begin = 0, end = 0; begin < list.size(); begin = end) {
    std::vector<Value> members;
    for (end = begin; end < list.size() && equal(list[begin].key, list[end].key); ++end) {
      SPEND(run, static_cast<size_t>(list[end].key.extent().weight));
      members.push_back(list[end].item);
    }
    // The key as the first member has it, not in lower case.
    TRY_ASSIGN(Value key, path.get(run, members.front(), rule.otherwise));
    TRY_ASSIGN(Value made, group(run, std::move(key), std::move(members)));
    groups.push_back(std::move(made));
  }
  return run.list(std::move(groups));
}

constexpr NamedFilter kOrderFilters[] = {
    {"dictsort", dictsort},  {"groupby", groupby}, {"max", extreme<true>},
    {"min", extreme<false>}, {"sort", sort},       {"unique", unique},
};

}  // namespace

std::span<const NamedFilter> order_filters() { return kOrderFilters; }

Result<Value> without_case(Run& run, const Value& value) {
  if (!value.is_string()) return value;
  SPEND(run, value.text().size() / 16);
  return run.string(to_lower(value.text()));
}

}  // namespace paceline::jinja
