#include "sample/history.h"

#include "base/check.h"

namespace paceline {

TokenCounts::TokenCounts(std::span<const TokenId> prompt, std::span<const TokenId> generated) {
  add_prompt(prompt);
  for (const TokenId token : generated) advance(token);
}

void TokenCounts::add_prompt(std::span<const TokenId> tokens) {
  for (const TokenId token : tokens) ++counts_[token].prompt;
}

void TokenCounts::take_back(TokenId token) {
  const auto found = counts_.find(token);
  CHECK(found != counts_.end() && found->second.generated > 0);
  // A token that stands nowhere has no entry, so that equal histories have equal counts.
  if (--found->second.generated == 0 && found->second.prompt == 0) counts_.erase(found);
}

}  // namespace paceline
