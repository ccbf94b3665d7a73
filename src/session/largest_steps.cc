#include "session/largest_steps.h"

#include <algorithm>
#include <vector>

#include "kernels/row_buffer.h"

namespace paceline {
namespace {

class Steps {
 public:
  Steps(const LargestSteps& of, const EngineSettings& settings)
      : of_(of),
        settings_(settings),
        layout_(of.forward->kv_layout()),
        pool_(std::make_shared<KvBlockPool>(
            layout_.blocks,
            page_bytes(layout_) * static_cast<size_t>(2 + new_pages(most_rows(settings)) + own_states()) +
                layout_.block_bytes[StateKind::recurrent] * static_cast<size_t>(1 + own_states()))) {
    for (const StateKind kind : kPageKinds) page_[kind] = pool_->take(kind);
    page_[StateKind::recurrent] = pool_->take(StateKind::recurrent);
  }

  Status run() {
    const auto is_missing = [this](StateKind kind) { return !page_[kind]; };
    if (std::any_of(kPageKinds.begin(), kPageKinds.end(), is_missing) || is_missing(StateKind::recurrent))
      return of_.forward->settle();
    TRY(step(1, std::max(settings_.batch_rows, most_rows(settings_))));
    for (int32_t seqs = 1; seqs < settings_.batch_rows; seqs *= 2) TRY(step(seqs, 1));
    TRY(step(settings_.batch_rows, 1));
    if (of_.drafter != nullptr) TRY(draft());
    return Done{};
  }

 private:
  static size_t page_bytes(const KvLayout& layout) {
    size_t bytes = 0;
    for (const StateKind kind : kPageKinds) bytes += layout.block_bytes[kind];
    return bytes;
  }
  // Of one forward.
  static int32_t most_rows(const EngineSettings& settings) { return std::max(settings.chunk_rows, kMaxForwardRows); }
  // Pages that so many rows take of the pool. Few are written over what is there.
  [[nodiscard]] int32_t new_pages(int32_t rows) const {
    return rows > kMaxForwardRows || layout_.is_recurrent() ? (rows - 1) / kPageTokens + 1 : 0;
  }
  // What a recurrent layer remembers cannot be taken back from the end of a page: every sequence goes on from there, by
  // itself.
  [[nodiscard]] int32_t own_states() const { return layout_.is_recurrent() ? settings_.batch_rows : 0; }

  // So many rows before the end of a context; all its pages up to there are the one there is.
  KvCache sequence(int32_t context, int32_t rows) {
    const int32_t pages = std::max(1, context / kPageTokens), known = std::max(1, pages - new_pages(rows));
    const bool goes_on = layout_.is_recurrent();
    KvCache kv(layout_, (goes_on ? known + new_pages(rows) : pages) * kPageTokens, kMaxForwardRows, pool_);
    kv.adopt(std::vector<KvCache::PageBlocks>(static_cast<size_t>(known), page_));
    if (known == pages && !goes_on) kv.truncate(std::max(1, kv.length() - rows));
    return kv;
  }
  // One as long as the context is; how many pages a step walks is a matter of the longest.
  std::vector<KvCache> sequences(int32_t count, int32_t rows) {
    std::vector<KvCache> made;
    for (int32_t i = 0; i < count; ++i)
      made.push_back(sequence(i == 0 ? of_.forward->config().context : kPageTokens, rows));
    return made;
  }

  Status step(int32_t count, int32_t rows) {
    std::vector<KvCache> caches = sequences(count, rows);
    std::vector<SeqRows> seqs;
    std::vector<int32_t> logit_rows;
    int32_t all = 0;
    for (KvCache& kv : caches) {
      const int32_t some = std::min(rows, kv.capacity() - kv.length());
      seqs.push_back({&kv, some});
      all += some;
      logit_rows.push_back(all - 1);
    }
    const std::vector<TokenId> tokens(static_cast<size_t>(all), 0);
    ForwardInput input;
    input.tokens = tokens;
    input.seqs = seqs;
    input.logit_rows = logit_rows;
    if (of_.drafter != nullptr) input.tap_layers = of_.drafter->tap_layers();
    const ForwardRows ran = of_.forward->enqueue(input);
    if (of_.drafter != nullptr) tell(seqs, {ran.taps, all});
    return of_.forward->settle();
  }

