// The end of a step: what listeners hear of it, who goes, what is counted.
#include <algorithm>

#include "engine/step.h"

namespace paceline {
namespace {

Event event_of(const Sequence& seq) {
  Event event;
  event.choice = seq.choice;
  event.prompt_done = seq.prompt_done;
  event.cached = seq.cached;
  event.missed = seq.missed;
  return event;
}

}  // namespace

void Stepper::publish() {
  for (const StepPart& part : plan_.parts) {
    // What is read for the second time is no progress.
    if (part.seq->note_progress() && !part.chooses) late_.push_back(told_of(*part.seq, false));
  }
  for (const Choosing& one : choosing_) {
    const bool unwanted =
        std::any_of(unwanted_.begin(), unwanted_.end(), [&](const Unwanted& other) { return other.seq == one.seq; });
    if (!unwanted) late_.push_back(told_of(*one.seq, true));
  }
  end_unwanted();
  if (!tells_late_) tell_last_step();
  // Whoever ends goes before the next step.
  for (Told& told : late_)
    if (told.verdict.end) settle(told);
  std::erase_if(late_, [](const Told& told) { return told.seq == nullptr; });
  end_unwanted();
}

Stepper::Told Stepper::told_of(Sequence& seq, bool chose) const {
  Told told{
      .seq = &seq, .prompt_done = seq.prompt_done, .cached = seq.cached, .chose = chose, .kv_bytes = seq.kv.bytes()};
  if (!chose) return told;
  told.verdict = std::move(seq.verdict);
  told.drafted = static_cast<int32_t>(seq.drafts.size());
  const auto accepted = std::count_if(told.verdict.tokens.begin(), told.verdict.tokens.end(),
                                      [](const NewToken& token) { return token.origin == TokenOrigin::accepted; });
  told.rejected.assign(seq.drafts.begin() + std::min<std::ptrdiff_t>(accepted, told.drafted), seq.drafts.end());
  told.trace = {.depth = seq.round.asked,
                .reason = seq.depth_reason,
                .draft_ms = drafting_.draft_ms(),
                .verify_ms = forward_ms_,
                .choose_ms = choose_ms_,
                .commit_ms = commit_ms_,
                .rejected = {},
                .expected = {}};
  if (seq.accepted->request.wants_estimates && seq.depth != nullptr)
    told.trace.expected = seq.depth->of(seq.round.by).expected_rates(seq.most_drafts());
  if (told.drafted > 0) told.by = parts_.drafter->kind(seq.round.by);
  return told;
}

std::optional<size_t> Stepper::tell(Told& told) {
  Sequence& seq = *told.seq;
  Verdict& verdict = told.verdict;
  Event event;
  event.choice = seq.choice;
  event.prompt_done = told.prompt_done;
  event.cached = told.cached;
  event.missed = seq.missed;
  event.kv_bytes = told.kv_bytes;
  if (!told.chose) {
    seq.accepted->listener->hear(event);
    return std::nullopt;
  }
  event.tokens = verdict.tokens;
  event.drafted = told.drafted;
  told.trace.rejected = told.rejected;
  event.round = &told.trace;
  // A round that met a stop at once has no tokens; that it ran is told all the same.
  const Heard heard = seq.accepted->listener->hear(event);
  const size_t offered = verdict.tokens.size(), stand = std::min(heard.stand, offered);
  const bool ends = offered > 0 && (heard.ends || stand < offered);
  verdict.tokens.resize(stand);
  count_round(seq, told);
  if (!ends) return std::nullopt;
  return offered - stand;
}

// Whether it ends with that, and how.
void Stepper::settle(Told& told) {
  Sequence* const seq = told.seq;
  const std::optional<size_t> refused = tell(told);
  if (refused) {
    unwanted_.push_back({seq, seq->standing.size() - *refused});
  } else if (told.verdict.end) {
    ended_.push_back({seq, *told.verdict.end, std::move(told.verdict.problem)});
  }
  told.seq = nullptr;
}

// In the order of the step.
void Stepper::tell_last_step() {
  for (Told& told : late_) settle(told);
  late_.clear();
  if (late_report_) parts_.observer->observe(*late_report_);
  late_report_.reset();
}

// What was chosen since stands for nothing.
void Stepper::end_unwanted() {
  for (const Unwanted& one : unwanted_) {
    one.seq->standing.resize(one.standing);
    one.seq->verdict.stop_token = -1;
    ended_.push_back({one.seq, EndReason::listener});
  }
  unwanted_.clear();
  end_all();
}

void Stepper::count_round(Sequence& seq, const Told& told) {
  SpeculationCounters round;
  round.rounds = 1;
  round.drafted = told.drafted;
  round.emitted = static_cast<int64_t>(told.verdict.tokens.size());
  for (const NewToken& token : told.verdict.tokens)
    if (token.origin == TokenOrigin::accepted) ++round.accepted_at[static_cast<size_t>(round.accepted++)];
  for (int64_t i = 0; i < round.drafted; ++i) ++round.drafted_at[static_cast<size_t>(i)];
  if (round.drafted > 0) round.by[static_cast<size_t>(told.by)] = {1, round.drafted, round.accepted};
  // The prompt's last row is not timed as a round.
  if (seq.counters.rounds > 0) {
    round.draft_ms = told.trace.draft_ms;
    round.verify_ms = told.trace.verify_ms;
    round.choose_ms = told.trace.choose_ms;
    round.commit_ms = told.trace.commit_ms;
  }
  seq.counters += round;
  totals_ += round;
}

void Stepper::tell_end(const Sequence& seq, int32_t choice, const SequenceEnd& end) const {
  Event event = event_of(seq);
  event.choice = choice;
  event.end = &end;
  seq.accepted->listener->hear(event);
}

// What one still has to be told before it hears its end.
void Stepper::tell_late(Sequence& seq, EndReason& reason) {
  for (Told& told : late_) {
    if (told.seq != &seq) continue;
    const std::optional<size_t> refused = tell(told);
    told.seq = nullptr;
    if (!refused) continue;
    seq.standing.resize(seq.standing.size() - *refused);
    reason = EndReason::listener;
  }
  std::erase_if(late_, [](const Told& told) { return told.seq == nullptr; });
}

void Stepper::end_all() {
  for (auto& [seq, reason, problem] : ended_) {
    if (!late_.empty()) tell_late(*seq, reason);
    const EngineClock::time_point now = EngineClock::now();
    SequenceEnd end;
    end.reason = reason;
    end.problem = std::move(problem);
    end.stop_token = seq->verdict.stop_token;
    end.output_tokens = static_cast<int32_t>(seq->generated().size());
    end.counters = seq->counters;
    end.queued_ms = ms_between(seq->accepted->submitted, seq->admitted);
    const bool chose = seq->chose;
    end.prompt_ms = ms_between(seq->admitted, chose ? seq->first_choice : now);
    end.decode_ms = chose ? ms_between(seq->first_choice, now) : 0;
    tell_end(*seq, seq->choice, end);
    // A prompt that was not read to its end takes the choices with it that were never begun.
    const bool takes_others = seq->choice == 0 && !seq->forked;
    for (int32_t choice = 1; takes_others && choice < seq->request().choices; ++choice) tell_end(*seq, choice, end);
    drafting_.finish(*seq);
    schedule_.leave_end(*seq);
    schedule_.remove(*seq);
  }
  ended_.clear();
}

}  // namespace paceline
