// Expressions of the interpreter.
#include <fmt/format.h>

#include "jinja/access.h"
#include "jinja/arithmetic.h"
#include "jinja/compare.h"
#include "jinja/interpreter.h"
#include "jinja/print.h"

namespace paceline::jinja {

Result<Value> Interpreter::evaluate(const Expr& expr, const ScopePtr& scope, const Value* block) {
  if (expr.kind == ExprKind::constant) return expr.value;
  const Deeper deeper(run_);
  if (deeper.is_too_deep()) {
    note_line(expr.line);
    return Deeper::error();
  }
  if (!run_.spend(1)) {
    note_line(expr.line);
    return run_.exhausted();
  }
  auto value = evaluate_kind(expr, scope, block);
  if (!value.ok()) note_line(expr.line);
  return value;
}

Result<Value> Interpreter::evaluate_kind(const Expr& expr, const ScopePtr& scope, const Value* block) {
  switch (expr.kind) {
    case ExprKind::constant: return expr.value;
    case ExprKind::name:
    case ExprKind::space_name: return evaluate_name(expr, scope);
    case ExprKind::list:
    case ExprKind::tuple: return evaluate_items(expr, scope);
    case ExprKind::dict: return evaluate_dict(expr, scope);
    case ExprKind::attribute: {
      TRY_ASSIGN(const Value value, evaluate(*expr.parts[0], scope));
      return get_attribute(run_, value, expr.text);
    }
    case ExprKind::item: {
      TRY_ASSIGN(const Value value, evaluate(*expr.parts[0], scope));
      TRY_ASSIGN(const Value key, evaluate(*expr.parts[1], scope));
      return get_item(run_, value, key);
    }
    case ExprKind::slice: return evaluate_slice(expr, scope);
    case ExprKind::call: return evaluate_call(expr, scope, nullptr);
    case ExprKind::filter: return evaluate_filter(expr, scope, block);
    case ExprKind::test: return evaluate_test(expr, scope);
    case ExprKind::concat: return evaluate_concat(expr, scope);
    case ExprKind::compare: return evaluate_compare(expr, scope);
    case ExprKind::condition: return evaluate_condition(expr, scope);
    default: break;
  }
  TRY_ASSIGN(Value left, evaluate(*expr.parts[0], scope));
  switch (expr.kind) {
    case ExprKind::negate: return Value::boolean(!is_true(left));
    case ExprKind::minus: return negated(left);
    case ExprKind::plus:
      if (left.is_undefined()) return Error{left.hint()};
      if (!left.is_number()) return Error{fmt::format("bad operand type for unary +: '{}'", type_name(left))};
      return left.is_integral() ? Value::integer(left.integer()) : left;
    case ExprKind::both:
      if (!is_true(left)) return left;
      return evaluate(*expr.parts[1], scope);
    case ExprKind::either:
      if (is_true(left)) return left;
      return evaluate(*expr.parts[1], scope);
    default: break;
  }
  TRY_ASSIGN(const Value right, evaluate(*expr.parts[1], scope));
  return compute(run_, expr.op, left, right);
}

Result<Value> Interpreter::evaluate_name(const Expr& expr, const ScopePtr& scope) {
  size_t scopes = 0;
  for (Scope* at = scope.get(); at != nullptr; at = at->outer.get()) {
    if (++scopes % 16 == 0) SPEND(run_, 1);
    if (const Value* found = at->find(expr.symbol)) {
      at->was_read = true;
      return *found;
    }
  }
  return Value::undefined(fmt::format("'{}' is undefined", tree_.symbols[expr.symbol]));
}

Result<Value> Interpreter::evaluate_items(const Expr& expr, const ScopePtr& scope) {
  std::vector<Value> items;
  items.reserve(expr.parts.size());
  for (const ExprPtr& part : expr.parts) {
    TRY_ASSIGN(Value item, evaluate(*part, scope));
    items.push_back(std::move(item));
  }
  return expr.kind == ExprKind::list ? run_.list(std::move(items)) : run_.tuple(std::move(items));
}

Result<Value> Interpreter::evaluate_dict(const Expr& expr, const ScopePtr& scope) {
  auto dict = std::make_shared<Dict>();
  for (size_t i = 0; i < expr.parts.size(); i += 2) {
    TRY_ASSIGN(Value key, evaluate(*expr.parts[i], scope));
    if (!run_.spend_on(key)) return run_.exhausted();
    if (!is_hashable(key)) return Error{fmt::format("unhashable type: '{}'", type_name(key))};
    TRY_ASSIGN(Value value, evaluate(*expr.parts[i + 1], scope));
    dict->set(std::move(key), std::move(value));
  }
  return run_.dict(std::move(dict));
}

Result<Value> Interpreter::evaluate_slice(const Expr& expr, const ScopePtr& scope) {
  TRY_ASSIGN(const Value value, evaluate(*expr.parts[0], scope));
  Value bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    bounds[i] = Value::none();
    if (!expr.parts[i + 1]) continue;
    TRY_ASSIGN(bounds[i], evaluate(*expr.parts[i + 1], scope));
  }
  return get_slice(run_, value, {bounds[0], bounds[1], bounds[2]});
}

