#include "jinja/loop.h"

#include <fmt/format.h>

#include "jinja/bound.h"
#include "jinja/compare.h"

namespace paceline::jinja {
namespace {

class LoopMethod : public Native {
 public:
  LoopMethod(std::shared_ptr<Loop> loop, bool is_cycle) : loop_(std::move(loop)), is_cycle_(is_cycle) {}

  [[nodiscard]] std::string repr() const override {
    return is_cycle_ ? "<method loop.cycle>" : "<method loop.changed>";
  }
  Result<Value> call(Run& run, const Arguments& arguments) override {
    return is_cycle_ ? loop_->cycle(arguments) : loop_->changed(run, arguments);
  }
  [[nodiscard]] int depth() const override { return loop_->depth() + 1; }

 private:
  std::shared_ptr<Loop> loop_;
  bool is_cycle_;
};

}  // namespace

Loop::Loop(Interpreter& interpreter, const Stmt& stmt, ScopePtr scope, Items items, const LoopDepths& depths)
    : interpreter_(interpreter), stmt_(stmt), scope_(std::move(scope)), items_(std::move(items)), depths_(depths) {}

void Loop::clear() {
  seen_.reset();
  items_ = {};
  scope_.reset();
}

std::string Loop::repr() const { return fmt::format("<LoopContext {}/{}>", at_ + 1, items_.size()); }

Result<Value> Loop::call(Run& run, const Arguments& arguments) {
  if (!stmt_.recursive) return Error{"the loop must have the 'recursive' marker to be called"};
  TRY_ASSIGN(const Bound bound, Bound::of("loop", arguments, {"iterable"}, 1));
  const Deeper deeper(run);
  if (deeper.is_too_deep()) return Deeper::error();
  std::string out;
  TRY(interpreter_.run_loop(stmt_, scope_, *bound[0], depths_.loop + 1, out));
  return run.string(std::move(out));
}

Value Loop::attribute(std::string_view name) {
  const auto index = static_cast<int64_t>(at_), length = static_cast<int64_t>(items_.size());
  if (name == "index") return Value::integer(index + 1);
  if (name == "index0") return Value::integer(index);
  if (name == "revindex") return Value::integer(length - index);
  if (name == "revindex0") return Value::integer(length - index - 1);
  if (name == "first") return Value::boolean(index == 0);
  if (name == "last") return Value::boolean(index == length - 1);
  if (name == "length") return Value::integer(length);
  if (name == "depth") return Value::integer(depths_.loop + 1);
  if (name == "depth0") return Value::integer(depths_.loop);
  if (name == "previtem") return at_ > 0 ? items_[at_ - 1] : Value::undefined("there is no previous item");
  if (name == "nextitem") return at_ + 1 < items_.size() ? items_[at_ + 1] : Value::undefined("there is no next item");
  if (name == "cycle" || name == "changed")
    return Value::object(Kind::native, std::make_shared<LoopMethod>(shared_from_this(), name == "cycle"));
  return Native::attribute(name);
}

Result<Value> Loop::cycle(const Arguments& arguments) const {
  if (arguments.positional.empty()) return Error{"loop.cycle() wants at least one item"};
  return arguments.positional[at_ % arguments.positional.size()];
}

Result<Value> Loop::changed(Run& run, const Arguments& arguments) {
  // What is remembered could hold this loop.
  if (!seen_) run.keep(shared_from_this());
  TRY_ASSIGN(Value asked, run.tuple(arguments.positional));
  if (!run.spend_on(asked)) return run.exhausted();
  if (seen_ && equal(*seen_, asked)) return Value::boolean(false);
  seen_ = std::move(asked);
  return Value::boolean(true);
}

}  // namespace paceline::jinja
