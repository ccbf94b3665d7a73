// The values of a template: Python's, as far as chat templates meet them. Cheap to copy; containers are shared.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace paceline::jinja {

enum class Kind : uint8_t {
  undefined,
  none,
  boolean,
  integer,
  real,
  string,
  list,
  tuple,
  dict,
  view,      // what dict.keys(), values() and items() give
  range,     // what range() gives
  iterator,  // what map, select and the like give: read once
  space,     // namespace()
  native,    // macros, methods, functions, loop, cyclers
};

// What a value beyond a number points to.
class Object {
 public:
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
  // Gives up what it holds. A render does this to whatever could be part of a cycle, when it ends.
  virtual void clear() {}
};

// How large a value is for whoever goes through all of it.
struct Extent {
  int depth = 0;       // containers within containers: 0 for a plain value
  int64_t weight = 1;  // values in it, counted as often as they are met; long texts count as several
};

class Value;
class Native;
class Dict;
struct Sequence;
struct View;
struct Range;
struct Iterator;
struct Namespace;
using ObjectPtr = std::shared_ptr<Object>;

class Value {
 public:
  Value() = default;  // undefined
  // `hint` says what is missing, for the error when it is used.
  static Value undefined(std::string hint);
  static Value none() { return Value(Kind::none); }
  static Value boolean(bool value);
  static Value integer(int64_t value);
  static Value real(double value);
  static Value string(std::string text);
  // Text marked as safe in HTML: what is added to it is escaped.
  static Value markup(std::string text);
  static Value object(Kind kind, ObjectPtr object);

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool is(Kind kind) const { return kind_ == kind; }
  [[nodiscard]] bool is_undefined() const { return kind_ == Kind::undefined; }
  [[nodiscard]] bool is_none() const { return kind_ == Kind::none; }
  [[nodiscard]] bool is_string() const { return kind_ == Kind::string; }
  [[nodiscard]] bool is_markup() const;
  // Booleans are integers, as in Python.
  [[nodiscard]] bool is_integral() const { return kind_ == Kind::integer || kind_ == Kind::boolean; }
  [[nodiscard]] bool is_number() const { return is_integral() || kind_ == Kind::real; }
  // A list or a tuple.
  [[nodiscard]] bool is_sequence() const { return kind_ == Kind::list || kind_ == Kind::tuple; }

  // Each for its own kind.
  [[nodiscard]] int64_t integer() const;  // integer, boolean
  [[nodiscard]] double real() const;      // any number
  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] std::string hint() const;              // undefined
  [[nodiscard]] std::span<const Value> items() const;  // list, tuple
  [[nodiscard]] const Dict& dict() const;
  [[nodiscard]] const View& view() const;
  [[nodiscard]] const Range& range() const;
  [[nodiscard]] Iterator& iterator() const;
  [[nodiscard]] Namespace& space() const;
  [[nodiscard]] Native& native() const;
  [[nodiscard]] const ObjectPtr& pointer() const { return object_; }

  [[nodiscard]] Extent extent() const;

 private:
  explicit Value(Kind kind) : kind_(kind) {}

  Kind kind_ = Kind::undefined;
  union {
    int64_t integer_ = 0;
    double real_;
  };
  ObjectPtr object_;
};

struct Text : Object {
  std::string text;
  bool markup = false;
};

struct Sequence : Object {
  [[nodiscard]] std::span<const Value> all() const {
    return whole == nullptr ? std::span(items) : std::span(whole->items).subspan(first, count);
  }

  std::vector<Value> items;
  Extent extent{1, 1};
  // A slice has no items of its own: `count` of the whole one's, from `first` on.
  std::shared_ptr<const Sequence> whole;
  size_t first = 0, count = 0;
  // Of a sequence that was sliced: what its first items weigh together, for each number of them.
  mutable std::vector<int64_t> weights;
  bool is_group = false;  // a tuple that groupby gave: its two items have the names grouper and list
};

// Its numbers are made when they are asked for: templates go through many a range that they leave at once.
struct Range : Object {
  [[nodiscard]] Value at(size_t i) const { return Value::integer(start + static_cast<int64_t>(i) * step); }
  int64_t start = 0, stop = 0, step = 1;
  size_t count = 0;
};

struct Iterator : Sequence {
  size_t next = 0;
};

// In the order of insertion. Not changed once a template can see it.
class Dict : public Object {
 public:
  using Entry = std::pair<Value, Value>;

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] size_t size() const { return entries_.size(); }
  // Null where there is none. `key` must be hashable.
  [[nodiscard]] const Value* find(const Value& key) const;
  [[nodiscard]] const Value* find(std::string_view key) const;
  // A key that is there already keeps its place. Keys are kept in order: no choice of them makes a search slow.
  void set(Value key, Value value);

  Extent extent{1, 1};

 private:
  struct KeyOrder {
    using is_transparent = void;
    bool operator()(const Value& a, const Value& b) const;
    bool operator()(const Value& a, std::string_view b) const;
    bool operator()(std::string_view a, const Value& b) const;
  };
  template <class Key>
  [[nodiscard]] size_t place_of(const Key& key) const;

  std::vector<Entry> entries_;
  std::map<Value, size_t, KeyOrder> places_;
};

struct View : Object {
  enum class What : uint8_t { keys, values, items };
  What what = What::keys;
  std::shared_ptr<const Dict> dict;
};

struct Namespace : Object {
  void clear() override { names.clear(); }
  [[nodiscard]] const Value* find(std::string_view name) const;
  void set(std::string_view name, Value value);
  std::vector<std::pair<std::string, Value>> names;
};

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

class Run;

// What is not data: it has attributes, or can be called, or both.
class Native : public Object {
 public:
  [[nodiscard]] virtual std::string repr() const = 0;
  [[nodiscard]] virtual bool is_callable() const { return true; }
  virtual Result<Value> call(Run& run, const Arguments& arguments) = 0;
  // Undefined where there is none.
  virtual Value attribute(std::string_view name);
  [[nodiscard]] virtual int depth() const { return 0; }
};

bool is_true(const Value& value);
bool is_hashable(const Value& value);

// The name that Python has for its type, for errors.
std::string_view type_name(const Value& value);

}  // namespace paceline::jinja
