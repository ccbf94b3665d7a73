#include "jinja/interpreter.h"

#include <fmt/format.h>

#include <algorithm>

#include "jinja/functions.h"
#include "jinja/loop.h"
#include "jinja/print.h"

namespace paceline::jinja {

const Value* Scope::find(Symbol symbol) const {
  for (const auto& [known, value] : names) {
    if (known == symbol) return &value;
  }
  return nullptr;
}

void Scope::set(Symbol symbol, Value value) {
  for (auto& [known, held] : names) {
    if (known == symbol) {
      held = std::move(value);
      return;
    }
  }
  names.emplace_back(symbol, std::move(value));
}

Result<std::string> Interpreter::render(std::vector<std::pair<std::string, Value>> variables) {
  const auto globals = std::make_shared<Scope>(nullptr);
  root_ = std::make_shared<Scope>(globals);
  // Macros hold the root, and the root holds macros.
  run_.keep(root_);
  for (Symbol symbol = 0; symbol < tree_.symbols.size(); ++symbol) {
    for (const std::string_view name : function_names()) {
      if (tree_.symbols[symbol] == name) globals->set(symbol, function(name));
    }
    for (auto& [name, value] : variables) {
      if (tree_.symbols[symbol] == name) root_->set(symbol, value);
    }
  }
  std::string out;
  const auto flow = execute(tree_.body, root_, out);
  if (!flow.ok()) return Error{fmt::format("line {}: {}", error_line_, flow.error().message)};
  return out;
}

Result<Interpreter::Flow> Interpreter::execute(const Body& body, const ScopePtr& scope, std::string& out) {
  for (const Stmt& stmt : body) {
    TRY_ASSIGN(const Flow flow, execute(stmt, scope, out));
    if (flow != Flow::next) return flow;
  }
  return Flow::next;
}

Result<Interpreter::Flow> Interpreter::execute(const Stmt& stmt, const ScopePtr& scope, std::string& out) {
  const Deeper deeper(run_);
  if (deeper.is_too_deep()) {
    note_line(stmt.line);
    return Deeper::error();
  }
  if (!run_.spend(1)) {
    note_line(stmt.line);
    return run_.exhausted();
  }
  auto flow = execute_kind(stmt, scope, out);
  if (!flow.ok()) note_line(stmt.line);
  return flow;
}

Result<Interpreter::Flow> Interpreter::execute_kind(const Stmt& stmt, const ScopePtr& scope, std::string& out) {
  switch (stmt.kind) {
    case StmtKind::output: TRY(append(stmt.text, out)); break;
    case StmtKind::print: {
      TRY_ASSIGN(const Value value, evaluate(*stmt.expr, scope));
      TRY(print(value, out));
      break;
    }
    case StmtKind::if_else: return execute_if(stmt, scope, out);
    case StmtKind::for_loop: {
      TRY_ASSIGN(const Value iterable, evaluate(*stmt.expr, scope));
      TRY(run_loop(stmt, scope, iterable, 0, out));
      break;
    }
    case StmtKind::set: {
      TRY_ASSIGN(const Value value, evaluate(*stmt.expr, scope));
      TRY(assign(*stmt.target, value, scope));
      break;
    }
    case StmtKind::set_block:
    case StmtKind::filter_block: return execute_captured(stmt, scope, out);
    case StmtKind::macro: {
      ++effects_;
      TRY_ASSIGN(Value made, make_macro(stmt.signature, scope));
      scope->set(stmt.signature->symbol, std::move(made));
      break;
    }
    case StmtKind::call_block: TRY(execute_call_block(stmt, scope, out)); break;
    case StmtKind::generation: {
      const auto inner = std::make_shared<Scope>(scope);
      TRY(execute(stmt.signature->body, inner, out));
      break;
    }
    case StmtKind::with: return execute_with(stmt, scope, out);
    case StmtKind::scope: {
      const auto inner = std::make_shared<Scope>(root_);
      TRY(execute(stmt.body, inner, out));
      break;
    }
    case StmtKind::break_loop: return Flow::break_loop;
    case StmtKind::continue_loop: return Flow::continue_loop;
    case StmtKind::missing: return Error{stmt.text};
  }
  return Flow::next;
}

Result<Interpreter::Flow> Interpreter::execute_if(const Stmt& stmt, const ScopePtr& scope, std::string& out) {
  for (const Branch& branch : stmt.branches) {
    TRY_ASSIGN(const Value condition, evaluate(*branch.condition, scope));
    if (is_true(condition)) return execute(branch.body, scope, out);
  }
  return execute(stmt.other, scope, out);
}

// {% set x %} and {% filter f %}: what the body writes becomes a value.
Result<Interpreter::Flow> Interpreter::execute_captured(const Stmt& stmt, const ScopePtr& scope, std::string& out) {
  const auto inner = std::make_shared<Scope>(scope);
  std::string text;
  TRY_ASSIGN(const Flow flow, execute(stmt.body, inner, text));
  if (flow != Flow::next) return flow;
  TRY_ASSIGN(Value value, run_.string(std::move(text)));
  if (stmt.expr) {
    TRY_ASSIGN(value, evaluate(*stmt.expr, stmt.kind == StmtKind::set_block ? scope : inner, &value));
  }
  if (stmt.kind == StmtKind::filter_block) {
    TRY(print(value, out));
  } else {
    TRY(assign(*stmt.target, value, scope));
  }
  return Flow::next;
}

Result<Interpreter::Flow> Interpreter::execute_with(const Stmt& stmt, const ScopePtr& scope, std::string& out) {
  const auto inner = std::make_shared<Scope>(scope);
  for (const auto& [target, expr] : stmt.assignments) {
    TRY_ASSIGN(const Value value, evaluate(*expr, scope));
    TRY(assign(*target, value, inner));
  }
  return execute(stmt.body, inner, out);
}

Status Interpreter::execute_call_block(const Stmt& stmt, const ScopePtr& scope, std::string& out) {
  TRY_ASSIGN(const Value caller, make_macro(stmt.signature, scope));
  TRY_ASSIGN(const Value value, evaluate_call(*stmt.expr, scope, &caller));
  return print(value, out);
}

Status Interpreter::append(std::string_view text, std::string& out) {
  if (text.size() > run_.limits().output_bytes - std::min(out.size(), run_.limits().output_bytes))
    return Error{fmt::format("the template writes more than {} bytes", run_.limits().output_bytes)};
  if (text.empty()) return Done{};
  ++effects_;
  TRY(run_.reserve(text.size()));
  out += text;
  return Done{};
}

Status Interpreter::print(const Value& value, std::string& out) {
  if (value.is_string()) return append(value.text(), out);
  TRY_ASSIGN(const std::string text, to_text(run_, value));
  return append(text, out);
}

Status Interpreter::assign(const Expr& target, const Value& value, const ScopePtr& scope) {
  ++effects_;
  if (target.kind == ExprKind::tuple) return unpack(target, value, scope);
  if (target.kind == ExprKind::name) {
    scope->set(target.symbol, value);
    return Done{};
  }
  Expr name;
  name.kind = ExprKind::name;
  name.line = target.line;
  name.symbol = target.symbol;
  TRY_ASSIGN(const Value space, evaluate_name(name, scope));
  if (!space.is(Kind::space)) return Error{"cannot assign an attribute of what is no namespace"};
  TRY(run_.reserve(sizeof(Value)));
  SPEND(run_, space.space().names.size() / 8);
  space.space().set(target.text, value);
  return Done{};
}

Status Interpreter::unpack(const Expr& target, const Value& value, const ScopePtr& scope) {
  if (value.is_undefined()) return Error{value.hint()};
  TRY_ASSIGN(const Items items, iterate(run_, value));
  if (items.size() != target.parts.size())
    return Error{fmt::format("expected {} values to unpack, found {}", target.parts.size(), items.size())};
  for (size_t i = 0; i < items.size(); ++i) TRY(assign(*target.parts[i], items[i], scope));
  return Done{};
}

Result<Items> Interpreter::loop_items(const Stmt& stmt, const ScopePtr& scope, const Value& iterable) {
  // Reads an iterator, and so changes it.
  ++effects_;
  TRY_ASSIGN(Items items, iterate(run_, iterable));
  if (!stmt.condition) return items;
  std::vector<Value> kept;
  for (Value item : items) {
    const auto inner = std::make_shared<Scope>(scope);
    TRY(assign(*stmt.target, item, inner));
    TRY_ASSIGN(const Value holds, evaluate(*stmt.condition, inner));
    if (is_true(holds)) kept.push_back(std::move(item));
  }
  return Items(std::move(kept));
}

Status Interpreter::run_loop(const Stmt& stmt, const ScopePtr& scope, const Value& iterable, int loop_depth,
                             std::string& out) {
  TRY_ASSIGN(Items items, loop_items(stmt, scope, iterable));
  if (items.empty()) {
    const auto inner = std::make_shared<Scope>(scope);
    TRY(execute(stmt.other, inner, out));
    return Done{};
  }
  const int value_depth = std::max(iterable.extent().depth, 1);
  const auto loop = std::make_shared<Loop>(*this, stmt, scope, std::move(items), LoopDepths{loop_depth, value_depth});
  const bool takes_any = stmt.target->kind == ExprKind::name;  // no item can be wrong for it
  const Value loop_value = Value::object(Kind::native, loop);
  for (; loop->at() < loop->items().size(); loop->advance()) {
    SPEND(run_, 1);
    const auto inner = std::make_shared<Scope>(scope);
    inner->set(kLoop, loop_value);
    TRY(assign(*stmt.target, loop->items()[loop->at()], inner));
    const uint64_t effects = effects_;
    TRY_ASSIGN(const Flow flow, execute(stmt.body, inner, out));
    if (flow == Flow::break_loop) break;
    // A round that asked neither for its item nor for the loop and left nothing behind: those to come are like it.
    // Templates look ahead that way, with a flag for having found what they look for, at each message through all.
    if (takes_any && effects_ == effects && !inner->was_read) break;
  }
  return Done{};
}

}  // namespace paceline::jinja
