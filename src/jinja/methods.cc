#include "jinja/methods.h"

#include <fmt/format.h>

#include <algorithm>

#include "jinja/bound.h"
#include "jinja/compare.h"
#include "jinja/escape.h"

namespace paceline::jinja {
namespace {

// What ImmutableSandboxedEnvironment refuses.
constexpr std::string_view kRefusedOfLists[] = {"append", "clear",  "extend",  "insert",
                                                "pop",    "remove", "reverse", "sort"};
constexpr std::string_view kRefusedOfDicts[] = {"clear", "pop", "popitem", "setdefault", "update"};

Result<Value> list_count(Run& run, const Value& self, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("count", arguments, {"/value"}, 1));
  if (!run.spend_on(self)) return run.exhausted();
  return Value::integer(std::count_if(self.items().begin(), self.items().end(),
                                      [&](const Value& item) { return equal(item, *bound[0]); }));
}

Result<Value> list_index(Run& run, const Value& self, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("index", arguments, {"/value", "/start", "/stop"}, 1));
  const auto size = static_cast<int64_t>(self.items().size());
  const auto place = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
  TRY_ASSIGN(const int64_t start, bound.integer(1, 0));
  TRY_ASSIGN(const int64_t stop, bound.integer(2, size));
  if (!run.spend_on(self)) return run.exhausted();
  for (int64_t i = place(start); i < place(stop); ++i) {
    if (equal(self.items()[static_cast<size_t>(i)], *bound[0])) return Value::integer(i);
  }
  return Error{"index(): the value is not in the list"};
}

Result<Value> list_copy(Run& run, const Value& self, const Arguments& arguments) {
  TRY(Bound::of("copy", arguments, {}));
  SPEND(run, self.items().size() / 8);
  return run.list({self.items().begin(), self.items().end()});
}

Result<Value> dict_get(Run& run, const Value& self, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("get", arguments, {"/key", "/default"}, 1));
  if (!run.spend_on(*bound[0])) return run.exhausted();
  if (!is_hashable(*bound[0])) return Error{fmt::format("unhashable type: '{}'", type_name(*bound[0]))};
  if (const Value* found = self.dict().find(*bound[0])) return *found;
  return bound[1] != nullptr ? *bound[1] : Value::none();
}

template <View::What kWhat>
Result<Value> dict_view(Run& run, const Value& self, const Arguments& arguments) {
  TRY(Bound::of("dict view", arguments, {}));
  return run.view(self, kWhat);
}

Result<Value> dict_copy(Run& run, const Value& self, const Arguments& arguments) {
  TRY(Bound::of("copy", arguments, {}));
  auto copy = std::make_shared<Dict>();
  if (!run.spend_on(self)) return run.exhausted();
  for (const auto& [key, value] : self.dict().entries()) copy->set(key, value);
  return run.dict(std::move(copy));
}

constexpr NamedMethod kListMethods[] = {{"copy", list_copy}, {"count", list_count}, {"index", list_index}};
constexpr NamedMethod kTupleMethods[] = {{"count", list_count}, {"index", list_index}};
constexpr NamedMethod kDictMethods[] = {{"copy", dict_copy},
                                        {"get", dict_get},
                                        {"items", dict_view<View::What::items>},
                                        {"keys", dict_view<View::What::keys>},
                                        {"values", dict_view<View::What::values>}};

MethodFunction find_in(std::span<const NamedMethod> methods, std::string_view name) {
  for (const NamedMethod& method : methods) {
    if (method.name == name) return method.function;
  }
  return nullptr;
}

MethodFunction find_method(const Value& value, std::string_view name) {
  switch (value.kind()) {
    case Kind::string: return find_string_method(name);
    case Kind::list: return find_in(kListMethods, name);
    case Kind::tuple: return find_in(kTupleMethods, name);
    case Kind::dict: return find_in(kDictMethods, name);
    default: return nullptr;
  }
}

class Method : public Native {
 public:
  Method(Value self, std::string_view name, MethodFunction function)
      : self_(std::move(self)), name_(name), function_(function) {}

  [[nodiscard]] std::string repr() const override {
    return fmt::format("<built-in method {} of {} object>", name_, type_name(self_));
  }
  Result<Value> call(Run& run, const Arguments& arguments) override {
    SPEND(run, self_.is_string() ? self_.text().size() / 16 : 0);
    return function_(run, self_, arguments);
  }
  [[nodiscard]] int depth() const override { return self_.extent().depth + 1; }

 private:
  Value self_;
  std::string name_;
  MethodFunction function_;
};

template <size_t N>
bool is_among(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace

MethodAccess method_access(const Value& value, std::string_view name) {
  if (value.is(Kind::list) && is_among(kRefusedOfLists, name)) return MethodAccess::refused;
  if (value.is(Kind::dict) && is_among(kRefusedOfDicts, name)) return MethodAccess::refused;
  return find_method(value, name) != nullptr ? MethodAccess::allowed : MethodAccess::none;
}

Result<Value> bind_method(Run& run, const Value& value, std::string_view name) {
  TRY(run.reserve(sizeof(Method)));
  if (value.extent().depth >= kMaxValueDepth) return Error{"a value is nested too deep"};
  return Value::object(Kind::native, std::make_shared<Method>(value, name, find_method(value, name)));
}

}  // namespace paceline::jinja
