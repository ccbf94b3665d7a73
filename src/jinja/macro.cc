// Macros, and the bodies of call blocks.
#include <fmt/format.h>

#include <algorithm>

#include "jinja/interpreter.h"

namespace paceline::jinja {
namespace {

class Macro : public Native {
 public:
  Macro(Interpreter& interpreter, std::shared_ptr<const Signature> signature, ScopePtr scope)
      : interpreter_(interpreter), signature_(std::move(signature)), scope_(std::move(scope)) {}

  [[nodiscard]] std::string repr() const override { return fmt::format("<Macro '{}'>", signature_->name); }
  Result<Value> call(Run&, const Arguments& arguments) override {
    return interpreter_.call_macro(*signature_, scope_, arguments);
  }
  Value attribute(std::string_view name) override {
    if (name == "name") return Value::string(signature_->name);
    if (name == "catch_kwargs") return Value::boolean(signature_->uses_kwargs);
    if (name == "catch_varargs") return Value::boolean(signature_->uses_varargs);
    if (name == "caller") return Value::boolean(signature_->uses_caller);
    return Native::attribute(name);
  }

 private:
  Interpreter& interpreter_;
  std::shared_ptr<const Signature> signature_;
  ScopePtr scope_;
};

}  // namespace

Result<Value> Interpreter::make_macro(std::shared_ptr<const Signature> signature, const ScopePtr& scope) {
  TRY(run_.reserve(sizeof(Scope) + sizeof(Macro)));
  // The scope comes to hold the macro that holds it.
  if (scope != root_) run_.keep(scope);
  return Value::object(Kind::native, std::make_shared<Macro>(*this, std::move(signature), scope));
}

Status Interpreter::bind_parameters(const Signature& signature, const Arguments& arguments, const ScopePtr& scope) {
  const size_t count = signature.parameters.size();
  std::vector<Value> extra;
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    if (i < count) {
      scope->set(signature.parameters[i], arguments.positional[i]);
    } else {
      extra.push_back(arguments.positional[i]);
    }
  }
  auto extra_named = std::make_shared<Dict>();
  const auto& names = signature.parameter_names;
  for (const auto& [name, value] : arguments.named) {
    const auto place = std::find(names.begin(), names.end(), name);
    if (place != names.end()) {
      const Symbol symbol = signature.parameters[static_cast<size_t>(place - names.begin())];
      if (scope->find(symbol) != nullptr)
        return Error{fmt::format("macro '{}' was given '{}' twice", signature.name, name)};
      scope->set(symbol, value);
    } else if (name == "caller" && signature.uses_caller) {
      scope->set(kCaller, value);
    } else if (signature.uses_kwargs) {
      extra_named->set(Value::string(name), value);
    } else {
      return Error{fmt::format("macro '{}' takes no keyword argument '{}'", signature.name, name)};
    }
  }
  if (!extra.empty() && !signature.uses_varargs)
    return Error{fmt::format("macro '{}' takes not more than {} arguments", signature.name, count)};
  if (signature.uses_varargs && scope->find(kVarargs) == nullptr) {
    TRY_ASSIGN(Value varargs, run_.tuple(std::move(extra)));
    scope->set(kVarargs, std::move(varargs));
  }
  if (signature.uses_kwargs && scope->find(kKwargs) == nullptr) {
    TRY_ASSIGN(Value kwargs, run_.dict(std::move(extra_named)));
    scope->set(kKwargs, std::move(kwargs));
  }
  // Within a call block's body, `caller` is the one of the macro around it.
  if (signature.uses_caller && signature.name != "caller" && scope->find(kCaller) == nullptr)
    scope->set(kCaller, Value::undefined("No caller defined"));
  return Done{};
}

Result<Value> Interpreter::call_macro(const Signature& signature, const ScopePtr& outside, const Arguments& arguments) {
  const Deeper deeper(run_);
  if (deeper.is_too_deep()) return Deeper::error();
  const auto scope = std::make_shared<Scope>(outside);
  TRY(bind_parameters(signature, arguments, scope));
  const size_t first_default = signature.parameters.size() - signature.defaults.size();
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    if (scope->find(signature.parameters[i]) != nullptr) continue;
    Value value = Value::undefined(fmt::format("parameter '{}' was not provided", signature.parameter_names[i]));
    if (i >= first_default) {
      TRY_ASSIGN(value, evaluate(*signature.defaults[i - first_default], scope));
    }
    scope->set(signature.parameters[i], std::move(value));
  }
  std::string out;
  TRY(execute(signature.body, scope, out));
  return run_.string(std::move(out));
}

}  // namespace paceline::jinja
