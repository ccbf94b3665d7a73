// A grammar over a tokenizer's tokens.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "grammar/automaton.h"
#include "grammar/masks.h"
#include "grammar/token_constraint.h"
#include "grammar/token_index.h"

namespace paceline::grammar {

class GrammarConstraint final : public TokenConstraint {
 public:
  // `end_ids` end a text (stop ids): allowed where the document is complete, and where nothing else is. One at least.
  static Result<std::shared_ptr<const TokenConstraint>> make(Automaton automaton,
                                                             std::shared_ptr<const TokenIndex> index,
                                                             std::vector<TokenId> end_ids);

  [[nodiscard]] std::unique_ptr<ConstraintCursor> start() const override;
  [[nodiscard]] size_t bytes() const override;
  [[nodiscard]] MaskStats stats() const;

 private:
  struct Shared;
  explicit GrammarConstraint(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  std::shared_ptr<Shared> shared_;
  friend class GrammarCursor;
};

}  // namespace paceline::grammar
