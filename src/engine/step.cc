#include "engine/step.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace paceline {
namespace {

constexpr const char* kNoMemory = "the engine has no memory left for the keys and values of this text";

Event event_of(const Sequence& seq) {
  Event event;
  event.choice = seq.choice;
  event.prompt_done = seq.prompt_done;
  event.cached = seq.cached;
  return event;
}

}  // namespace

Stepper::Stepper(const EngineParts& parts, const EngineSettings& settings)
    : parts_(parts),
      config_(parts.forward->config()),
      schedule_(parts.forward->kv_layout(), config_, settings, parts.drafter),
      features_(parts.vision, settings.feature_bytes),
      round_(ChoosingRound::make(parts)),
      drafting_(parts, settings, round_->takes_unknown_drafts()),
      gives_way_(settings.gives_way) {
  CHECK(settings.batch_rows > 0 && settings.batch_rows <= kMaxImageRows);
  CHECK(settings.chunk_rows >= 0 && settings.chunk_rows <= kMostForwardRows && settings.chunk_rows_beside > 0);
  if (schedule_.memory().is_missing())
    failure_ = fmt::format("the machine has not the {} bytes that are wanted for keys and values", settings.kv_bytes);
}

bool Stepper::step() {
  if (failed()) {
    end_failed();
    return false;
  }
  end_overdue();
  if (gives_way_) schedule_.make_give_way(gives_way_(steps_));
  schedule_.admit([this](Sequence& seq) { start(seq); });
  const bool looked = features_.look(schedule_.running(), writing_ms_);
  schedule_.plan(plan_);
  if (plan_.parts.empty()) {
    if (!looked && !idle_) become_idle();
    return looked;
  }
  idle_ = false;
  hold();
  if (plan_.parts.empty()) return true;
  round_->begin();
  drafting_.propose(plan_, kv_used());
  forward();
  if (const Status chose = choose(); !chose.ok()) {
    fail(chose.error().message);
    return true;
  }
  commit();
  publish();
  count_step();
  return true;
}

// A device's fault, or our own: whatever runs or waits ends here, and so will all that comes.
void Stepper::fail(std::string why) {
  failure_ = std::move(why);
  if (parts_.observer != nullptr) parts_.observer->observe_failure(failure_);
  if (on_failure_) on_failure_();
  end_failed();
}

void Stepper::end_failed() {
  ended_.clear();
  each_sequence([this](Sequence& seq) { ended_.push_back({&seq, EndReason::failed, failure_}); });
  end_all();
  end_waiting([](const Accepted&) { return true; }, EndReason::failed);
}

// Memory for the rows of this step and the drafts behind them, before anything is computed.
void Stepper::hold() {
  lost_.clear();
  schedule_.hold(plan_, lost_);
  ended_.clear();
  for (Sequence* seq : lost_) ended_.push_back({seq, EndReason::failed, kNoMemory});
  end_all();
}

// A sequence that has just been admitted, or forked, or has come back after it gave way: then all but the drafter's
// part is as it was.
void Stepper::start(Sequence& seq) {
  drafting_.start(seq);
  if (seq.started) return;
  seq.started = true;
  (void)seq.hidden.sized(parts_.forward->ops(), config_.hidden);
  round_->start(seq);
  if (seq.choice == 0) seq.admitted = EngineClock::now();
}

template <class Visit>
void Stepper::each_sequence(const Visit& visit) {
  for (const Schedule::Sequences* some : {&schedule_.running(), &schedule_.gave_way()})
    for (const auto& seq : *some) visit(*seq);
}

void Stepper::cancel(RequestId id) {
  each_sequence([&](Sequence& seq) { seq.cancelled |= seq.accepted->id == id; });
  end_waiting([&](const Accepted& accepted) { return accepted.id == id; }, EndReason::cancelled);
}

void Stepper::end_overdue() {
  const EngineClock::time_point now = EngineClock::now();
  const auto overdue = [&](const Request& request) { return request.deadline && *request.deadline <= now; };
  ended_.clear();
  each_sequence([&](Sequence& seq) {
    if (seq.cancelled) {
      ended_.push_back({&seq, EndReason::cancelled});
    } else if (overdue(seq.request())) {
      ended_.push_back({&seq, EndReason::deadline});
    }
  });
  end_all();
  end_waiting([&](const Accepted& accepted) { return overdue(accepted.request); }, EndReason::deadline);
}

