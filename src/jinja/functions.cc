#include "jinja/functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/utf8.h"
#include "jinja/bound.h"
#include "jinja/print.h"

namespace paceline::jinja {
namespace {

using FunctionPointer = Result<Value> (*)(Run& run, const Arguments& arguments);

// A function, or a method of what follows it in this file.
class Function : public Native {
 public:
  using Body = std::function<Result<Value>(Run&, const Arguments&)>;
  Function(std::string name, Body body) : name_(std::move(name)), body_(std::move(body)) {}

  [[nodiscard]] std::string repr() const override { return fmt::format("<function {}>", name_); }
  Result<Value> call(Run& run, const Arguments& arguments) override { return body_(run, arguments); }

 private:
  std::string name_;
  Body body_;
};

Value make_function(std::string_view name, Function::Body body) {
  return Value::object(Kind::native, std::make_shared<Function>(std::string(name), std::move(body)));
}

Result<Value> range(Run& run, const Arguments& arguments) {
  constexpr int64_t kMost = 100'000;  // as the sandbox has it
  TRY_ASSIGN(const Bound bound, Bound::of("range", arguments, {"start", "stop", "step"}, 1));
  auto made = std::make_shared<Range>();
  TRY_ASSIGN(const int64_t first, bound.integer(0, 0));
  TRY_ASSIGN(const int64_t second, bound.integer(1, 0));
  TRY_ASSIGN(made->step, bound.integer(2, 1));
  made->start = bound[1] != nullptr ? first : 0;
  made->stop = bound[1] != nullptr ? second : first;
  if (made->step == 0) return Error{"range() wants a step other than 0"};
  // Wide enough for the distance of any two numbers.
  using Wide = __int128;
  const Wide step = made->step, span = Wide{made->stop} - Wide{made->start};
  const Wide count = (span > 0) == (step > 0) && span != 0 ? (span + step + (step > 0 ? -1 : 1)) / step : 0;
  if (count > kMost) return Error{fmt::format("range() of more than {} numbers", kMost)};
  made->count = static_cast<size_t>(count);
  TRY(run.reserve(sizeof(Range)));
  return Value::object(Kind::range, std::move(made));
}

// dict() and namespace(): from a mapping or pairs, and names.
Result<std::shared_ptr<Dict>> entries_of(Run& run, std::string_view function, const Arguments& arguments) {
  auto entries = std::make_shared<Dict>();
  if (arguments.positional.size() > 1)
    return Error{fmt::format("{}() wants at most one argument without a name", function)};
  if (!arguments.positional.empty()) {
    const Value& given = arguments.positional[0];
    TRY_ASSIGN(const Items items, iterate(run, given));
    for (const Value& item : items) {
      SPEND(run, 1);
      if (given.is(Kind::dict)) {
        entries->set(item, *given.dict().find(item));
        continue;
      }
      TRY_ASSIGN(const Items pair, iterate(run, item));
      if (!run.spend_on(item)) return run.exhausted();
      if (pair.size() != 2 || !is_hashable(pair[0]))
        return Error{fmt::format("{}() wants pairs of key and value", function)};
      entries->set(pair[0], pair[1]);
    }
  }
  for (const auto& [name, value] : arguments.named) entries->set(Value::string(name), value);
  return entries;
}

Result<Value> dict(Run& run, const Arguments& arguments) {
  TRY_ASSIGN(std::shared_ptr<Dict> entries, entries_of(run, "dict", arguments));
  return run.dict(std::move(entries));
}

Result<Value> name_space(Run& run, const Arguments& arguments) {
  TRY_ASSIGN(const std::shared_ptr<Dict> entries, entries_of(run, "namespace", arguments));
  TRY(run.reserve(sizeof(Namespace) + entries->size() * 2 * sizeof(Value)));
  auto made = std::make_shared<Namespace>();
  for (const auto& [key, value] : entries->entries()) {
    TRY_ASSIGN(const std::string name, to_text(run, key));
    SPEND(run, made->names.size() / 8);
    made->set(name, value);
  }
  run.keep(made);
  return Value::object(Kind::space, std::move(made));
}

class Cycler : public Native, public std::enable_shared_from_this<Cycler> {
 public:
  explicit Cycler(std::vector<Value> items) : items_(std::move(items)) {
    for (const Value& item : items_) depth_ = std::max(depth_, item.extent().depth);
  }

