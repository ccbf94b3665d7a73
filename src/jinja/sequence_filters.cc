// Filters over what has items.
#include <fmt/format.h>

#include <algorithm>

#include "jinja/access.h"
#include "jinja/bound.h"
#include "jinja/filter_tables.h"
#include "jinja/methods.h"
#include "jinja/print.h"

namespace paceline::jinja {
namespace {

Result<Value> with_default(Run&, const Value& input, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("default", arguments, {"default_value", "boolean"}));
  if (!input.is_undefined() && !(bound.truth(1, false) && !is_true(input))) return input;
  return bound[0] != nullptr ? *bound[0] : Value::string("");
}

Result<Value> length(Run& run, const Value& input, const Arguments& arguments) {
  TRY(Bound::of("length", arguments, {}));
  if (input.is_string()) SPEND(run, input.text().size() / 256);
  TRY_ASSIGN(const size_t length, length_of(input));
  return Value::integer(static_cast<int64_t>(length));
}

Result<Value> first(Run& run, const Value& input, const Arguments& arguments) {
  TRY(Bound::of("first", arguments, {}));
  if (input.is(Kind::iterator)) {
    Iterator& iterator = input.iterator();
    if (iterator.next < iterator.items.size()) return iterator.items[iterator.next++];
    return Value::undefined("No first item, sequence was empty.");
  }
  TRY_ASSIGN(const Items items, iterate(run, input));
  return items.empty() ? Value::undefined("No first item, sequence was empty.") : items[0];
}

Result<Value> last(Run& run, const Value& input, const Arguments& arguments) {
  TRY(Bound::of("last", arguments, {}));
  if (input.is(Kind::iterator)) return Error{"last wants a list, found an iterator"};
  TRY_ASSIGN(const Items items, iterate(run, input));
  return items.empty() ? Value::undefined("No last item, sequence was empty.") : items[items.size() - 1];
}

Result<Value> list(Run& run, const Value& input, const Arguments& arguments) {
  TRY(Bound::of("list", arguments, {}));
  TRY_ASSIGN(std::vector<Value> items, own_items(run, input));
  return run.list(std::move(items));
}

Result<Value> items(Run& run, const Value& input, const Arguments& arguments) {
  TRY(Bound::of("items", arguments, {}));
  if (input.is_undefined()) return run.iterator({});
  if (!input.is(Kind::dict)) return Error{fmt::format("items wants a mapping, found '{}'", type_name(input))};
  TRY_ASSIGN(const Value view, run.view(input, View::What::items));
  TRY_ASSIGN(std::vector<Value> pairs, own_items(run, view));
  return run.iterator(std::move(pairs));
}

Result<Value> join(Run& run, const Value& input, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("join", arguments, {"d", "attribute"}));
  TRY_ASSIGN(const AttributePath path, AttributePath::of(bound.is_absent(1) ? nullptr : bound[1]));
  std::string separator;
  if (bound[0] != nullptr) {
    TRY_ASSIGN(separator, to_text(run, *bound[0]));
  }
  TRY_ASSIGN(const Items values, iterate(run, input));
  std::string joined;
  for (size_t i = 0; i < values.size(); ++i) {
    SPEND(run, 1);
    TRY_ASSIGN(const Value value, path.get(run, values[i]));
    TRY_ASSIGN(const std::string text, to_text(run, value));
    if (i > 0) joined += separator;
    joined += text;
    if (joined.size() > run.limits().output_bytes) return Error{"join makes too long a text"};
  }
  return run.string(std::move(joined));
}

Result<Value> reverse(Run& run, const Value& input, const Arguments& arguments) {
  TRY(Bound::of("reverse", arguments, {}));
  if (input.is_string()) return get_slice(run, input, {Value::none(), Value::none(), Value::integer(-1)});
  TRY_ASSIGN(std::vector<Value> values, own_items(run, input));
  std::reverse(values.begin(), values.end());
  return input.is(Kind::iterator) ? run.list(std::move(values)) : run.iterator(std::move(values));
}

Result<Value> batch(Run& run, const Value& input, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("batch", arguments, {"linecount", "fill_with"}, 1));
  TRY_ASSIGN(const int64_t count, bound.integer(0, 1));
  TRY_ASSIGN(const Items values, iterate(run, input));
  std::vector<Value> rows, row;
  const auto finish_row = [&]() -> Status {
    TRY_ASSIGN(Value made, run.list(std::move(row)));
    rows.push_back(std::move(made));
    row.clear();
    return Done{};
  };
  for (const Value& value : values) {
    SPEND(run, 1);
    if (static_cast<int64_t>(row.size()) == count) TRY(finish_row());
    row.push_back(value);
  }
  if (!row.empty()) {
    if (!bound.is_absent(1) && static_cast<int64_t>(row.size()) < count) {
      TRY(run.reserve(static_cast<size_t>(std::min<int64_t>(count, int64_t{1} << 32)) * sizeof(Value)));
      row.resize(static_cast<size_t>(count), *bound[1]);
    }
    TRY(finish_row());
  }
  return run.iterator(std::move(rows));
}

Result<Value> slice(Run& run, const Value& input, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("slice", arguments, {"slices", "fill_with"}, 1));
  TRY_ASSIGN(const int64_t given, bound.integer(0, 1));
  if (given == 0) return Error{"slice wants at least one slice"};
  TRY_ASSIGN(const std::vector<Value> values, own_items(run, input));
  const auto slices = static_cast<size_t>(std::max<int64_t>(given, 0));
  SPEND(run, slices);
  std::vector<Value> columns;
  size_t begin = 0;
  for (size_t i = 0; i < slices; ++i) {
    const bool has_extra = i < values.size() % slices;
    const size_t end = begin + values.size() / slices + (has_extra ? 1 : 0);
    std::vector<Value> column(values.begin() + static_cast<ptrdiff_t>(begin),
                              values.begin() + static_cast<ptrdiff_t>(end));
    if (!bound.is_absent(1) && !has_extra) column.push_back(*bound[1]);
    begin = end;
    TRY_ASSIGN(Value made, run.list(std::move(column)));
    columns.push_back(std::move(made));
  }
  return run.iterator(std::move(columns));
}

constexpr NamedFilter kSequenceFilters[] = {
    {"batch", batch},   {"count", length}, {"d", with_default},  {"default", with_default},
    {"first", first},   {"items", items},  {"join", join},       {"last", last},
    {"length", length}, {"list", list},    {"reverse", reverse}, {"slice", slice},
};

}  // namespace

std::span<const NamedFilter> sequence_filters() { return kSequenceFilters; }

}  // namespace paceline::jinja
