#include "speculate/scripted/known_texts.h"

#include <algorithm>

namespace paceline {

uint64_t KnownTexts::print_of(std::span<const TokenId> tokens) {
  uint64_t print = 0;
  for (const TokenId token : tokens.last(std::min(tokens.size(), kTokens)))
    print = (print ^ static_cast<uint32_t>(token)) * 0x9e3779b97f4a7c15u ^ print >> 31;
  return print;
}

void KnownTexts::note(Text& text, std::span<const TokenId> all) {
  const size_t known = text.tokens.size();
  if (all.size() <= known) return;
  text.tokens.insert(text.tokens.end(), all.begin() + static_cast<std::ptrdiff_t>(known), all.end());
  for (size_t next = std::max(known, kTokens); next < all.size(); ++next)
    places_.try_emplace(print_of(all.first(next)), Place{&text, next});
}

std::span<const TokenId> KnownTexts::behind(std::span<const TokenId> tokens, size_t most) const {
  if (tokens.size() < kTokens) return {};
  const auto found = places_.find(print_of(tokens));
  if (found == places_.end()) return {};
  const std::span<const TokenId> rest = std::span(found->second.text->tokens).subspan(found->second.next);
  return rest.first(std::min(most, rest.size()));
}

}  // namespace paceline
