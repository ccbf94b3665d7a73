#include "jinja/value.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <functional>

#include "base/check.h"
#include "jinja/compare.h"

namespace paceline::jinja {

Value Value::undefined(std::string hint) {
  Value value = string(std::move(hint));
  value.kind_ = Kind::undefined;
  return value;
}

Value Value::boolean(bool value) {
  Value made(Kind::boolean);
  made.integer_ = value ? 1 : 0;
  return made;
}

Value Value::integer(int64_t value) {
  Value made(Kind::integer);
  made.integer_ = value;
  return made;
}

Value Value::real(double value) {
  Value made(Kind::real);
  made.real_ = value;
  return made;
}

Value Value::string(std::string text) {
  auto held = std::make_shared<Text>();
  held->text = std::move(text);
  return object(Kind::string, std::move(held));
}

Value Value::markup(std::string text) {
  Value made = string(std::move(text));
  static_cast<Text&>(*made.object_).markup = true;
  return made;
}

Value Value::object(Kind kind, ObjectPtr object) {
  Value made(kind);
  made.object_ = std::move(object);
  return made;
}

bool Value::is_markup() const { return kind_ == Kind::string && static_cast<const Text&>(*object_).markup; }

int64_t Value::integer() const {
  CHECK(is_integral());
  return integer_;
}

double Value::real() const {
  CHECK(is_number());
  return kind_ == Kind::real ? real_ : static_cast<double>(integer_);
}

const std::string& Value::text() const {
  CHECK(is_string());
  return static_cast<const Text&>(*object_).text;
}

std::string Value::hint() const {
  CHECK(is_undefined());
  return object_ ? static_cast<const Text&>(*object_).text : "a value is undefined";
}

std::span<const Value> Value::items() const {
  CHECK(is_sequence());
  return static_cast<const Sequence&>(*object_).all();
}

const Dict& Value::dict() const {
  CHECK(is(Kind::dict));
  return static_cast<const Dict&>(*object_);
}

const View& Value::view() const {
  CHECK(is(Kind::view));
  return static_cast<const View&>(*object_);
}

const Range& Value::range() const {
  CHECK(is(Kind::range));
  return static_cast<const Range&>(*object_);
}

Iterator& Value::iterator() const {
  CHECK(is(Kind::iterator));
  return static_cast<Iterator&>(*object_);
}

Namespace& Value::space() const {
  CHECK(is(Kind::space));
  return static_cast<Namespace&>(*object_);
}

Native& Value::native() const {
  CHECK(is(Kind::native));
  return static_cast<Native&>(*object_);
}

Extent Value::extent() const {
  constexpr int64_t kTextBytesPerWeight = 256;
  switch (kind_) {
    case Kind::string: return {0, 1 + static_cast<int64_t>(text().size()) / kTextBytesPerWeight};
    case Kind::list:
    case Kind::tuple:
    case Kind::iterator: return static_cast<const Sequence&>(*object_).extent;
    case Kind::range: return {0, 1 + static_cast<int64_t>(range().count)};
    case Kind::dict: return dict().extent;
    case Kind::view: return {view().dict->extent.depth + 1, view().dict->extent.weight + 1};
    case Kind::native: return {native().depth(), 1};
    default: return {};
  }
}

namespace {

// What can be equal stands in one class: numbers of all kinds, texts, tuples, and each other kind by itself.
int key_class(const Value& key) {
  return key.is_number() ? static_cast<int>(Kind::integer) : static_cast<int>(key.kind());
}

bool is_nan(const Value& key) { return key.is(Kind::real) && std::isnan(key.real()); }

std::weak_ordering order_keys(const Value& a, const Value& b);

std::weak_ordering order_tuples(std::span<const Value> a, std::span<const Value> b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (const auto ordering = order_keys(a[i], b[i]); ordering != 0) return ordering;
  }
  return a.size() <=> b.size();
}

// A total order of what can be a key, with the same equality as equal() has.
std::weak_ordering order_keys(const Value& a, const Value& b) {
  if (const auto classes = key_class(a) <=> key_class(b); classes != 0) return classes;
  if (a.is_number()) {
    // Not-a-numbers are equal to nothing; here they stand behind all others, by themselves.
    if (is_nan(a) || is_nan(b)) return is_nan(a) <=> is_nan(b);
    const auto ordering = order(a, b);
    return *ordering < 0   ? std::weak_ordering::less
           : *ordering > 0 ? std::weak_ordering::greater
                           : std::weak_ordering::equivalent;
  }
  switch (a.kind()) {
    case Kind::undefined:
    case Kind::none: return std::weak_ordering::equivalent;
    case Kind::string: return a.text() <=> b.text();
    case Kind::tuple:
      return a.pointer() == b.pointer() ? std::weak_ordering::equivalent : order_tuples(a.items(), b.items());
    case Kind::range: {
      const Range &left = a.range(), &right = b.range();
      if (left.count != right.count || left.count == 0) return left.count <=> right.count;
      if (left.start != right.start || left.count == 1) return left.start <=> right.start;
      return left.step <=> right.step;
    }
    default: return std::compare_three_way()(a.pointer().get(), b.pointer().get());
  }
}

}  // namespace