template <class Which>
void Stepper::end_waiting(const Which& which, EndReason reason) {
  auto& waiting = schedule_.waiting();
  for (size_t i = 0; i < waiting.size();) {
    if (!which(*waiting[i])) {
      ++i;
      continue;
    }
    const std::shared_ptr<const Accepted> accepted = waiting[i];
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
    SequenceEnd end;
    end.reason = reason;
    if (reason == EndReason::failed) end.problem = failure_;
    end.queued_ms = ms_between(accepted->submitted, EngineClock::now());
    for (int32_t choice = 0; choice < accepted->request.choices; ++choice)
      accepted->listener->hear({choice, 0, 0, {}, &end});
  }
}

void Stepper::forward() {
  const EngineClock::time_point begin = EngineClock::now();
  tokens_.clear();
  seq_rows_.clear();
  logit_rows_.clear();
  drafted_at_.clear();
  round_->drafted();
  for (StepPart& part : plan_.parts) {
    Sequence& seq = *part.seq;
    part.first_row = static_cast<int32_t>(tokens_.size());
    part.first_pos = seq.kv.length();
    part.first_logits = static_cast<int32_t>(logit_rows_.size());
    const auto from = seq.standing.begin() + seq.kv.length();
    tokens_.insert(tokens_.end(), from, from + part.rows);
    tokens_.insert(tokens_.end(), seq.drafts.begin(), seq.drafts.end());
    const auto end = static_cast<int32_t>(tokens_.size());
    seq_rows_.push_back({&seq.kv, end - part.first_row, seq.soft, static_cast<int32_t>(seq.drafts.size())});
    for (int32_t row = part.first_row + part.rows - 1; part.chooses && row < end; ++row) logit_rows_.push_back(row);
    if (drafting_.enqueued() == nullptr) continue;
    drafted_at_.resize(tokens_.size(), -1);
    for (size_t i = 0; i < seq.drafts.size(); ++i)
      drafted_at_[static_cast<size_t>(part.first_row + part.rows) + i] =
          seq.first_draft + static_cast<int32_t>(i) * seq.draft_stride;
  }
  rows_ = parts_.forward->enqueue(
      {tokens_, seq_rows_, logit_rows_, drafting_.tap_layers(), drafting_.enqueued(), drafted_at_});
  forward_ms_ = ms_between(begin, EngineClock::now());
}

void Stepper::find_choosing() {
  choosing_.clear();
  first_choosing_.clear();
  for (const StepPart& part : plan_.parts) {
    if (!part.chooses) continue;
    choosing_.push_back({part.seq, part.first_row + part.rows - 1, part.first_logits});
    if (!part.seq->chose) fork_choices(choosing_.back());
  }
}

Status Stepper::choose() {
  const EngineClock::time_point begin = EngineClock::now();
  find_choosing();
  const bool drafts_unknown = drafting_.enqueued() != nullptr;
  const Result<RoundTimes> ran = round_->run({rows_, drafts_unknown, choosing_});
  const EngineClock::time_point end = EngineClock::now();
  for (Sequence* seq : first_choosing_) seq->first_choice = end;
  TRY_ASSIGN(const RoundTimes times, ran);
  choose_ms_ = times.choose_ms;
  // Drafts that were enqueued ran while the host was still busy with what comes behind them.
  forward_ms_ = std::max(0.0, forward_ms_ + ms_between(begin, end) - times.choose_ms - times.draft_ms);
  if (drafts_unknown) drafting_.set_draft_ms(times.draft_ms);
  return Done{};
}

// The first choice of the prompt's last row: all choices have it in common. One that there is no memory for reads the
// prompt later, by itself.
void Stepper::fork_choices(const Choosing& first) {
  Sequence& seq = *first.seq;
  const int32_t row = first.first_row, logits = first.first_logits;
  first_choosing_.push_back(&seq);
  if (seq.forked || seq.request().choices == 1) return;
  forks_.clear();
  schedule_.fork_choices(seq, forks_, [this](Sequence& fork) { start(fork); });
  for (Sequence* fork : forks_) {
    first_choosing_.push_back(fork);
    choosing_.push_back({fork, row, logits});
  }
}

// Takes back the rows of drafts that were not chosen.
void Stepper::commit() {
  const EngineClock::time_point begin = EngineClock::now();
  for (const Choosing& one : choosing_) {
    Sequence& seq = *one.seq;
    const auto standing = static_cast<int32_t>(seq.standing.size());
    seq.kv.truncate(std::min(seq.kv.length(), seq.verdict.stop_token >= 0 ? standing : standing - 1));
  }
  drafting_.commit(plan_, choosing_, {rows_.taps, static_cast<int32_t>(tokens_.size())});
  for (const StepPart& part : plan_.parts) schedule_.leave_pages(*part.seq);
  drafting_.observe(plan_, forward_ms_ + choose_ms_);
  commit_ms_ = ms_between(begin, EngineClock::now());
}

