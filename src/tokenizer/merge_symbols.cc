#include "tokenizer/merge_symbols.h"

#include <algorithm>

namespace paceline {
namespace {

constexpr uint32_t kNoRank = ~0u;
constexpr uint32_t kNobody = ~0u;
constexpr TokenId kGone = -1;
// Up to here looking through all pairs for the best is faster than keeping a queue.
constexpr size_t kFew = 24;
// Beyond, a heap is larger than the first cache.
constexpr size_t kBookish = 4096;

}  // namespace

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

template <class Queue>
void SymbolMerger::merge_many(std::span<const TokenId> symbols, Queue& queue, std::vector<TokenId>& ids) {
  const auto count = static_cast<uint32_t>(symbols.size());
  links_.resize(count);
  const auto rank_at = [&](uint32_t pos) {
    const uint32_t right = links_[pos].next;
    const Merge* merge = right == kNobody ? nullptr : merges_.find(links_[pos].id, links_[right].id);
    return merge == nullptr ? kNoRank : merge->rank;
  };
  for (uint32_t i = 0; i < count; ++i)
    links_[i] = {symbols[i], i == 0 ? kNobody : i - 1, i + 1 == count ? kNobody : i + 1, kNoRank};
  for (uint32_t i = 0; i < count; ++i) {
    links_[i].rank = rank_at(i);
    if (links_[i].rank != kNoRank) queue.put({links_[i].rank, i});
  }
  queue.finish();
  const auto offer = [&](uint32_t pos) {
    links_[pos].rank = rank_at(pos);
    if (links_[pos].rank != kNoRank) queue.offer({links_[pos].rank, pos});
  };
  for (OfferedMerge best{}; queue.take(best);) {
    Link& left = links_[best.pos];
    // The pair has changed since: another rank, or none. What stands at a place only grows, so that no later pair there
    // spells the same piece.
    if (left.rank != best.rank) continue;
    Link& right = links_[left.next];
    left.id = merges_.id_of(best.rank);
    left.next = right.next;
    right = {kGone, kNobody, kNobody, kNoRank};
    if (left.next != kNobody) links_[left.next].previous = best.pos;
    offer(best.pos);
    if (left.previous != kNobody) offer(left.previous);
  }
  for (const Link& link : links_)
    if (link.id != kGone) ids.push_back(link.id);
}

void SymbolMerger::merge(std::span<TokenId> symbols, std::vector<TokenId>& ids) {
  if (symbols.size() <= kFew) {
    merge_few(symbols, ids);
  } else if (symbols.size() <= kBookish) {
    merge_many(symbols, heap_, ids);
  } else {
    buckets_.reserve(merges_.rank_end());
    merge_many(symbols, buckets_, ids);
  }
}

}  // namespace paceline
