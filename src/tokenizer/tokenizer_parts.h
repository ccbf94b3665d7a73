// tokenizer.json, understood: what every kind has, and the kind whose smallest pieces are characters. What we do not
// implement is an error that names it.
#pragma once

#include <fmt/core.h>

#include <boost/json/value.hpp>
#include <limits>
#include <memory>
#include <string>
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
template <class Read>
Status read_sequence(const boost::json::value* value, std::string place, std::string_view list_name, Read read) {
  if (value == nullptr || value->is_null()) return Done{};
  TRY_ASSIGN(const TextJsonFields part, TextJsonFields::of(value, std::move(place)));
  TRY_ASSIGN(const std::string_view type, part.string("type"));
  if (type != "Sequence") return read(part, type);
  TRY(part.only({"type", list_name}));
  TRY_ASSIGN(const boost::json::array* list, part.array(list_name));
  for (size_t i = 0; i < list->size(); ++i) {
    TRY(read_sequence(&(*list)[i], fmt::format("{}.{}[{}]", part.place(), list_name, i), list_name, read));
  }
  return Done{};
}

}  // namespace paceline
