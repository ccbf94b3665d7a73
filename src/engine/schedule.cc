#include "engine/schedule.h"

#include <algorithm>

#include "base/check.h"

namespace paceline {

Schedule::Schedule(const KvLayout& layout, const ModelConfig& config, const EngineSettings& settings)
    : layout_(layout), config_(config), settings_(settings), memory_(layout, settings.kv_bytes) {}

std::shared_ptr<Accepted> Schedule::accept(Request request, const KvLayout& layout, const ModelConfig& config,
                                           const Drafter* drafter) {
  auto accepted = std::make_shared<Accepted>();
  const int64_t wanted = static_cast<int64_t>(request.prompt.size()) + request.max_tokens;
  accepted->positions = static_cast<int32_t>(std::min<int64_t>(wanted, request.context));
  accepted->most_rows = kMaxForwardRows;
  if (config.images_see_both_ways) {
    for (const RequestPicture& picture : request.pictures)
      accepted->most_rows = std::max(accepted->most_rows, picture.count);
  }
  accepted->bytes_per_choice = layout.sequence_bytes(accepted->positions, accepted->most_rows);
  if (drafter != nullptr) accepted->bytes_per_choice += drafter->state_bytes(accepted->positions);
  accepted->request = std::move(request);
  accepted->text = {accepted->request.prompt, {}, accepted->request.scope};
  for (const RequestPicture& picture : accepted->request.pictures)
    accepted->text.pictures.push_back({picture.first_pos, picture.count, picture.content});
  return accepted;
}

void Schedule::admit(const std::function<void(Sequence&)>& start) {
  while (!waiting_.empty()) {
    const Accepted& next = *waiting_.front();
    const int32_t choices = next.request.choices;
    const auto running = static_cast<int64_t>(running_.size()) + promised_;
    if (running > 0 && running + choices > settings_.most_running) return;
    if (!memory_.reserve(next.bytes())) return;
    promised_ += choices - 1;
    start_sequence(waiting_.front(), start);
    waiting_.pop_front();
  }
}

void Schedule::start_sequence(const std::shared_ptr<const Accepted>& accepted,
                              const std::function<void(Sequence&)>& start) {
  const Request& request = accepted->request;
  KvCache kv(layout_, accepted->positions, accepted->most_rows, memory_.pool());
  auto seq = std::make_unique<Sequence>(accepted, std::move(kv));
  seq->leaves_pages = settings_.keeps_prefixes;
  if (settings_.keeps_prefixes) {
    prefix_queries_ += seq->prompt_size();
    if (request.reads_prefixes) {
      seq->kv.adopt(memory_.prefixes().find(seq->text(), config_.images_see_both_ways, seq->walk));
      seq->cached = seq->kv.length();
      prefix_hits_ += seq->cached;
    } else {
      seq->leaves_pages = false;
    }
  }
  start(*seq);
  running_.push_back(std::move(seq));
}

void Schedule::fork_choices(Sequence& seq, std::vector<Sequence*>& forks, const std::function<void(Sequence&)>& start) {
  seq.forked = true;
  for (int32_t choice = 1; choice < seq.request().choices; ++choice) {
    std::unique_ptr<Sequence> fork = seq.fork(choice);
    --promised_;
    forks.push_back(fork.get());
    if (fork == nullptr) {
      memory_.release(seq.accepted->bytes_per_choice);
      continue;
    }
    running_.push_back(std::move(fork));
    start(*running_.back());
  }
}

void Schedule::plan(StepPlan& plan) {
  ++steps_;
  plan.clear();
  plan_writers(plan);
  plan_prompts(plan);
  for (const StepPart& part : plan.parts) {
    part.seq->last_step = steps_;
    plan.rows += part.rows;
    plan.choosing += part.chooses ? 1 : 0;
  }
}

// Those that have waited longest, where not all fit.
void Schedule::plan_writers(StepPlan& plan) {
  for (const auto& seq : running_) {
    if (!seq->reads_prompt()) plan.parts.push_back({seq.get(), seq->rows_left(), true});
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

void Schedule::plan_prompts(StepPlan& plan) {
  const auto writers = static_cast<int32_t>(plan.parts.size());
  const int32_t chunk =
      writers > 0 ? std::min(settings_.chunk_rows, settings_.chunk_rows_beside) : settings_.chunk_rows;
  // At least a row, whatever the settings.
  const int32_t most = std::max(1, std::min(chunk, settings_.batch_rows - writers));
  for (const auto& seq : running_) {
    if (plan.prompt_rows >= most) return;
    if (!seq->reads_prompt()) continue;
    look_again(*seq);
    if (waits_for_another(*seq, plan)) continue;
    const int32_t rows = seq->next_rows(most - plan.prompt_rows, config_.images_see_both_ways);
    if (rows == 0) continue;
    // A picture that must not be cut is the only prompt of its step, and others wait where it is very large.
    if (plan.prompt_rows > 0 && plan.prompt_rows + rows > most) return;
    if (writers + rows > kMaxImageRows) plan.parts.resize(static_cast<size_t>(kMaxImageRows - rows));
    plan.parts.push_back({seq.get(), rows, rows == seq->rows_left()});
    plan.prompt_rows += rows;
  }
}

// What others have left since, of those that came with the same beginning, need not be run.
void Schedule::look_again(Sequence& seq) {
  const auto more = memory_.prefixes().find_more(seq.text(), config_.images_see_both_ways, seq.walk);
  if (more.empty()) return;
  const int32_t before = seq.kv.length();
  seq.kv.adopt(more);
  seq.cached += seq.kv.length() - before;
  prefix_hits_ += seq.kv.length() - before;
}

// The page that it would run is another's in this very step: it is there for both behind it.
bool Schedule::waits_for_another(const Sequence& seq, const StepPlan& plan) {
  return std::any_of(plan.parts.begin(), plan.parts.end(), [&](const StepPart& part) {
    return part.seq->reads_prompt() && Prefixes::read_the_same(seq.walk, seq.text(), part.seq->walk, part.seq->text());
  });
}

void Schedule::leave_pages(Sequence& seq) {
  if (!seq.leaves_pages) return;
  while ((seq.walk.pages() + 1) * kPageTokens <= seq.kv.length())
    memory_.prefixes().leave(seq.walk, seq.text(), seq.standing, seq.kv);
}

void Schedule::remove(const Sequence& seq) {
  memory_.release(seq.accepted->bytes_per_choice);
  // One that ends before it has forked takes its other choices with it.
  if (seq.choice == 0 && !seq.forked) {
    const int32_t others = seq.request().choices - 1;
    promised_ -= others;
    memory_.release(seq.accepted->bytes_per_choice * static_cast<size_t>(others));
  }
  const auto found = std::find_if(running_.begin(), running_.end(), [&](const auto& one) { return one.get() == &seq; });
  CHECK(found != running_.end());
  running_.erase(found);
}

const char* Schedule::integrity_problem() const {
  if (!running_.empty()) return "sequences run";
  if (!waiting_.empty()) return "requests wait";
  if (promised_ != 0) return "choices are still promised";
  return memory_.problem_when_idle();
}

}  // namespace paceline
