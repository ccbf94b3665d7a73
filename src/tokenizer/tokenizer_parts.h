// tokenizer.json, understood: what every kind has, and the kind whose smallest pieces are characters. What we do not
// implement is an error that names it.
#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/bpe.h"
#include "tokenizer/decode_plan.h"
#include "tokenizer/json_fields.h"
#include "tokenizer/text_encoder.h"
#include "tokenizer/tokenizer_file.h"

namespace paceline {

inline constexpr int64_t kMaxTokenId = std::numeric_limits<TokenId>::max() - 1;

// What the post-processor puts around a text.
struct Surroundings {
  std::vector<TokenId> before, behind;
};

struct TokenizerParts {
  std::vector<AddedToken> added;
  std::unique_ptr<const TextEncoder> encoder;
  Surroundings surroundings;
  DecodePlan decoder;
};

// Takes the vocabulary out of the file.
Result<TokenizerParts> read_character_parts(TokenizerFile& file);

// ---- for every kind

// No fields but those that are read, and what must be there.
Status check_tokenizer_file(const TokenizerFile& file);
Result<std::vector<AddedToken>> read_added_tokens(const TextJsonFields& file);
Result<BpeSettings> read_bpe_settings(const TextJsonFields& file);
Result<Surroundings> read_post_processor(const TextJsonFields& file);

// Reads a part and, for a Sequence, those that it lists under `list_name`: read(part, type) for each.
using ReadPart = std::function<Status(const TextJsonFields& part, std::string_view type)>;
Status read_sequence(const boost::json::value* value, std::string place, std::string_view list_name,
                     const ReadPart& read);

}  // namespace paceline
