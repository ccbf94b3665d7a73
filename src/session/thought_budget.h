// A thought of so many tokens at most: then the mark that ends it is the only token that may follow.
#pragma once

#include <cstdint>
#include <memory>

#include "grammar/token_constraint.h"
#include "session/output_dialect.h"

namespace paceline {

struct ThoughtLimit {
  OutputMarks marks;
  bool begins_in_thought = false;
  int32_t most = 0;    // tokens of each thought, its marks not counted
  TokenId id_end = 0;  // of the vocabulary
};

// `inner`: what else is demanded; none: nothing.
std::shared_ptr<const TokenConstraint> limit_thoughts(const ThoughtLimit& limit,
                                                      std::shared_ptr<const TokenConstraint> inner);

}  // namespace paceline
