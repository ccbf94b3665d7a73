// The small parts of tokenizer.json, understood. What we do not implement is an error that names it.
#pragma once

#include <boost/json/value.hpp>
#include <limits>
#include <vector>

#include "base/result.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/bpe.h"
#include "tokenizer/decode_plan.h"
#include "tokenizer/normalizer.h"

namespace paceline {

inline constexpr int64_t kMaxTokenId = std::numeric_limits<TokenId>::max() - 1;

// What the post-processor puts around a text.
struct Surroundings {
  std::vector<TokenId> before, behind;
};

struct TokenizerParts {
  std::vector<AddedToken> added;
  std::vector<NormalizerStep> normalizer;
  std::vector<SplitStep> splits;
  Surroundings surroundings;
  DecodePlan decoder;
  BpeSettings bpe;
};

// `settings`: the whole file, less vocabulary and merges.
Result<TokenizerParts> read_tokenizer_parts(const boost::json::value& settings);

}  // namespace paceline
