#include "engine/drafting_round.h"

#include <algorithm>

#include "base/check.h"

namespace paceline {

DraftingRound::DraftingRound(const EngineParts& parts, const EngineSettings& settings, bool may_leave_drafts)
    : parts_(parts), settings_(settings), may_leave_drafts_(may_leave_drafts) {
  if (parts.drafter == nullptr) return;
  passes_.resize(drafters());
  if (settings.fixed_depth) return;
  CHECK(parts.costs != nullptr);
  std::vector<bool> at_once;
  for (int32_t which = 0; which < parts.drafter->count(); ++which) {
    at_once.push_back(parts.drafter->guesses_at_once(which));
    parts.costs[which].deepest = parts.drafter->most_drafts(which);
    parts.costs[which].reads_along = parts.drafter->reads_along(which);
  }
  policy_ = std::make_unique<BatchDepth>(std::span(parts.costs, drafters()), std::move(at_once), settings.batch_rows);
}

void DraftingRound::start(Sequence& seq) {
  if (parts_.drafter == nullptr) return;
  if (seq.accepted->drafts) seq.drafter_state = parts_.drafter->start();
  if (policy_ == nullptr || seq.depth != nullptr) return;
  seq.depth = std::make_unique<RoutedDepth>(std::span(parts_.costs, drafters()), settings_.deepest);
  // Who says how deep wants the first of them.
  if (!depth_ && !seq.request().depth) seq.depth->let_rest();
}

// What the sequence taught about drafts is taken over when the next one begins.
void DraftingRound::finish(Sequence& seq) {
  if (seq.depth != nullptr) seq.depth->reset();
}

void DraftingRound::propose(const StepPlan& plan, double kv_used) {
  draft_ms_ = 0;
  enqueued_ = nullptr;
  writers_.clear();
  drafting_.clear();
  decisions_.clear();
  is_read_ = false;
  for (DraftPasses& passes : passes_) passes = {};
  for (const StepPart& part : plan.parts) {
    part.seq->drafts.clear();
    part.seq->round = {};
    part.seq->depth_reason = DepthReason::policy;
    part.seq->round.context = part.seq->kv.length();
    // The first choice has no row before it whose state a drafter could start from; nor has one that reads again.
    if (!part.seq->reads()) writers_.push_back(part.seq);
    const bool is_read = part.seq->reads() || part.seq->depth == nullptr || part.seq->depth->is_read();
    is_read_ = is_read_ || (part.seq->accepted->drafts && is_read);
  }
  if (parts_.drafter == nullptr || writers_.empty()) return;
  const auto begin = EngineClock::now();
  choose_depths(plan, kv_used);
  draft();
  // Choosing belongs to it: whoever has no drafts in the end has paid for that, too.
  if (!drafting_.empty() && enqueued_ == nullptr) {
    const double all = ms_between(begin, EngineClock::now());
    double known = 0;
    for (const DraftPasses& passes : passes_) known += passes.ms;
    for (DraftPasses& passes : passes_) passes.ms *= known > 0 ? all / known : 1;
    draft_ms_ = all;
  }
}

std::optional<DepthReason> DraftingRound::cap(const StepPlan& plan, const Sequence& seq, double kv_used) const {
  const auto beyond = [](auto value, auto cap) { return cap > 0 && value > cap; };
  if (!seq.accepted->drafts) return DepthReason::cap_kv;
  if (beyond(plan.choosing, settings_.speculates_up_to_running)) return DepthReason::cap_running;
  if (beyond(seq.kv.length(), settings_.speculates_up_to_context)) return DepthReason::cap_context;
  if (beyond(kv_used, settings_.speculates_up_to_kv)) return DepthReason::cap_kv;
  return std::nullopt;
}

// Beside prompts that were given what fits into a bound on time, they are few; short ones leave room.
int32_t DraftingRound::rows_for_drafts(const StepPlan& plan) const {
  if (plan.row_ms == 0) return std::max(0, settings_.batch_rows - plan.rows);
  const int32_t most = std::max(plan.rows / 8, plan.rows_left);
  return std::clamp(settings_.batch_rows - plan.choosing, 0, std::min(most, kMostForwardRows - plan.rows));
}

void DraftingRound::choose_depths(const StepPlan& plan, double kv_used) {
  const int32_t rows_free = rows_for_drafts(plan);
  depths_.clear();
  for (Sequence* seq : writers_) {
    const int32_t most = std::min({seq->most_drafts(), seq->draft_room, rows_free});
    depths_.push_back({seq->depth.get(), seq->kv.length(), cap(plan, *seq, kv_used) ? 0 : most});
  }
  if (policy_ == nullptr || depth_) {
    fix_depths(rows_free);
  } else if (plan.prompt_rows > 0 && plan.row_ms > 0) {
    policy_->choose(depths_, {plan.row_ms, rows_free});
  } else if (plan.prompt_rows > 0) {
    // A step that reads prompts is bound by its rows: a draft costs as much as a token, and is worth less.
    for (DepthAsk& ask : depths_) ask.choice.reason = DepthReason::prompts;
  } else {
    policy_->choose(depths_);
  }
  fix_asked_depths(rows_free);
  for (size_t i = 0; i < depths_.size(); ++i) {
    DepthChoice& choice = depths_[i].choice;
    choice.reason = cap(plan, *writers_[i], kv_used).value_or(choice.reason);
    DepthDecision decision;
    decision.depth = choice.depth;
    decision.reason = choice.reason;
    writers_[i]->depth_reason = choice.reason;
    if (choice.depth > 0) decision.by = parts_.drafter->kind(choice.by);
    decision.request = writers_[i]->accepted->id;
    decision.label = writers_[i]->accepted->request.label;
    decision.choice = writers_[i]->choice;
    decision.context = writers_[i]->kv.length();
    for (int32_t which = 0; which < parts_.drafter->count(); ++which)
      if (depths_[i].policy != nullptr && depths_[i].policy->rests(which))
        decision.resting.set(static_cast<size_t>(parts_.drafter->kind(which)));
    decisions_.push_back(decision);
  }
}

void DraftingRound::fix_depths(int32_t rows_free) {
  const int32_t wanted = depth_.value_or(settings_.fixed_depth.value_or(0));
  for (DepthAsk& ask : depths_) {
    const int32_t by = ask.policy != nullptr ? ask.policy->first_awake() : 0;
    ask.choice = {by, std::min({wanted, ask.most, rows_free}), DepthReason::fixed};
    rows_free -= ask.choice.depth;
  }
}

// Of requests that say how deep; as far as the others leave room.
void DraftingRound::fix_asked_depths(int32_t rows_free) {
  for (const DepthAsk& ask : depths_) rows_free -= ask.choice.depth;
  for (size_t i = 0; i < depths_.size(); ++i) {
    const std::optional<int32_t> wanted = writers_[i]->accepted->request.depth;
    if (!wanted) continue;
    DepthAsk& ask = depths_[i];
    rows_free += ask.choice.depth;
    ask.choice = {0, std::max(0, std::min({*wanted, ask.most, rows_free})), DepthReason::fixed};
    rows_free -= ask.choice.depth;
  }
}

void DraftingRound::draft() {
  for (size_t i = 0; i < writers_.size(); ++i) {
    RoundReport& round = writers_[i]->round;
    round.asked = depths_[i].choice.depth;
    round.by = depths_[i].choice.by;
    if (round.asked > 0) drafting_.push_back(writers_[i]);
  }
  const auto by = [](const Sequence* seq) { return seq->round.by; };
  std::stable_sort(drafting_.begin(), drafting_.end(),
                   [&](const Sequence* a, const Sequence* b) { return by(a) < by(b); });
  for (auto first = drafting_.begin(); first != drafting_.end();) {
    const auto end = std::find_if(first, drafting_.end(), [&](const Sequence* seq) { return by(seq) != by(*first); });
    const auto begin = EngineClock::now();
    ask_drafter({first, end});
    passes_[static_cast<size_t>(by(*first))].ms = ms_between(begin, EngineClock::now());
    first = end;
  }
}

// Of one drafter, for all that it is asked for.
void DraftingRound::ask_drafter(std::span<Sequence*> seqs) {
  asks_.clear();
  for (Sequence* seq : seqs) {
    seq->drafts.resize(static_cast<size_t>(seq->round.asked));
    const auto output = static_cast<int64_t>(seq->generated().size());
    asks_.push_back({{seq->standing, &seq->kv, seq->hidden.data(), &seq->sampling, output},
                     seq->drafter_state.get(),
                     seq->drafts,
                     0,
                     seq->round.by});
    count_passes(*seq);
  }
  // Where they lie is said once for a step.
  if (seqs.size() == drafting_.size() && leaves_drafts()) enqueued_ = parts_.drafter->enqueue(asks_);
  if (enqueued_ != nullptr) return place_drafts(seqs);
  parts_.drafter->propose(asks_);
  const int32_t vocab = parts_.forward->config().vocab;
  for (size_t i = 0; i < seqs.size(); ++i) {
    CHECK(asks_[i].drafted >= 0 && asks_[i].drafted <= seqs[i]->round.asked);
    seqs[i]->drafts.resize(static_cast<size_t>(asks_[i].drafted));
    drop_strays(seqs[i]->drafts, vocab);
  }
}

void DraftingRound::count_passes(const Sequence& seq) {
  const bool at_once = parts_.drafter->guesses_at_once(seq.round.by);
  const auto needed = at_once ? size_t{1} : static_cast<size_t>(seq.round.asked);
  std::vector<int32_t>& passes = passes_[static_cast<size_t>(seq.round.by)].sequences;
  if (passes.size() < needed) passes.resize(needed);
  for (size_t pass = 0; pass < needed; ++pass) ++passes[pass];
}

// Where the backend chooses, the host need not know the drafts: only who says what form a text has wants to see them
// first.
bool DraftingRound::leaves_drafts() const {
  if (!may_leave_drafts_) return false;
  return std::none_of(writers_.begin(), writers_.end(),
                      [](const Sequence* seq) { return seq->sampling.constraint != nullptr; });
}

void DraftingRound::place_drafts(std::span<Sequence*> seqs) {
  for (size_t i = 0; i < seqs.size(); ++i) {
    seqs[i]->first_draft = asks_[i].first;
    seqs[i]->draft_stride = asks_[i].stride;
    std::fill(seqs[i]->drafts.begin(), seqs[i]->drafts.end(), TokenId{0});
  }
}

void DraftingRound::set_draft_ms(double ms) {
  draft_ms_ = ms;
  if (!drafting_.empty()) passes_[static_cast<size_t>(drafting_.front()->round.by)].ms = ms;
}

void DraftingRound::commit(const StepPlan& plan, std::span<const Choosing> choosing, const Taps& taps) {
  if (parts_.drafter == nullptr) return;
  committed_.clear();
  const auto add = [&](const Sequence& seq, const StepPart& part) {
    if (!seq.accepted->drafts) return;
    const int32_t length = seq.kv.length();
    const bool writes = std::find(writers_.begin(), writers_.end(), &seq) != writers_.end();
    const uint32_t resting = writes && seq.depth != nullptr ? seq.depth->resting() : 0;
    committed_.push_back({seq.drafter_state.get(), &seq.kv, length, part.first_row, length - part.first_pos, writes,
                          seq.standing, resting});
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
  int32_t rows = 0, longest = 0;
  for (size_t i = 0; i < writers_.size(); ++i) {
    const Sequence& seq = *writers_[i];
    RoundReport& round = writers_[i]->round;
    round.drafted = static_cast<int32_t>(seq.drafts.size());
    round.accepted = static_cast<int32_t>(
        std::count_if(seq.verdict.tokens.begin(), seq.verdict.tokens.end(),
                      [](const NewToken& token) { return token.origin == TokenOrigin::accepted; }));
    round.cut = seq.verdict.cut;
    round.draft_ms = round.asked > 0 ? passes_[static_cast<size_t>(round.by)].ms : 0;
    round.step_ms = step_ms;
    rows += 1 + round.drafted;
    longest = std::max(longest, round.context);
    if (i >= decisions_.size()) continue;
    decisions_[i].drafted = round.drafted;
    decisions_[i].accepted = round.accepted;
  }
  if (policy_ == nullptr || writers_.empty()) return;
  if (plan.prompt_rows > 0) {
    // What it took says nothing about steps without prompts.
    for (Sequence* seq : writers_)
      if (seq->round.drafted > 0) seq->depth->of(seq->round.by).observe_drafts(seq->round);
    return;
  }
  for (Sequence* seq : writers_) {
    if (writers_.size() == 1) {
      seq->depth->observe(seq->round);
    } else {
      seq->depth->of(seq->round.by).observe_drafts(seq->round);
    }
  }
  policy_->observe({longest, rows, static_cast<int32_t>(writers_.size()), passes_, step_ms});
}

}  // namespace paceline