Result<Arguments> Interpreter::evaluate_arguments(const CallArguments& given, const ScopePtr& scope) {
  Arguments arguments;
  arguments.positional.reserve(given.positional.size());
  for (const ExprPtr& expr : given.positional) {
    TRY_ASSIGN(Value value, evaluate(*expr, scope));
    arguments.positional.push_back(std::move(value));
  }
  for (const auto& [name, expr] : given.named) {
    TRY_ASSIGN(Value value, evaluate(*expr, scope));
    arguments.named.emplace_back(name, std::move(value));
  }
  if (given.all_positional) {
    TRY_ASSIGN(const Value list, evaluate(*given.all_positional, scope));
    TRY_ASSIGN(const Items items, iterate(run_, list));
    SPEND(run_, items.size());
    for (const Value& item : items) arguments.positional.push_back(item);
  }
  if (given.all_named) {
    TRY_ASSIGN(const Value dict, evaluate(*given.all_named, scope));
    if (!dict.is(Kind::dict)) return Error{fmt::format("expected a mapping behind **, found '{}'", type_name(dict))};
    SPEND(run_, dict.dict().size());
    for (const auto& [key, value] : dict.dict().entries()) {
      if (!key.is_string()) return Error{"expected names as keys of the mapping behind **"};
      arguments.named.emplace_back(key.text(), value);
    }
  }
  return arguments;
}

Result<Value> Interpreter::evaluate_call(const Expr& expr, const ScopePtr& scope, const Value* caller) {
  ++effects_;
  TRY_ASSIGN(const Value callee, evaluate(*expr.parts[0], scope));
  TRY_ASSIGN(Arguments arguments, evaluate_arguments(*expr.arguments, scope));
  if (caller != nullptr) arguments.named.emplace_back("caller", *caller);
  if (callee.is_undefined()) return Error{callee.hint()};
  if (!callee.is(Kind::native)) return Error{fmt::format("'{}' object is not callable", type_name(callee))};
  return callee.native().call(run_, arguments);
}

Result<Value> Interpreter::evaluate_filter(const Expr& expr, const ScopePtr& scope, const Value* block) {
  ++effects_;
  if (expr.filter == nullptr) return Error{fmt::format("no filter named '{}'", expr.text)};
  Value input;
  if (expr.parts[0]) {
    TRY_ASSIGN(input, evaluate(*expr.parts[0], scope, block));
  } else {
    CHECK(block != nullptr);
    input = *block;
  }
  TRY_ASSIGN(const Arguments arguments, evaluate_arguments(*expr.arguments, scope));
  return expr.filter(run_, input, arguments);
}

Result<Value> Interpreter::evaluate_test(const Expr& expr, const ScopePtr& scope) {
  if (expr.test == nullptr) return Error{fmt::format("no test named '{}'", expr.text)};
  TRY_ASSIGN(const Value value, evaluate(*expr.parts[0], scope));
  TRY_ASSIGN(const Arguments arguments, evaluate_arguments(*expr.arguments, scope));
  if (!arguments.positional.empty() || !arguments.named.empty()) ++effects_;
  TRY_ASSIGN(const bool holds, expr.test(run_, value, arguments));
  return Value::boolean(holds);
}

Result<Value> Interpreter::evaluate_concat(const Expr& expr, const ScopePtr& scope) {
  std::string text;
  for (const ExprPtr& part : expr.parts) {
    TRY_ASSIGN(const Value value, evaluate(*part, scope));
    TRY(print(value, text));
  }
  return run_.string(std::move(text));
}

Result<bool> Interpreter::compare(CompareOp op, const Value& a, const Value& b) {
  switch (op) {
    case CompareOp::in:
    case CompareOp::not_in: {
      ++effects_;
      TRY_ASSIGN(const bool found, contains(run_, b, a));
      return found == (op == CompareOp::in);
    }
    case CompareOp::equal:
    case CompareOp::unequal:
      if (!run_.spend_on(a)) return run_.exhausted();
      return equal(a, b) == (op == CompareOp::equal);
    default: break;
  }
  if (!run_.spend_on(a)) return run_.exhausted();
  TRY_ASSIGN(const auto ordering, order(a, b));
  switch (op) {
    case CompareOp::less: return ordering < 0;
    case CompareOp::less_equal: return ordering <= 0;
    case CompareOp::greater: return ordering > 0;
    default: return ordering >= 0;
  }
}

// a < b < c, each evaluated once and not beyond the first that fails.
Result<Value> Interpreter::evaluate_compare(const Expr& expr, const ScopePtr& scope) {
  TRY_ASSIGN(Value left, evaluate(*expr.parts[0], scope));
  for (size_t i = 0; i < expr.compares.size(); ++i) {
    TRY_ASSIGN(Value right, evaluate(*expr.parts[i + 1], scope));
    TRY_ASSIGN(const bool holds, compare(expr.compares[i], left, right));
    if (!holds) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Result<Value> Interpreter::evaluate_condition(const Expr& expr, const ScopePtr& scope) {
  TRY_ASSIGN(const Value condition, evaluate(*expr.parts[0], scope));
  if (is_true(condition)) return evaluate(*expr.parts[1], scope);
  if (expr.parts[2]) return evaluate(*expr.parts[2], scope);
  return Value::undefined("the condition of an inline if is false, and there is no else");
}

}  // namespace paceline::jinja
