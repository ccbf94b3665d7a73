#include "proof/draft_hits.h"

#include <algorithm>
#include <array>

namespace paceline {
namespace {

// Rows of a forward, at each of which there are drafts.
constexpr size_t kDraftRows = 64;

class HitCount {
 public:
  HitCount(Forward& forward, Drafter& drafter, int32_t depth)
      : forward_(forward), drafter_(drafter), depth_(depth), kv_(forward.kv_layout(), forward.config().context) {}

  Result<DraftHits> run(std::span<const TokenId> text) {
    const auto longest = static_cast<size_t>(forward_.config().context);
    for (size_t at = 0; at < text.size(); at += longest)
      TRY(run_piece(text.subspan(at, std::min(longest, text.size() - at))));
    return hits_;
  }

 private:
  Status run_piece(std::span<const TokenId> piece) {
    kv_.truncate(0);
    for (size_t at = 0; at < piece.size(); at += kDraftRows) {
      const std::span<const TokenId> rows = piece.subspan(at, std::min(kDraftRows, piece.size() - at));
      const float* hidden = nullptr;
      TRY_ASSIGN(hidden, run_rows(rows));
      const auto width = static_cast<size_t>(forward_.config().hidden);
      // Backwards, so that each place has what stands before it and no more.
      for (size_t i = rows.size(); i-- > 0;) {
        kv_.truncate(static_cast<int32_t>(at + i + 1));
        draft_at(piece, at + i + 1, hidden + i * width);
      }
      kv_.truncate(static_cast<int32_t>(at));
      TRY_ASSIGN(hidden, run_rows(rows));
    }
    return Done{};
  }

  Result<const float*> run_rows(std::span<const TokenId> rows) {
    const SeqRows seq{&kv_, static_cast<int32_t>(rows.size())};
    const ForwardOutput out = forward_.run({rows, {&seq, 1}, {}, {}});
    TRY(forward_.status());
    return out.hidden;
  }

  // piece[newest] is chosen and not run.
  void draft_at(std::span<const TokenId> piece, size_t newest, const float* hidden) {
    if (newest + static_cast<size_t>(depth_) >= piece.size()) return;
    std::array<TokenId, kMaxDraftTokens> drafts{};
    DraftAsk ask;
    ask.context = {piece.first(newest + 1), &kv_, hidden};
    ask.out = std::span(drafts).first(static_cast<size_t>(depth_));
    drafter_.propose({&ask, 1});
    ++hits_.places;
    for (int32_t i = 0; i < ask.drafted && drafts[static_cast<size_t>(i)] == piece[newest + 1 + static_cast<size_t>(i)];
         ++i)
      ++hits_.accepted;
  }

  Forward& forward_;
  Drafter& drafter_;
  const int32_t depth_;
  KvCache kv_;
  DraftHits hits_;
};

}  // namespace

Result<DraftHits> count_draft_hits(Forward& forward, Drafter& drafter, std::span<const TokenId> text, int32_t depth) {
  return HitCount(forward, drafter, depth).run(text);
}

}  // namespace paceline
