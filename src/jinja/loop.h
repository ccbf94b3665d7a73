// What `loop` is within a for.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "jinja/interpreter.h"

namespace paceline::jinja {

struct LoopDepths {
  int loop = 0;   // of loops within each other
  int value = 1;  // of the deepest item, and one
};

class Loop : public Native, public std::enable_shared_from_this<Loop> {
 public:
  Loop(Interpreter& interpreter, const Stmt& stmt, ScopePtr scope, Items items, const LoopDepths& depths);

  [[nodiscard]] size_t at() const { return at_; }
  void advance() { ++at_; }
  [[nodiscard]] const Items& items() const { return items_; }

  [[nodiscard]] std::string repr() const override;
  [[nodiscard]] bool is_callable() const override { return stmt_.recursive; }
  // loop(children): the same loop over others, one level deeper.
  Result<Value> call(Run& run, const Arguments& arguments) override;
  Value attribute(std::string_view name) override;
  [[nodiscard]] int depth() const override { return depths_.value; }
  void clear() override;

  Result<Value> cycle(const Arguments& arguments) const;
  Result<Value> changed(Run& run, const Arguments& arguments);

 private:
  Interpreter& interpreter_;
  const Stmt& stmt_;
  ScopePtr scope_;
  Items items_;
  size_t at_ = 0;
  LoopDepths depths_;
  std::optional<Value> seen_;  // what changed() was asked last
};

}  // namespace paceline::jinja
