#include "jinja/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "jinja/characters.h"
#include "jinja/methods.h"
#include "jinja/print.h"

namespace paceline::jinja {
namespace {

Result<Value> missing(Run& run, const Value& value, std::string_view name) {
  TRY(run.reserve(name.size()));
  return Value::undefined(fmt::format("'{} object' has no attribute '{}'", type_name(value), name));
}

// The method or attribute of this name; none where the value has no such thing.
Result<std::optional<Value>> own_attribute(Run& run, const Value& value, std::string_view name) {
  if (value.is(Kind::native)) {
    Value found = value.native().attribute(name);
    if (found.is_undefined()) return std::optional<Value>();
    return std::optional<Value>(std::move(found));
  }
  if (value.is(Kind::space)) {
    SPEND(run, value.space().names.size() / 8);
    const Value* found = value.space().find(name);
    return found == nullptr ? std::optional<Value>() : std::optional<Value>(*found);
  }
  if (value.is(Kind::tuple) && static_cast<const Sequence&>(*value.pointer()).is_group) {
    if (name == "grouper" || name == "list") return std::optional<Value>(value.items()[name == "list" ? 1 : 0]);
  }
  switch (method_access(value, name)) {
    case MethodAccess::none: return std::optional<Value>();
    case MethodAccess::refused:
      return std::optional<Value>(
          Value::undefined(fmt::format("access to attribute '{}' of '{}' object is unsafe", name, type_name(value))));
    case MethodAccess::allowed: break;
  }
  TRY_ASSIGN(Value method, bind_method(run, value, name));
  return std::optional<Value>(std::move(method));
}

// The item of this key; none where there is none, or where the value has no items.
Result<std::optional<Value>> own_item(Run& run, const Value& value, const Value& key) {
  if (value.is(Kind::dict)) {
    if (!run.spend_on(key)) return run.exhausted();
    if (!is_hashable(key)) return std::optional<Value>();
    const Value* found = value.dict().find(key);
    return found == nullptr ? std::optional<Value>() : std::optional<Value>(*found);
  }
  if (!key.is_integral() || !(value.is_sequence() || value.is_string() || value.is(Kind::range)))
    return std::optional<Value>();
  if (value.is_string()) SPEND(run, value.text().size() / 64);
  TRY_ASSIGN(const size_t length, length_of(value));
  int64_t at = key.integer();
  if (at < 0) at += static_cast<int64_t>(length);
  if (at < 0 || at >= static_cast<int64_t>(length)) return std::optional<Value>();
  if (value.is_sequence()) return std::optional<Value>(value.items()[static_cast<size_t>(at)]);
  if (value.is(Kind::range)) return std::optional<Value>(value.range().at(static_cast<size_t>(at)));
  const std::string_view text = value.text();
  const size_t begin = byte_of_character(text, static_cast<size_t>(at));
  TRY_ASSIGN(Value character, run.string(std::string(text.substr(begin, byte_of_character(text.substr(begin), 1)))));
  return std::optional<Value>(std::move(character));
}

struct Steps {
  int64_t first = 0, count = 0, step = 1;
};

Result<std::optional<int64_t>> bound_of(const Value& value) {
  if (value.is_none()) return std::optional<int64_t>();
  if (value.is_undefined()) return Error{value.hint()};
  if (!value.is_integral()) return Error{"slice indices must be integers or None"};
  return std::optional<int64_t>(value.integer());
}

// Python's slice.indices(length), and how many there are.
Result<Steps> steps_of(const SliceBounds& bounds, int64_t length) {
  TRY_ASSIGN(const auto begin, bound_of(bounds.begin));
  TRY_ASSIGN(const auto end, bound_of(bounds.end));
  TRY_ASSIGN(const auto step_given, bound_of(bounds.step));
  // A longer step than any text is as good as the longest.
  const int64_t longest = std::numeric_limits<int32_t>::max();
  const int64_t step = std::clamp(step_given.value_or(1), -longest, longest);
  if (step == 0) return Error{"slice step cannot be zero"};
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? length : length - 1;
  const auto place = [&](std::optional<int64_t> bound, int64_t otherwise) {
    if (!bound) return otherwise;
    return std::clamp(*bound < 0 ? std::max(*bound, -length - 1) + length : *bound, low, high);
  };
  const int64_t from = place(begin, step > 0 ? low : high), to = place(end, step > 0 ? high : low);
  const int64_t span = step > 0 ? to - from : from - to;
  const int64_t stride = step > 0 ? step : -step;
  return Steps{from, span > 0 ? (span + stride - 1) / stride : 0, step};
}

Result<Value> slice_text(Run& run, const Value& value, const SliceBounds& bounds) {
  const std::string_view text = value.text();
  SPEND(run, text.size() / 32);
  const size_t length = count_characters(text);
  TRY_ASSIGN(const Steps steps, steps_of(bounds, static_cast<int64_t>(length)));
  std::string sliced;
  if (steps.step == 1) {
    const size_t begin = byte_of_character(text, static_cast<size_t>(steps.first));
    const std::string_view rest = text.substr(begin);
    sliced = rest.substr(0, byte_of_character(rest, static_cast<size_t>(steps.count)));
  } else {
    std::vector<size_t> begins;
    TRY(run.reserve(length * sizeof(size_t)));
    SPEND(run, length / 8);
    for (size_t pos = 0; pos < text.size(); pos += byte_of_character(text.substr(pos), 1)) begins.push_back(pos);
    begins.push_back(text.size());
    for (int64_t i = 0; i < steps.count; ++i) {
      const auto at = static_cast<size_t>(steps.first + i * steps.step);
      sliced += text.substr(begins[at], begins[at + 1] - begins[at]);
    }
  }
  return run.string(std::move(sliced), value.is_markup());
}

Result<Value> slice_range(Run& run, const Range& range, const SliceBounds& bounds) {
  TRY_ASSIGN(const Steps steps, steps_of(bounds, static_cast<int64_t>(range.count)));
  TRY(run.reserve(sizeof(Range)));
  auto made = std::make_shared<Range>();
  made->count = static_cast<size_t>(steps.count);
  // Of an empty one only that is known.
  if (made->count > 0) {
    int64_t length = 0;
    made->start = range.at(static_cast<size_t>(steps.first)).integer();
    if (__builtin_mul_overflow(range.step, steps.step, &made->step) ||
        __builtin_mul_overflow(steps.count, made->step, &length) ||
        __builtin_add_overflow(made->start, length, &made->stop))
      return Error{"an integer is out of range"};
  }
  return Value::object(Kind::range, std::move(made));
}

}  // namespace

Result<Value> get_attribute(Run& run, const Value& value, std::string_view name) {
  if (value.is_undefined()) return Error{value.hint()};
  TRY_ASSIGN(auto attribute, own_attribute(run, value, name));
  if (attribute) return std::move(*attribute);
  if (value.is(Kind::dict)) {
    if (const Value* found = value.dict().find(name)) return *found;
  }
  return missing(run, value, name);
}

Result<Value> get_item(Run& run, const Value& value, const Value& key) {
  if (value.is_undefined()) return Error{value.hint()};
  TRY_ASSIGN(auto item, own_item(run, value, key));
  if (item) return std::move(*item);
  if (key.is_string()) {
    TRY_ASSIGN(auto attribute, own_attribute(run, value, key.text()));
    if (attribute) return std::move(*attribute);
    return missing(run, value, key.text());
  }
  TRY_ASSIGN(const std::string name, to_repr(run, key));
  return missing(run, value, name);
}

Result<Value> get_slice(Run& run, const Value& value, const SliceBounds& bounds) {
  if (value.is_undefined()) return Error{value.hint()};
  if (value.is_string()) return slice_text(run, value, bounds);
  if (value.is(Kind::range)) return slice_range(run, value.range(), bounds);
  if (!value.is_sequence()) return Error{fmt::format("'{}' object has no slices", type_name(value))};
  const std::span<const Value> items = value.items();
  TRY_ASSIGN(const Steps steps, steps_of(bounds, static_cast<int64_t>(items.size())));
  if (steps.step == 1) return run.slice(value, static_cast<size_t>(steps.first), static_cast<size_t>(steps.count));
  SPEND(run, static_cast<size_t>(steps.count) / 8);
  std::vector<Value> sliced;
  sliced.reserve(static_cast<size_t>(steps.count));
  for (int64_t i = 0; i < steps.count; ++i) {
    sliced.push_back(items[static_cast<size_t>(steps.first + i * steps.step)]);
  }
  return value.is(Kind::tuple) ? run.tuple(std::move(sliced)) : run.list(std::move(sliced));
}

}  // namespace paceline::jinja
