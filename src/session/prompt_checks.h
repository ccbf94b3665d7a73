// What every prompt is checked for before it reaches the engine, and the ids that no output may hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/config.h"
#include "tensor/dtype.h"

namespace paceline {

void sort_unique(std::vector<TokenId>& ids);

// What only media may put into a sequence: a sampled one would stand for an image that is not there. Sorted.
std::vector<TokenId> placeholder_ids(const TokenIds& ids);

// A tokenizer may know more tokens than the model, such as those of images.
Status check_ids(std::span<const TokenId> prompt, int32_t vocab);

// The context holds the prompt and at least one token more. The error tells both numbers.
Status check_length(size_t prompt_tokens, int32_t context, int32_t model_context);

}  // namespace paceline