  // The drafter, as if all of them stood.
  void tell(std::span<const SeqRows> seqs, const Taps& taps) {
    std::vector<std::unique_ptr<DrafterState>> states;
    std::vector<CommittedRows> rows;
    const std::vector<TokenId> standing(static_cast<size_t>(of_.forward->config().context) + 1, 0);
    int32_t first = 0;
    for (const SeqRows& seq : seqs) {
      states.push_back(of_.drafter->start());
      rows.push_back({states.back().get(), seq.kv, seq.kv->length(), first, seq.count});
      rows.back().standing = std::span(standing).first(static_cast<size_t>(seq.kv->length()) + 1);
      first += seq.count;
    }
    of_.drafter->committed(rows, taps);
  }

  // Many with a draft each, and few with many. What waits of a sequence lies in its units, which it has none of here.
  Status draft() {
    const int32_t half = std::max(1, settings_.batch_rows / 2);
    TRY(draft(half, 1));
    return draft(std::min(half, 8), settings_.fixed_depth.value_or(kMaxDraftTokens));
  }
  Status draft(int32_t count, int32_t depth) {
    if (depth == 0) return Done{};
    const int32_t block = std::max(1, of_.drafter->block_rows());
    std::vector<KvCache> caches = sequences(count, block);
    kernels::Ops& ops = of_.forward->ops();
    kernels::RowBuffer hidden;
    const float* row = hidden.sized(ops, of_.forward->config().hidden);
    std::vector<std::vector<TokenId>> tokens, drafts(caches.size(), std::vector<TokenId>(static_cast<size_t>(depth)));
    std::vector<std::unique_ptr<DrafterState>> states;
    for (KvCache& kv : caches) {
      (void)kv.reserve(std::min(block, kv.capacity() - kv.length()));
      tokens.emplace_back(static_cast<size_t>(kv.length()) + 1, 0);
      states.push_back(of_.drafter->start());
    }
    std::vector<DraftAsk> asks;
    for (size_t i = 0; i < caches.size(); ++i)
      asks.push_back({{tokens[i], &caches[i], row}, states[i].get(), drafts[i]});
    if (of_.drafter->enqueue(asks) == nullptr) of_.drafter->propose(asks);
    return of_.forward->settle();
  }

  const LargestSteps& of_;
  const EngineSettings& settings_;
  const KvLayout& layout_;
  std::shared_ptr<KvBlockPool> pool_;
  KvCache::PageBlocks page_;
};

// The largest picture there can be, all grey.
Status look(Vision& vision) {
  constexpr int32_t kSide = 2048, kMostTokens = *std::max_element(std::begin(kBudgets), std::end(kBudgets));
  Picture grey;
  grey.width = grey.height = kSide;
  grey.rgb.assign(static_cast<size_t>(kSide) * kSide * 3, 127);
  TRY_ASSIGN(const Patches patches, vision.cut(grey, kMostTokens));
  const Patches* const one = &patches;
  (void)vision.forward().run({&one, 1});
  return Done{};
}

}  // namespace

Status run_largest_steps(const LargestSteps& of, const EngineSettings& settings) {
  TRY(Steps(of, settings).run());
  if (of.vision != nullptr) TRY(look(*of.vision));
  return of.forward->settle();
}

// Of a sequence: the row it drafts from and one of a drafter that reads along, counts and biases of all tokens, and
// bits of what is barred and of what is allowed at each of a round's choices. Graphs are small and many; and not all of
// a driver's memory is in one piece.
size_t bytes_beside_steps(const ModelConfig& config, const EngineSettings& settings, size_t free_bytes) {
  const auto vocab = static_cast<size_t>(config.vocab), hidden = static_cast<size_t>(config.hidden);
  const size_t each = 2 * hidden * sizeof(float) + 2 * vocab * sizeof(float) + (kMaxDraftTokens + 2) * vocab / 8;
  const size_t graphs = std::min(size_t{1} << 30, free_bytes / 10);
  return std::min(free_bytes / 2, graphs + each * static_cast<size_t>(std::min(settings.most_running, 1024)));
}

}  // namespace paceline
