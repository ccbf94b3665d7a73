// Runs a template's tree.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jinja/ast.h"
#include "jinja/run.h"

namespace paceline::jinja {

// The names of a template, of one round of a loop, of one call of a macro. What is not here is looked up outside.
struct Scope : Object {
  explicit Scope(std::shared_ptr<Scope> outside) : outer(std::move(outside)) {}
  void clear() override {
    names.clear();
    // What holds a macro of this scope may stand further out.
    outer.reset();
  }
  [[nodiscard]] const Value* find(Symbol symbol) const;
  void set(Symbol symbol, Value value);

  std::shared_ptr<Scope> outer;
  std::vector<std::pair<Symbol, Value>> names;
  bool was_read = false;  // a name of it was asked for
};
using ScopePtr = std::shared_ptr<Scope>;

class Interpreter {
 public:
  Interpreter(const Tree& tree, Run& run) : tree_(tree), run_(run) {}

  // `variables`: name and value of what the template is given.
  Result<std::string> render(std::vector<std::pair<std::string, Value>> variables);

  // For macros and loops, which come back here when they are called.
  Result<Value> call_macro(const Signature& signature, const ScopePtr& outside, const Arguments& arguments);
  Status run_loop(const Stmt& stmt, const ScopePtr& scope, const Value& iterable, int loop_depth, std::string& out);
  [[nodiscard]] Run& run() { return run_; }

 private:
  enum class Flow : uint8_t { next, break_loop, continue_loop };

  // ---- statements (interpreter.cc)
  Result<Flow> execute(const Body& body, const ScopePtr& scope, std::string& out);
  Result<Flow> execute(const Stmt& stmt, const ScopePtr& scope, std::string& out);
  Result<Flow> execute_kind(const Stmt& stmt, const ScopePtr& scope, std::string& out);
  Result<Flow> execute_if(const Stmt& stmt, const ScopePtr& scope, std::string& out);
  Result<Flow> execute_captured(const Stmt& stmt, const ScopePtr& scope, std::string& out);
  Result<Flow> execute_with(const Stmt& stmt, const ScopePtr& scope, std::string& out);
  Status execute_call_block(const Stmt& stmt, const ScopePtr& scope, std::string& out);
  Status assign(const Expr& target, const Value& value, const ScopePtr& scope);
  Status unpack(const Expr& target, const Value& value, const ScopePtr& scope);
  Status print(const Value& value, std::string& out);
  Status append(std::string_view text, std::string& out);
  Result<Items> loop_items(const Stmt& stmt, const ScopePtr& scope, const Value& iterable);

  // ---- expressions (evaluate.cc)
  // `block`: what a filter without an input works on.
  Result<Value> evaluate(const Expr& expr, const ScopePtr& scope, const Value* block = nullptr);
  Result<Value> evaluate_kind(const Expr& expr, const ScopePtr& scope, const Value* block);
  Result<Value> evaluate_name(const Expr& expr, const ScopePtr& scope);
  Result<Value> evaluate_items(const Expr& expr, const ScopePtr& scope);
  Result<Value> evaluate_dict(const Expr& expr, const ScopePtr& scope);
  Result<Value> evaluate_slice(const Expr& expr, const ScopePtr& scope);
  Result<Value> evaluate_call(const Expr& expr, const ScopePtr& scope, const Value* caller);
  Result<Value> evaluate_filter(const Expr& expr, const ScopePtr& scope, const Value* block);
  Result<Value> evaluate_test(const Expr& expr, const ScopePtr& scope);
  Result<Value> evaluate_concat(const Expr& expr, const ScopePtr& scope);
  Result<Value> evaluate_compare(const Expr& expr, const ScopePtr& scope);
  Result<Value> evaluate_condition(const Expr& expr, const ScopePtr& scope);
  Result<Arguments> evaluate_arguments(const CallArguments& arguments, const ScopePtr& scope);
  Result<bool> compare(CompareOp op, const Value& a, const Value& b);

  // ---- macros (macro.cc)
  Result<Value> make_macro(std::shared_ptr<const Signature> signature, const ScopePtr& scope);
  Status bind_parameters(const Signature& signature, const Arguments& arguments, const ScopePtr& scope);

  // An error happens on the innermost line that it passes.
  void note_line(int line) {
    if (error_line_ == 0) error_line_ = line;
  }

  const Tree& tree_;
  Run& run_;
  ScopePtr root_;
  // Grows with everything that is written or may have changed something. What is left out only reads.
  uint64_t effects_ = 0;
  int error_line_ = 0;
};

}  // namespace paceline::jinja