  [[nodiscard]] std::string repr() const override { return "<cycler>"; }
  [[nodiscard]] bool is_callable() const override { return false; }
  Result<Value> call(Run&, const Arguments&) override { return Error{"a cycler cannot be called"}; }
  Value attribute(std::string_view name) override {
    if (name == "current") return items_[at_];
    if (name == "pos") return Value::integer(static_cast<int64_t>(at_));
    if (name != "next" && name != "reset") return Native::attribute(name);
    const bool resets = name == "reset";
    return make_function(name, [self = shared_from_this(), resets](Run&, const Arguments& arguments) -> Result<Value> {
      TRY(Bound::of("cycler", arguments, {}));
      Value current = resets ? Value::none() : self->items_[self->at_];
      self->at_ = resets ? 0 : (self->at_ + 1) % self->items_.size();
      return current;
    });
  }
  [[nodiscard]] int depth() const override { return depth_ + 1; }

 private:
  std::vector<Value> items_;
  size_t at_ = 0;
  int depth_ = 0;
};

Result<Value> cycler(Run& run, const Arguments& arguments) {
  if (!arguments.named.empty()) return Error{"cycler() takes no named arguments"};
  if (arguments.positional.empty()) return Error{"cycler() wants at least one item"};
  // A list of them has its depth checked.
  TRY(run.list(arguments.positional));
  return Value::object(Kind::native, std::make_shared<Cycler>(arguments.positional));
}

Result<Value> joiner(Run&, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("joiner", arguments, {"sep"}));
  Value separator = bound[0] != nullptr ? *bound[0] : Value::string(", ");
  if (!separator.is_string()) return Error{"joiner() wants a string"};
  return make_function("joiner", [separator, used = false](Run&, const Arguments& none) mutable -> Result<Value> {
    TRY(Bound::of("joiner", none, {}));
    return std::exchange(used, true) ? separator : Value::string("");
  });
}

Result<Value> raise_exception(Run& run, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("raise_exception", arguments, {"message"}, 1));
  TRY_ASSIGN(std::string message, to_text(run, *bound[0]));
  return Error{std::move(message)};
}

Result<Value> strftime_now(Run& run, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("strftime_now", arguments, {"format"}, 1));
  TRY_ASSIGN(const std::string_view format, bound.string(0, ""));
  run.note_clock();
  if (format.empty()) return run.string("");
  std::string text(256 + 16 * std::min<size_t>(format.size(), 4096), '\0');
  const size_t written = std::strftime(text.data(), text.size(), std::string(format).c_str(), &run.now());
  if (written == 0) return Error{"strftime_now: the format gives nothing, or too much"};
  text.resize(written);
  if (!is_valid_utf8(text)) return Error{"strftime_now: the format gives no text"};
  return run.string(std::move(text));
}

struct NamedFunction {
  std::string_view name;
  FunctionPointer function;
};

constexpr NamedFunction kFunctions[] = {
    {"range", range},
    {"dict", dict},
    {"namespace", name_space},
    {"cycler", cycler},
    {"joiner", joiner},
    {"raise_exception", raise_exception},
    {"strftime_now", strftime_now},
};
constexpr std::string_view kNames[] = {"range",           "dict",        "namespace", "cycler", "joiner",
                                       "raise_exception", "strftime_now"};

}  // namespace

std::span<const std::string_view> function_names() { return kNames; }

Value function(std::string_view name) {
  for (const NamedFunction& known : kFunctions) {
    if (known.name == name) return make_function(name, known.function);
  }
  return {};
}

}  // namespace paceline::jinja
