#include "speculate/ngram/ngram_drafter.h"

#include <algorithm>

#include "base/check.h"

namespace paceline {
namespace {

// FNV over whole tokens with a finishing shift; its collisions are found out by comparing, so speed is all it needs.
uint64_t hash_of(std::span<const TokenId> gram) {
  uint64_t hash = 0xcbf29ce484222325 + gram.size();
  for (const TokenId token : gram) {
    hash = (hash ^ static_cast<uint32_t>(token)) * 0x100000001b3;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace

NgramDrafter::NgramDrafter(NgramSettings settings) : settings_(settings) {
  CHECK(settings.shortest >= 1 && settings.longest >= settings.shortest);
}

// The text's own end is not among them: nothing followed it yet.
void NgramIndex::index_new(std::span<const TokenId> tokens) {
  for (; indexed_ < tokens.size(); ++indexed_) {
    for (auto n = static_cast<size_t>(settings_.shortest); n <= static_cast<size_t>(settings_.longest); ++n) {
      if (n > indexed_) break;
      after_[hash_of(tokens.subspan(indexed_ - n, n))] = indexed_;
    }
  }
}

// Where the text goes on after the latest occurrence of its longest end; tokens.size() if there is none.
size_t NgramIndex::follow_up(std::span<const TokenId> tokens) const {
  for (auto n = static_cast<size_t>(settings_.longest); n >= static_cast<size_t>(settings_.shortest); --n) {
    if (n >= tokens.size()) continue;
    const auto end = tokens.last(n);
    const auto found = after_.find(hash_of(end));
    if (found == after_.end()) continue;
    if (std::ranges::equal(tokens.subspan(found->second - n, n), end)) return found->second;
  }
  return tokens.size();
}

int32_t NgramIndex::draft(std::span<const TokenId> tokens, std::span<TokenId> out) {
  index_new(tokens);
  const size_t from = follow_up(tokens);
  if (from == tokens.size()) return 0;
  // A repetition shorter than the drafts goes on into the drafts themselves.
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = from + i < tokens.size() ? tokens[from + i] : out[from + i - tokens.size()];
  }
  return static_cast<int32_t>(out.size());
}

}  // namespace paceline
