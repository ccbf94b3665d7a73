// The tokens that tokenizer_config.json gives a name: bos_token, eos_token, eot_token, ...
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/tokenizer.h"

namespace paceline {

struct SpecialTokens {
  std::optional<TokenId> bos, eos, pad, unk;
  // Every *_token field by its name, bos_token and the like among them, and what extra_special_tokens names.
  std::map<std::string, TokenId, std::less<>> named;
  // Fields whose token the tokenizer lacks, as "mask_token = <mask>". Never bos, eos or pad: those must be there.
  std::vector<std::string> unresolved;

  [[nodiscard]] std::optional<TokenId> find(std::string_view name) const;
};

// `config_json`: the bytes of tokenizer_config.json.
Result<SpecialTokens> read_special_tokens(const Tokenizer& tokenizer, std::string_view config_json);

// Without a tokenizer_config.json: what the tokenizer itself calls <bos>, <eos>, <pad> and <unk>.
SpecialTokens default_special_tokens(const Tokenizer& tokenizer);

}  // namespace paceline
