#include "engine/schedule.h"

#include <algorithm>

namespace paceline {

namespace {

// Whoever fits only because its beginning is there already has that looked for now and then: it costs a look at every
// page of it.
constexpr uint64_t kStepsBetweenTries = 8;

void put_in_order(Schedule::Sequences& among, std::unique_ptr<Sequence> seq) {
  const auto behind =
      std::find_if(among.begin(), among.end(), [&](const auto& other) { return seq->order < other->order; });
  among.insert(behind, std::move(seq));
}

std::unique_ptr<Sequence> taken_out(Schedule::Sequences& among, const Sequence& seq) {
  const auto found = std::find_if(among.begin(), among.end(), [&](const auto& one) { return one.get() == &seq; });
  if (found == among.end()) return nullptr;
  std::unique_ptr<Sequence> out = std::move(*found);
  among.erase(found);
  return out;
}

}  // namespace

Schedule::Schedule(const KvLayout& layout, const ModelConfig& config, const EngineSettings& settings,
                   const Drafter* drafter)
    : layout_(layout),
      config_(config),
      settings_(settings),
      drafter_(drafter),
      memory_(layout, settings.kv_bytes),
      pace_(settings.step_ms) {
  if (settings_.chunk_rows == 0) settings_.chunk_rows = kMaxForwardRows;
}

std::shared_ptr<Accepted> Schedule::accept(Request request, const KvLayout& layout, const ModelConfig& config,
                                           size_t kv_bytes, const Drafter* drafter) {
  auto accepted = std::make_shared<Accepted>();
  const int64_t wanted = static_cast<int64_t>(request.prompt.size()) + request.max_tokens;
  accepted->positions = static_cast<int32_t>(std::min<int64_t>(wanted, request.context));
  accepted->most_rows = kMaxForwardRows;
  if (config.images_see_both_ways) {
    for (const RequestPicture& picture : request.pictures)
      accepted->most_rows = std::max(accepted->most_rows, picture.count);
  }
  accepted->request = std::move(request);
  const int32_t positions = accepted->positions, most_rows = accepted->most_rows;
  accepted->bytes_per_choice = sequence_bytes(layout, drafter, positions, most_rows);
  if (accepted->bytes() > kv_bytes) {
    accepted->drafts = false;
    accepted->bytes_per_choice = layout.sequence_bytes(positions, most_rows, false);
  }
  accepted->text = {accepted->request.prompt, {}, accepted->request.scope};
  for (const RequestPicture& picture : accepted->request.pictures)
    accepted->text.pictures.push_back({picture.first_pos, picture.count, picture.content});
  return accepted;
}

size_t Schedule::sequence_bytes(const KvLayout& layout, const Drafter* drafter, int32_t positions, int32_t most_rows) {
  const size_t unit = layout.blocks.unit_bytes, state = drafter != nullptr ? drafter->state_bytes(positions) : 0;
  return layout.sequence_bytes(positions, most_rows) + (state + unit - 1) / unit * unit;
}

// For all that stands and a page more: whoever comes back does not have to go at once. And for what an operator wants
// each to have, as far as it asks for it.
int64_t Schedule::units_for(const Accepted& accepted, size_t standing) const {
  const auto prompt = static_cast<int64_t>(accepted.request.prompt.size());
  const int64_t wanted = std::max(static_cast<int64_t>(standing) + kPageTokens, prompt + settings_.reserve_tokens);
  const auto positions = static_cast<int32_t>(std::min<int64_t>(wanted, accepted.positions));
  return layout_.sequence_units(positions, accepted.most_rows, accepted.drafts) + drafter_units(accepted, positions);
}

int64_t Schedule::drafter_units(const Accepted& accepted, int32_t positions) const {
  return drafter_ == nullptr || !accepted.drafts ? 0 : memory_.units_of(drafter_->state_bytes(positions));
}

// What is available, less what those that run will take for what stands of them: prompts that are still being read do
// not push each other out.
int64_t Schedule::spare_units() const {
  int64_t spare = memory_.available_units();
  for (const auto& seq : running_) {
    const int64_t held = seq->kv.units() + seq->drafter_units.count();
    spare -= std::max<int64_t>(0, units_for(*seq->accepted, seq->standing.size()) - held);
  }
  return spare;
}

// Of sequences, with those that will be forked.
int64_t Schedule::places_taken() const {
  int64_t places = 0;
  for (const Sequences* some : {&running_, &gave_way_})
    for (const auto& seq : *some) places += seq->choice == 0 && !seq->forked ? seq->request().choices : 1;
  return places;
}

bool Schedule::may_begin(const Accepted& accepted, size_t standing) const {
  if (running_.empty() || units_for(accepted, standing) <= spare_units()) return true;
  return shares_pages(accepted) && steps_ % kStepsBetweenTries == 0;
}

// Whoever goes without the drafter has pages that are of no use to those who have it.
bool Schedule::shares_pages(const Accepted& accepted) const {
  return settings_.keeps_prefixes && accepted.request.reads_prefixes && accepted.drafts;
}

void Schedule::admit(const Start& start) {
  while (!gave_way_.empty()) {
    Sequence& seq = *gave_way_.front();
    if (!may_begin(*seq.accepted, seq.standing.size()) || !begin(seq)) return;
    put_in_order(running_, taken_out(gave_way_, seq));
    start(seq);
  }
  while (!waiting_.empty()) {
    const std::shared_ptr<const Accepted> next = waiting_.front();
    const int64_t places = places_taken();
    if (places > 0 && places + next->request.choices > settings_.most_running) return;
    if (!may_begin(*next, next->request.prompt.size())) return;
    KvCache kv(layout_, next->positions, next->most_rows, memory_.pool(), next->drafts);
    auto seq = std::make_unique<Sequence>(next, std::move(kv));
    if (!begin(*seq)) return;
    seq->order = {++last_order_, 0};
    if (settings_.keeps_prefixes) prefix_queries_ += seq->prompt_size();
    running_.push_back(std::move(seq));
    waiting_.pop_front();
    start(*running_.back());
  }
}

// From pages that are there already, where its beginning is known. False: what is left to be computed does not fit.
bool Schedule::begin(Sequence& seq) {
  const int64_t needed = units_for(*seq.accepted, seq.standing.size());
  const bool fits = needed <= spare_units();
  seq.begin_reading();
  seq.leaves_pages = shares_pages(*seq.accepted);
  const bool is_new = !seq.waits;
  if (seq.leaves_pages) begin_from_others(seq);
  if (!fits && needed - seq.kv.units() > spare_units()) {
    seq.walk.end();
    seq.kv.release();
    return false;
  }
  count_found(seq);
  if (seq.leaves_pages && is_new) seq.missed = memory_.prefixes().why_missed(seq.text(), seq.walk, seq.prompt_done);
  seq.waits = false;
  return true;
}

void Schedule::begin_from_others(Sequence& seq) {
  const auto found = memory_.prefixes().find(seq.text(), config_.images_see_both_ways, seq.walk);
  seq.kv.adopt(found.pages);
  if (found.open_tokens == 0 || seq.kv.adopt_open(found.open, found.open_tokens) || !found.needs_open) return;
  seq.kv.release();
  seq.kv.adopt(memory_.prefixes().find_whole(seq.text(), config_.images_see_both_ways, seq.walk));
}

// What came from others, and had not been run here before.
void Schedule::count_found(Sequence& seq) {
  const int32_t before = seq.prompt_done;
  if (!seq.note_progress()) return;
  seq.cached += seq.prompt_done - before;
  prefix_hits_ += seq.prompt_done - before;
}

void Schedule::fork_choices(Sequence& seq, std::vector<Sequence*>& forks, const Start& start) {
  seq.forked = true;
  for (int32_t choice = 1; choice < seq.request().choices; ++choice) {
    std::unique_ptr<Sequence> made = seq.fork(choice);
    Sequence& fork = *made;
    put_in_order(fork.waits ? gave_way_ : running_, std::move(made));
    if (fork.waits) {
      ++times_given_way_;
      continue;
    }
    forks.push_back(&fork);
    start(fork);
  }
}

void Schedule::give_way(Sequence& seq) {
  seq.give_way();
  ++times_given_way_;
  put_in_order(gave_way_, taken_out(running_, seq));
}

void Schedule::make_give_way(int32_t behind_newest) {
  const auto count = static_cast<int32_t>(running_.size());
  if (behind_newest < 0 || behind_newest >= count) return;
  give_way(*running_[static_cast<size_t>(count - 1 - behind_newest)]);
}

bool Schedule::hold_rows(Sequence& seq, int32_t rows, int32_t drafts) {
  if (!seq.kv.reserve(rows + drafts, drafts)) return false;
  const int64_t units = drafter_units(*seq.accepted, seq.kv.length() + rows + drafts);
  if (!seq.drafter_units.grow(memory_.arena(), static_cast<int32_t>(units))) return false;
  const std::span<const int32_t> numbers = seq.drafter_units.numbers();
  if (seq.drafter_state == nullptr || seq.drafter_state->units().size() == numbers.size()) return true;
  std::vector<std::byte*> places;
  for (const int32_t number : numbers) places.push_back(memory_.arena().at(number));
  seq.drafter_state->lie_in(places, memory_.arena().unit_bytes());
  return true;
}

// Nobody gives way for a draft: there are fewer of them.
void Schedule::hold_drafts(Sequence& seq) {
  const int32_t rows = seq.rows_left();
  if (!seq.accepted->drafts) {
    seq.draft_room = 0;
    return;
  }
  const int32_t wanted =
      std::min({seq.most_drafts(), settings_.fixed_depth.value_or(kMaxDraftTokens), drafts_before_state(seq)});
  // Who finds no room for a whole block guesses a shorter one.
  const int32_t block = std::min(drafter_->block_rows(), seq.kv.capacity() - seq.kv.length());
  if (wanted > 0 && block > rows + wanted && hold_rows(seq, block - wanted, wanted)) {
    seq.draft_room = wanted;
    return;
  }
  if (hold_rows(seq, rows, wanted)) {
    seq.draft_room = wanted;
    return;
  }
  seq.draft_room = std::clamp(seq.kv.room() - rows, 0, wanted);
  while (seq.draft_room > 0 && !hold_rows(seq, rows, seq.draft_room)) --seq.draft_room;
}

void Schedule::hold(StepPlan& plan, std::vector<Sequence*>& lost) {
  std::vector<StepPart> parts = plan.parts;
  std::sort(parts.begin(), parts.end(),
            [](const StepPart& a, const StepPart& b) { return a.seq->order < b.seq->order; });
  for (const StepPart& part : parts) {
    while (!part.seq->waits && !hold_rows(*part.seq, part.rows, 0)) {
      if (running_.size() == 1) {
        lost.push_back(part.seq);
        break;
      }
      give_way(*running_.back());
    }
  }
  std::erase_if(plan.parts, [&](const StepPart& part) {
    return part.seq->waits || std::find(lost.begin(), lost.end(), part.seq) != lost.end();
  });
  plan.count();
  if (drafter_ == nullptr) return;
  for (const StepPart& part : plan.parts)
    if (!part.seq->reads()) hold_drafts(*part.seq);
}

void Schedule::plan(StepPlan& plan) {
  ++steps_;
  plan.clear();
  plan_writers(plan);
  plan.choosing = static_cast<int32_t>(plan.parts.size());
  plan_readers(plan);
  for (const StepPart& part : plan.parts) part.seq->last_step = steps_;
  plan.count();
  if (!settings_.latency_ms || plan.prompt_rows == 0) return;
  plan.row_ms = pace_.row_ms(plan.rows, plan.context);
  plan.rows_left = std::max(0, pace_.rows_within(*settings_.latency_ms, plan.context, kMostForwardRows) - plan.rows);
}

// Those that have waited longest, where not all fit.
void Schedule::plan_writers(StepPlan& plan) {
  for (const auto& seq : running_) {
    if (!seq->reads()) plan.parts.push_back({seq.get(), seq->rows_left(), true});
  }
  // A quarter of the rows is for prompts where there are any: however many write, nobody waits for all of them.
  const bool has_prompts = plan.parts.size() < running_.size();
  const int32_t for_prompts = has_prompts ? std::min(settings_.chunk_rows_beside, settings_.batch_rows / 4) : 0;
  const auto most = static_cast<size_t>(settings_.batch_rows - for_prompts);
  if (plan.parts.size() <= most) return;
  std::stable_sort(plan.parts.begin(), plan.parts.end(),
                   [](const StepPart& a, const StepPart& b) { return a.seq->last_step < b.seq->last_step; });
  plan.parts.resize(most);
}

// Nobody gives way for a larger chunk: it takes half of what is free at most, and what a sequence always has room for.
int32_t Schedule::prompt_rows_alone() const {
  int64_t page_units = 0;
  for (const StateKind kind : kPageKinds) page_units += layout_.blocks.units[kind];
  const int64_t pages = memory_.available_units() / std::max<int64_t>(1, 2 * page_units);
  const int64_t rows = std::max<int64_t>(pages * kPageTokens, kMaxForwardRows);
  return static_cast<int32_t>(std::min<int64_t>(rows, settings_.chunk_rows));
}

// Within the bound on time, and not so many that drafts and choices have no room.
int32_t Schedule::prompt_rows_beside(int32_t writers) const {
  if (!settings_.latency_ms)
    return std::min({settings_.chunk_rows, settings_.chunk_rows_beside, settings_.batch_rows - writers});
  constexpr int32_t kLeastRows = 16;  // however slow steps are, prompts get on
  int32_t context = 0;
  for (const auto& seq : running_)
    if (seq->reads()) context = std::max(context, seq->kv.length());
  const int32_t most = std::min(prompt_rows_alone(), kMostForwardRows - settings_.batch_rows);
  return std::max(kLeastRows, pace_.rows_within(*settings_.latency_ms, context, writers + most) - writers);
}

void Schedule::plan_readers(StepPlan& plan) {
  const auto writers = static_cast<int32_t>(plan.parts.size());
  if (plan.parts.size() == running_.size()) return;
  // At least a row, whatever the settings.
  const int32_t most = writers > 0 ? std::max(1, prompt_rows_beside(writers)) : prompt_rows_alone();
  if (settings_.latency_ms) plan_short_readers(plan, most / 4);
  for (const auto& seq : running_)
    if (seq->reads() && !plan_reader(*seq, plan, most)) return;
}

// A part of the step is for those who are soon done, the shortest first: they do not wait until long ones are read.
void Schedule::plan_short_readers(StepPlan& plan, int32_t most) {
  readers_.clear();
  for (const auto& seq : running_)
    if (seq->reads() && seq->rows_left() <= most) readers_.push_back(seq.get());
  std::stable_sort(readers_.begin(), readers_.end(),
                   [](const Sequence* a, const Sequence* b) { return a->rows_left() < b->rows_left(); });
  for (Sequence* seq : readers_) {
    if (plan.prompt_rows + seq->rows_left() > most || !plan_reader(*seq, plan, most)) return;
  }
}

bool Schedule::plan_reader(Sequence& seq, StepPlan& plan, int32_t most) {
  if (plan.prompt_rows >= most) return false;
  if (seq.last_step == steps_) return true;
  look_again(seq);
  if (waits_for_another(seq, plan)) return true;
  int32_t rows = rows_to_state(seq, seq.next_rows(most - plan.prompt_rows, config_.images_see_both_ways));
  // A choice has logits, and there is room for so many.
  const auto chooses = [&] { return rows == seq.rows_left(); };
  if (settings_.latency_ms && chooses() && plan.choosing >= settings_.batch_rows) --rows;
  if (rows == 0) return true;
  // A picture that must not be cut is the only prompt of its step, and others wait where it is very large.
  if (plan.prompt_rows > 0 && plan.prompt_rows + rows > most) return false;
  const auto writers = static_cast<int32_t>(plan.parts.size());
  if (plan.prompt_rows == 0 && writers + rows > kMostForwardRows)
    plan.parts.resize(static_cast<size_t>(kMostForwardRows - rows));
  plan.parts.push_back({&seq, rows, chooses()});
  plan.choosing += chooses() ? 1 : 0;
  plan.prompt_rows += rows;
  seq.last_step = steps_;
  return true;
}

void Schedule::observe(const StepPlan& plan, int32_t rows, double ms) {
  if (settings_.latency_ms) pace_.observe(rows, plan.context, ms);
}

// Where a recurrent state is kept for others, the rows of a step end.
int32_t Schedule::rows_to_state(const Sequence& seq, int32_t rows) const {
  if (!seq.leaves_pages || !layout_.is_recurrent()) return rows;
  return std::min(rows, memory_.prefixes().next_state(seq.text(), seq.kv.length()) - seq.kv.length());
}

// The newest token's row must end there, and not a draft's.
int32_t Schedule::drafts_before_state(const Sequence& seq) const {
  if (!seq.leaves_pages || !layout_.is_recurrent()) return kMaxDraftTokens;
  const int32_t left = memory_.prefixes().next_state(seq.text(), seq.kv.length()) - seq.kv.length();
  return left == 1 ? kMaxDraftTokens : left - 2;
}

// What others have left since, of those that came with the same beginning, need not be run.
void Schedule::look_again(Sequence& seq) {
  const auto more = memory_.prefixes().find_more(seq.text(), config_.images_see_both_ways, seq.walk);
  if (more.empty()) return;
  seq.kv.adopt(more);
  count_found(seq);
}

// The page that it would run is another's in this very step: it is there for both behind it.
bool Schedule::waits_for_another(const Sequence& seq, const StepPlan& plan) {
  return std::any_of(plan.parts.begin(), plan.parts.end(), [&](const StepPart& part) {
    return part.seq->reads() && Prefixes::read_the_same(seq.walk, seq.text(), part.seq->walk, part.seq->text());
  });
}

void Schedule::leave_pages(Sequence& seq) {
  if (!seq.leaves_pages) return;
  while ((seq.walk.pages() + 1) * kPageTokens <= seq.kv.length())
    memory_.prefixes().leave(seq.walk, seq.text(), seq.standing, seq.kv);
}

void Schedule::leave_end(Sequence& seq) {
  if (!seq.leaves_pages || seq.waits) return;
  const int32_t unknown = seq.drafter_state != nullptr ? seq.drafter_state->waiting() : 0;
  const auto known = static_cast<size_t>(std::max(0, seq.kv.length() - unknown));
  const std::span<const TokenId> tokens(seq.standing);
  memory_.prefixes().leave_open(seq.walk, seq.text(), tokens.first(std::min(known, tokens.size())), seq.kv);
}

void Schedule::remove(const Sequence& seq) {
  if (taken_out(running_, seq) == nullptr) (void)taken_out(gave_way_, seq);
}

const char* Schedule::integrity_problem() const {
  if (!running_.empty()) return "sequences run";
  if (!gave_way_.empty()) return "sequences wait to be computed again";
  if (!waiting_.empty()) return "requests wait";
  return memory_.problem_when_idle();
}

}  // namespace paceline
