#include "tokenizer/merge_symbols.h"

#include <algorithm>
#include <functional>

namespace paceline {
namespace {

constexpr uint32_t kNoRank = ~0u;
constexpr uint32_t kNobody = ~0u;
constexpr TokenId kGone = -1;
// Up to here looking through all pairs for the best is faster than keeping a queue.
constexpr size_t kFew = 24;

}  // namespace

void SymbolMerger::merge(std::span<TokenId> symbols, std::vector<TokenId>& ids) {
  if (symbols.size() <= kFew) {
    merge_few(symbols, ids);
  } else {
    merge_many(symbols, ids);
  }
}

void SymbolMerger::merge_few(std::span<TokenId> symbols, std::vector<TokenId>& ids) {
  size_t count = symbols.size();
  ranks_.assign(count, kNoRank);
  const auto rank_at = [&](size_t i) {
    const Merge* merge = i + 1 < count ? merges_.find(symbols[i], symbols[i + 1]) : nullptr;
    return merge == nullptr ? kNoRank : merge->rank;
  };
  for (size_t i = 0; i + 1 < count; ++i) ranks_[i] = rank_at(i);
  while (count > 1) {
    const auto best = std::min_element(ranks_.begin(), ranks_.begin() + static_cast<ptrdiff_t>(count) - 1);
    if (*best == kNoRank) break;
    const auto at = static_cast<size_t>(best - ranks_.begin());
    symbols[at] = merges_.find(symbols[at], symbols[at + 1])->id;
    std::copy(symbols.begin() + static_cast<ptrdiff_t>(at) + 2, symbols.begin() + static_cast<ptrdiff_t>(count),
              symbols.begin() + static_cast<ptrdiff_t>(at) + 1);
    std::copy(best + 2, ranks_.begin() + static_cast<ptrdiff_t>(count), best + 1);
    --count;
    ranks_[at] = rank_at(at);
    if (at > 0) ranks_[at - 1] = rank_at(at - 1);
  }
  ids.insert(ids.end(), symbols.begin(), symbols.begin() + static_cast<ptrdiff_t>(count));
}

void SymbolMerger::offer(uint32_t pos, TokenId left, TokenId right) {
  const Merge* merge = merges_.find(left, right);
  if (merge == nullptr) return;
  queue_.push_back(uint64_t{merge->rank} << 32 | pos);
  std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
}

void SymbolMerger::merge_many(std::span<TokenId> symbols, std::vector<TokenId>& ids) {
  const auto count = static_cast<uint32_t>(symbols.size());
  previous_.resize(count);
  next_.resize(count);
  queue_.clear();
  for (uint32_t i = 0; i < count; ++i) {
    previous_[i] = i == 0 ? kNobody : i - 1;
    next_[i] = i + 1 == count ? kNobody : i + 1;
    if (i + 1 == count) break;
    const Merge* merge = merges_.find(symbols[i], symbols[i + 1]);
    if (merge != nullptr) queue_.push_back(uint64_t{merge->rank} << 32 | i);
  }
  std::make_heap(queue_.begin(), queue_.end(), std::greater<>());
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
    const uint64_t best = queue_.back();
    queue_.pop_back();
    const auto pos = static_cast<uint32_t>(best);
    const uint32_t right = next_[pos];
    if (symbols[pos] == kGone || right == kNobody) continue;
    // An entry whose symbols have changed since has another rank now, or none: what stands at a place only grows, so
    // that no later pair there spells the same piece.
    const Merge* merge = merges_.find(symbols[pos], symbols[right]);
    if (merge == nullptr || merge->rank != best >> 32) continue;
    symbols[pos] = merge->id;
    symbols[right] = kGone;
    next_[pos] = next_[right];
    if (next_[pos] != kNobody) {
      previous_[next_[pos]] = pos;
      offer(pos, symbols[pos], symbols[next_[pos]]);
    }
    if (previous_[pos] != kNobody) offer(previous_[pos], symbols[previous_[pos]], symbols[pos]);
  }
  std::copy_if(symbols.begin(), symbols.end(), std::back_inserter(ids), [](TokenId id) { return id != kGone; });
}

}  // namespace paceline
