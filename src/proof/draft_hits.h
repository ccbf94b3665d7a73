// How often a drafter is right along a text that stands already: it drafts at every place, and what counts is how many
// of its first drafts are the text's own next tokens. So two ways of running the target are asked the same questions.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "model/forward.h"
#include "speculate/drafter.h"

namespace paceline {

struct DraftHits {
  int64_t places = 0, accepted = 0;

  [[nodiscard]] double per_place() const {
    return places > 0 ? static_cast<double>(accepted) / static_cast<double>(places) : 0;
  }
};

// For a drafter that keeps nothing between rounds. Pieces of the text have so many tokens as the context at most.
Result<DraftHits> count_draft_hits(Forward& forward, Drafter& drafter, std::span<const TokenId> text, int32_t depth);

}  // namespace paceline
