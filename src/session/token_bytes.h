// A token by itself, as reports of its probability show it.
#pragma once

#include <string>

#include "tensor/dtype.h"
#include "tokenizer/tokenizer.h"

namespace paceline {

// The bytes that a token adds to a text; of a token that stands for a byte, that byte, whole character or not.
std::string token_bytes(const Tokenizer& tokenizer, TokenId id);

}  // namespace paceline