bool Dict::KeyOrder::operator()(const Value& a, const Value& b) const { return order_keys(a, b) < 0; }

bool Dict::KeyOrder::operator()(const Value& a, std::string_view b) const {
  return a.is_string() ? a.text() < b : key_class(a) < static_cast<int>(Kind::string);
}

bool Dict::KeyOrder::operator()(std::string_view a, const Value& b) const {
  return b.is_string() ? a < b.text() : static_cast<int>(Kind::string) < key_class(b);
}

template <class Key>
size_t Dict::place_of(const Key& key) const {
  const auto found = places_.find(key);
  return found == places_.end() ? entries_.size() : found->second;
}

const Value* Dict::find(const Value& key) const {
  const size_t place = is_nan(key) ? entries_.size() : place_of(key);
  return place < entries_.size() ? &entries_[place].second : nullptr;
}

const Value* Dict::find(std::string_view key) const {
  const size_t place = place_of(key);
  return place < entries_.size() ? &entries_[place].second : nullptr;
}

void Dict::set(Value key, Value value) {
  const Extent of_key = key.extent(), of_value = value.extent();
  extent.depth = std::max({extent.depth, of_key.depth + 1, of_value.depth + 1});
  extent.weight += of_key.weight + of_value.weight;
  const size_t place = is_nan(key) ? entries_.size() : place_of(key);
  if (place < entries_.size()) {
    entries_[place].second = std::move(value);
    return;
  }
  if (!is_nan(key)) places_.emplace(key, place);
  entries_.emplace_back(std::move(key), std::move(value));
}

const Value* Namespace::find(std::string_view name) const {
  for (const auto& [known, value] : names) {
    if (known == name) return &value;
  }
  return nullptr;
}

void Namespace::set(std::string_view name, Value value) {
  for (auto& [known, held] : names) {
    if (known == name) {
      held = std::move(value);
      return;
    }
  }
  names.emplace_back(name, std::move(value));
}

Value Native::attribute(std::string_view name) {
  return Value::undefined(repr() + " has no attribute '" + std::string(name) + "'");
}

bool is_true(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
    case Kind::none: return false;
    case Kind::boolean:
    case Kind::integer: return value.integer() != 0;
    case Kind::real: return value.real() != 0;
    case Kind::string: return !value.text().empty();
    case Kind::list:
    case Kind::tuple: return !value.items().empty();
    case Kind::range: return value.range().count > 0;
    case Kind::dict: return value.dict().size() > 0;
    case Kind::view: return value.view().dict->size() > 0;
    case Kind::iterator:
    case Kind::space:
    case Kind::native: return true;
  }
  return false;
}

bool is_hashable(const Value& value) {
  switch (value.kind()) {
    case Kind::list:
    case Kind::dict:
    case Kind::view: return false;
    case Kind::tuple:
      for (const Value& item : value.items()) {
        if (!is_hashable(item)) return false;
      }
      return true;
    default: return true;
  }
}

std::string_view type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined: return "Undefined";
    case Kind::none: return "NoneType";
    case Kind::boolean: return "bool";
    case Kind::integer: return "int";
    case Kind::real: return "float";
    case Kind::string: return value.is_markup() ? "Markup" : "str";
    case Kind::list: return "list";
    case Kind::tuple: return "tuple";
    case Kind::dict: return "dict";
    case Kind::view: return "dict view";
    case Kind::range: return "range";
    case Kind::iterator: return "generator";
    case Kind::space: return "Namespace";
    case Kind::native: return "callable";
  }
  return "?";
}

}  // namespace paceline::jinja
