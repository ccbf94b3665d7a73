#include "engine/step.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace paceline {
namespace {

constexpr const char* kNoRoomLeft = "the engine has no memory left for the keys and values of this text";

}  // namespace

Stepper::Stepper(const EngineParts& parts, const EngineSettings& settings)
    : parts_(parts),
      config_(parts.forward->config()),
      schedule_(parts.forward->kv_layout(), config_, settings, parts.drafter),
      features_(parts.vision, settings.feature_bytes),
      round_(ChoosingRound::make(parts)),
      drafting_(parts, settings, round_->takes_unknown_drafts()),
      gives_way_(settings.gives_way),
      tells_late_(round_->takes_unknown_drafts()) {
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
    follows_ = false;
    if (!late_.empty() || late_report_) {
      tell_last_step();
      end_unwanted();
      return true;
    }
    if (!looked && !idle_) become_idle();
    return looked;
  }
  idle_ = false;
  hold();
  if (plan_.parts.empty()) return true;
  round_->begin();
  drafting_.propose(plan_, kv_used());
  forward();
  tell_last_step();
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
  unwanted_.clear();
  each_sequence([this](Sequence& seq) { ended_.push_back({&seq, EndReason::failed, failure_}); });
  end_all();
  end_waiting([](const Accepted&) { return true; }, EndReason::failed);
}

// Memory for the rows of this step and the drafts behind them, before anything is computed.
void Stepper::hold() {
  lost_.clear();
  schedule_.hold(plan_, lost_);
  ended_.clear();
  for (Sequence* seq : lost_) ended_.push_back({seq, EndReason::failed, kNoRoomLeft});
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
  if (follows_) {
    idle_ms_ += times.idle_ms;
    busy_ms_ += ms_between(last_end_, end);
  }
  follows_ = true;
  last_end_ = end;
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

void Stepper::count_step() {
  ++steps_;
  if (plan_.prompt_rows == 0) writing_ms_ = forward_ms_ + choose_ms_;
  prompt_tokens_ += plan_.prompt_rows;
  schedule_.observe(plan_, static_cast<int32_t>(tokens_.size()), forward_ms_ + choose_ms_ + drafting_.draft_ms());
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
  if (tells_late_) {
    late_report_ = std::move(report);
  } else {
    parts_.observer->observe(report);
  }
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
  stats.idle_ms = idle_ms_;
  stats.busy_ms = busy_ms_;
  stats.pictures_seen = features_.seen();
  stats.pictures_known = features_.known();
  stats.speculation = totals_;
  stats.failed = failed();
  if (failed()) stats.failure = failure_;
}

}  // namespace paceline
