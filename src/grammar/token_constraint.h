// Which tokens may follow which: a request's demand on the form of its output, as the chooser sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "tensor/dtype.h"

namespace paceline {

// Memory of how far a text has come, and nothing more: what is allowed depends on the tokens alone.
class ConstraintCursor {
 public:
  virtual ~ConstraintCursor() = default;
  // The tokens that may stand behind `generated`: bit id % 64 of word id / 64. Ids beyond the words are not allowed.
  // Never empty: where nothing else can follow, the ids that end a text are allowed. Lives until the next call. Cheap
  // when `generated` goes on, or goes back, from that of the call before.
  virtual std::span<const uint64_t> allowed(std::span<const TokenId> generated) = 0;
};

// Immutable, shared.
class TokenConstraint {
 public:
  virtual ~TokenConstraint() = default;
  [[nodiscard]] virtual std::unique_ptr<ConstraintCursor> start() const = 0;
  // Of memory, about; not counting what it finds out later. None where it is too little to be counted.
  [[nodiscard]] virtual size_t bytes() const { return 0; }
};

}  // namespace paceline
