// How drafters are called.
#pragma once

#include "speculate/drafter.h"

namespace paceline {

// mtp, dflash, ngram.
const char* drafted_by_name(DraftedBy kind);

}  // namespace paceline
