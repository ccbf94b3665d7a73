// From a block's rows to drafts: the target's head for the rows that are wanted, then the best token of each, or the
// one that the verify's own noise favours, or DFlash 2's walk over the best few.
#pragma once

#include <span>

#include "speculate/dflash/dflash_forward.h"
#include "speculate/dflash/dflash_scratch.h"

namespace paceline {

// The blocks' rows lie in the scratch's x, one block behind the other.
void choose_drafts(const DflashAt& at, std::span<const DflashProposal> seqs);
// The same where the backend chooses, left in its memory: those that are wanted, one sequence's behind the other's.
const TokenId* enqueue_drafts(const DflashAt& at, std::span<const DflashProposal> seqs);

}  // namespace paceline