void Stepper::publish() {
  ended_.clear();
  for (const StepPart& part : plan_.parts) {
    // What is read for the second time is no progress.
    if (part.seq->note_progress() && !part.chooses) part.seq->accepted->listener->hear(event_of(*part.seq));
  }
  for (const Choosing& one : choosing_) publish(*one.seq);
  end_all();
}

void Stepper::publish(Sequence& seq) {
  Verdict& verdict = seq.verdict;
  Event event = event_of(seq);
  event.tokens = verdict.tokens;
  event.drafted = static_cast<int32_t>(seq.drafts.size());
  const Heard heard = verdict.tokens.empty() ? Heard{} : seq.accepted->listener->hear(event);
  const size_t offered = verdict.tokens.size(), stand = std::min(heard.stand, offered);
  if (heard.ends || stand < offered) {
    seq.standing.resize(seq.standing.size() - (offered - stand));
    verdict.tokens.resize(stand);
    verdict.end = EndReason::listener;
    verdict.stop_token = -1;
  }
  count_round(seq);
  if (verdict.end) ended_.push_back({&seq, *verdict.end, std::move(verdict.problem)});
}

void Stepper::count_round(Sequence& seq) {
  SpeculationCounters round;
  round.rounds = 1;
  round.drafted = static_cast<int64_t>(seq.drafts.size());
  round.emitted = static_cast<int64_t>(seq.verdict.tokens.size());
  for (const NewToken& token : seq.verdict.tokens)
    if (token.origin == TokenOrigin::accepted) ++round.accepted_at[static_cast<size_t>(round.accepted++)];
  for (int64_t i = 0; i < round.drafted; ++i) ++round.drafted_at[static_cast<size_t>(i)];
  if (seq.counters.rounds > 0) {
    round.draft_ms = drafting_.draft_ms();
    round.verify_ms = forward_ms_;
    round.choose_ms = choose_ms_;
    round.commit_ms = commit_ms_;
  }
  if (round.drafted > 0) {
    SpeculationCounters::Share& share = round.by[static_cast<size_t>(parts_.drafter->kind(seq.round.by))];
    share = {1, round.drafted, round.accepted};
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

void Stepper::end_all() {
  for (auto& [seq, reason, problem] : ended_) {
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
    schedule_.remove(*seq);
  }
  ended_.clear();
}

void Stepper::count_step() {
  ++steps_;
  if (plan_.prompt_rows == 0) writing_ms_ = forward_ms_ + choose_ms_;
  prompt_tokens_ += plan_.prompt_rows;
  if (parts_.observer == nullptr) return;
  StepReport report;
  report.prompt_rows = plan_.prompt_rows;
  report.rows = static_cast<int32_t>(tokens_.size());
  report.sequences = static_cast<int32_t>(choosing_.size());
  report.step_ms = forward_ms_ + choose_ms_;
  report.draft_ms = drafting_.draft_ms();
  report.step = steps_;
  report.running = static_cast<int32_t>(schedule_.running().size());
  report.waiting = schedule_.waiting_count();
  report.kv_used = kv_used();
  report.decisions = drafting_.decisions();
  parts_.observer->observe(report);
}

double Stepper::kv_used() const {
  const Memory& memory = schedule_.memory();
  return static_cast<double>(memory.running_bytes()) /
         static_cast<double>(std::max<size_t>(memory.capacity_bytes(), 1));
}

void Stepper::become_idle() {
  idle_ = true;
  // Whoever counts wrong must not go on counting.
  const std::string problem = schedule_.integrity_problem();
  if (!problem.empty()) fail("the engine's memory does not add up: " + problem);
}

void Stepper::write_stats(EngineStats& stats) const {
  stats.running = static_cast<int32_t>(schedule_.running().size());
  stats.running_bytes = schedule_.memory().running_bytes();
  stats.used_bytes = schedule_.memory().used_bytes();
  stats.cached_bytes = schedule_.memory().kept_bytes();
  stats.gave_way = schedule_.times_given_way();
  stats.prefix_queries = schedule_.prefix_queries();
  stats.prefix_hits = schedule_.prefix_hits();
  stats.prompt_tokens = prompt_tokens_;
  stats.steps = steps_;
  stats.pictures_seen = features_.seen();
  stats.pictures_known = features_.known();
  stats.speculation = totals_;
  stats.failed = failed();
  if (failed()) stats.failure = failure_;
}

}  // namespace paceline
