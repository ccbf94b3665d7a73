#include "engine/drafting_round.h"

#include <algorithm>

#include "base/check.h"

namespace paceline {

DraftingRound::DraftingRound(const EngineParts& parts, const EngineSettings& settings, bool may_leave_drafts)
    : parts_(parts), settings_(settings), may_leave_drafts_(may_leave_drafts) {
  if (parts.drafter == nullptr || settings.fixed_depth) return;
  CHECK(parts.costs != nullptr);
  policy_ = std::make_unique<BatchDepth>(*parts.costs, settings.batch_rows);
}

void DraftingRound::start(Sequence& seq) {
  if (parts_.drafter == nullptr) return;
  seq.drafter_state = parts_.drafter->start();
  if (policy_ != nullptr && seq.depth == nullptr)
    seq.depth = std::make_unique<AdaptiveDepth>(*parts_.costs, settings_.deepest);
}

// What the sequence taught about drafts is taken over when the next one begins.
void DraftingRound::finish(Sequence& seq) {
  if (seq.depth != nullptr) seq.depth->reset();
}

void DraftingRound::propose(const StepPlan& plan) {
  const auto begin = EngineClock::now();
  draft_ms_ = 0;
  enqueued_ = nullptr;
  writers_.clear();
  decisions_.clear();
  passes_.clear();
  for (const StepPart& part : plan.parts) {
    part.seq->drafts.clear();
    part.seq->round = {};
    part.seq->round.context = part.seq->kv.length();
    // The first choice has no row before it whose state a drafter could start from; nor has one that reads again.
    if (!part.seq->reads()) writers_.push_back(part.seq);
  }
  if (parts_.drafter == nullptr || writers_.empty()) return;
  choose_depths(plan);
  draft();
  if (!asks_.empty() && enqueued_ == nullptr)
    draft_ms_ = std::chrono::duration<double, std::milli>(EngineClock::now() - begin).count();
}

bool DraftingRound::capped(const StepPlan& plan, const Sequence& seq) const {
  const auto beyond = [](int32_t value, int32_t cap) { return cap > 0 && value > cap; };
  return beyond(plan.choosing, settings_.speculates_up_to_running) ||
         beyond(seq.kv.length(), settings_.speculates_up_to_context);
}

void DraftingRound::choose_depths(const StepPlan& plan) {
  const int32_t rows_free = std::max(0, settings_.batch_rows - plan.rows);
  depths_.clear();
  for (Sequence* seq : writers_) {
    DepthAsk ask{seq->depth.get(), seq->kv.length(), std::min({seq->most_drafts(), seq->draft_room, rows_free}), 0,
                 DepthReason::policy};
    if (capped(plan, *seq)) ask.most = 0;
    depths_.push_back(ask);
  }
  if (policy_ == nullptr) {
    fix_depths(rows_free);
  } else if (plan.prompt_rows > 0) {
    // A step that reads prompts is bound by its rows: a draft costs as much as a token, and is worth less.
    for (DepthAsk& ask : depths_) ask.reason = DepthReason::prompts;
  } else {
    policy_->choose(depths_);
  }
  for (size_t i = 0; i < depths_.size(); ++i) {
    if (capped(plan, *writers_[i])) depths_[i].reason = DepthReason::limit;
    decisions_.push_back({depths_[i].depth, depths_[i].reason});
  }
}

void DraftingRound::fix_depths(int32_t rows_free) {
  for (DepthAsk& ask : depths_) {
    ask.depth = std::min({settings_.fixed_depth.value_or(0), ask.most, rows_free});
    ask.reason = DepthReason::fixed;
    rows_free -= ask.depth;
  }
}

void DraftingRound::draft() {
  asks_.clear();
  for (size_t i = 0; i < writers_.size(); ++i) {
    Sequence& seq = *writers_[i];
    seq.round.asked = depths_[i].depth;
    if (seq.round.asked == 0) continue;
    seq.drafts.resize(static_cast<size_t>(seq.round.asked));
    const auto output = static_cast<int64_t>(seq.generated().size());
    asks_.push_back(
        {{seq.standing, &seq.kv, seq.hidden.data(), &seq.sampling, output}, seq.drafter_state.get(), seq.drafts, 0});
    if (passes_.size() < seq.drafts.size()) passes_.resize(seq.drafts.size());
    for (size_t pass = 0; pass < seq.drafts.size(); ++pass) ++passes_[pass];
  }
  if (asks_.empty()) return;
  if (leaves_drafts()) enqueued_ = parts_.drafter->enqueue(asks_);
  if (enqueued_ != nullptr) return place_drafts();
  parts_.drafter->propose(asks_);
  const int32_t vocab = parts_.forward->config().vocab;
  size_t at = 0;
  for (Sequence* seq : writers_) {
    if (seq->round.asked == 0) continue;
    const DraftAsk& ask = asks_[at++];
    CHECK(ask.drafted >= 0 && ask.drafted <= seq->round.asked);
    seq->drafts.resize(static_cast<size_t>(ask.drafted));
    drop_strays(seq->drafts, vocab);
  }
}

// Where the backend chooses, the host need not know the drafts: only who says what form a text has wants to see them
// first.
bool DraftingRound::leaves_drafts() const {
  if (!may_leave_drafts_) return false;
  return std::none_of(writers_.begin(), writers_.end(),
                      [](const Sequence* seq) { return seq->sampling.constraint != nullptr; });
}

void DraftingRound::place_drafts() {
  size_t at = 0;
  for (Sequence* seq : writers_) {
    if (seq->round.asked == 0) continue;
    seq->first_draft = asks_[at].first;
    seq->draft_stride = asks_[at++].stride;
    std::fill(seq->drafts.begin(), seq->drafts.end(), TokenId{0});
  }
}

void DraftingRound::commit(const StepPlan& plan, std::span<const Choosing> choosing, const Taps& taps) {
  if (parts_.drafter == nullptr) return;
  committed_.clear();
  const auto add = [&](const Sequence& seq, const StepPart& part) {
    const int32_t length = seq.kv.length();
    committed_.push_back({seq.drafter_state.get(), &seq.kv, length, part.first_row, length - part.first_pos});
  };
  for (const StepPart& part : plan.parts) {
    add(*part.seq, part);
    // Choices that parted from it in this step, before their drafter knew of it.
    for (const Choosing& one : choosing)
      if (one.seq != part.seq && one.first_row == part.first_row + part.rows - 1) add(*one.seq, part);
  }
  parts_.drafter->committed(committed_, taps);
}

void DraftingRound::observe(const StepPlan& plan, double step_ms) {
  if (policy_ == nullptr || writers_.empty() || plan.prompt_rows > 0) return;
  int32_t rows = 0, longest = 0;
  for (Sequence* seq : writers_) {
    RoundReport& round = seq->round;
    round.drafted = static_cast<int32_t>(seq->drafts.size());
    round.accepted = static_cast<int32_t>(
        std::count_if(seq->verdict.tokens.begin(), seq->verdict.tokens.end(),
                      [](const NewToken& token) { return token.origin == TokenOrigin::accepted; }));
    round.cut = seq->verdict.cut;
    round.draft_ms = round.asked > 0 ? draft_ms_ : 0;
    round.step_ms = step_ms;
    rows += 1 + round.drafted;
    longest = std::max(longest, round.context);
    writers_.size() == 1 ? seq->depth->observe(round) : seq->depth->observe_drafts(round);
  }
  policy_->observe({longest, rows, static_cast<int32_t>(writers_.size()), passes_, draft_ms_, step_ms});
}

}  // namespace paceline
