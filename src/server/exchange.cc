#include "server/exchange.h"

#include <utility>

namespace paceline {
namespace {

double seconds_between(EngineClock::time_point from, EngineClock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

// What the engine holds on to: one per request, so that choices of several requests are told apart.
class Exchange::Ear : public Listener {
 public:
  Ear(std::shared_ptr<Exchange> exchange, int32_t first_choice)
      : exchange_(std::move(exchange)), first_choice_(first_choice) {}
  Heard hear(const Event& event) override { return exchange_->hear(first_choice_, event); }

 private:
  std::shared_ptr<Exchange> exchange_;
  int32_t first_choice_;
};

Exchange::Exchange(ExchangePlan plan, Metrics& metrics)
    : plan_(std::move(plan)), engine_(plan_.model->engine()), metrics_(metrics) {
  const TextModel& text = plan_.model->text();
  for (size_t i = 0; i < plan_.requests.size(); ++i) {
    usage_.prompt_tokens += static_cast<int64_t>(plan_.requests[i].prompt.size());
    for (int32_t c = 0; c < plan_.requests[i].choices; ++c) {
      choices_.push_back(std::make_unique<Choice>(ChoiceOutput(text.tokenizer, *text.dialect, plan_.outputs[i])));
    }
  }
}

Submission Exchange::submit() {
  int32_t first_choice = 0;
  for (Request& request : plan_.requests) {
    const int32_t choices = request.choices;
    const Submission made = engine_.submit(std::move(request), std::make_shared<Ear>(shared_from_this(), first_choice));
    if (made.refusal != Refusal::none) {
      cancel(client_gone());
      return made;
    }
    first_choice += choices;
    const std::lock_guard lock(mutex_);
    ids_.push_back(made.id);
    if (cancelled_) engine_.cancel(made.id);
  }
  return {};
}

void Exchange::set_wake(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

void Exchange::cancel(ApiError why) {
  std::vector<RequestId> ids;
  {
    const std::lock_guard lock(mutex_);
    if (cancelled_ || all_ended()) return;
    cancelled_ = true;
    problem_ = std::move(why);
    ids = ids_;
  }
  for (const RequestId id : ids) engine_.cancel(id);
}

void Exchange::abandon(const std::string& why) {
  std::function<void()> wake;
  {
    const std::lock_guard lock(mutex_);
    SequenceEnd end;
    end.reason = EndReason::failed;
    end.problem = why;
    for (const auto& choice : choices_) note_end(*choice, end);
    wake = wake_;
  }
  if (wake) wake();
}

Heard Exchange::hear(int32_t first_choice, const Event& event) {
  std::function<void()> wake;
  Heard heard;
  {
    const std::lock_guard lock(mutex_);
    Choice& choice = *choices_[static_cast<size_t>(first_choice + event.choice)];
    // Abandoned: whoever comes back has nobody to write for.
    if (choice.ended) return {.stand = 0, .ends = true};
    if (!begun_) begun_ = EngineClock::now();
    choice.kv_bytes = event.kv_bytes;
    if (event.choice == 0 && event.prompt_done > 0) choice.prompt_read = event.prompt_done;
    choice.output.note_prompt(event, usage_);
    while (heard.stand < event.tokens.size() && !heard.ends) {
      heard.ends = !choice.output.push(event.tokens[heard.stand++], usage_);
    }
    if (event.round != nullptr) count_round(event, heard.stand);
    if (heard.stand > 0) time_tokens(choice, heard.stand);
    if (event.end != nullptr) note_end(choice, *event.end);
    if (!choice.output.unheard().empty() || event.end != nullptr) wake = wake_;
  }
  if (wake) wake();
  return heard;
}

// As the engine does: what stands is what counts.
void Exchange::count_round(const Event& event, size_t stand) {
  depth_ = event.round->depth;
  ++counters_.rounds;
  counters_.drafted += event.drafted;
  counters_.emitted += static_cast<int64_t>(stand);
  for (const NewToken& token : event.tokens.first(stand))
    if (token.origin == TokenOrigin::accepted) ++counters_.accepted;
}

void Exchange::time_tokens(Choice& choice, size_t count) {
  const auto now = EngineClock::now();
  auto between = static_cast<int64_t>(count);
  last_token_ = now;
  if (!first_token_) {
    first_token_ = now;
    metrics_.first_token(seconds_between(plan_.arrived, now));
    metrics_.prompt_done(usage_.prompt_tokens);
  }
  if (choice.last_token == EngineClock::time_point{}) {
    --between;
    choice.last_token = now;
  }
  if (between > 0) metrics_.more_tokens(between, seconds_between(choice.last_token, now));
  choice.last_token = now;
  metrics_.tokens_made(static_cast<int64_t>(count));
}

void Exchange::note_end(Choice& choice, const SequenceEnd& end) {
  if (std::exchange(choice.ended, true)) return;
  choice.output.finish(end, usage_);
  ++ended_;
  switch (choice.output.end()) {
    case OutputEnd::none:
    case OutputEnd::stop:
    case OutputEnd::length:
    case OutputEnd::context:
    case OutputEnd::tool_calls: break;
    case OutputEnd::failed: problem_ = engine_failed(end.problem); break;
    case OutputEnd::deadline: problem_ = out_of_time(); break;
    case OutputEnd::cancelled:
      if (!problem_) problem_ = shutting_down();
      break;
  }
  if (all_ended()) {
    metrics_.request_ended(seconds_between(plan_.arrived, EngineClock::now()),
                           problem_ ? *problem_->code : output_end_name(choice.output.end()));
  }
}

Exchange::Step Exchange::take() {
  if (told_end_) return {"", true};
  std::vector<ChoiceNews> news;
  std::optional<ApiError> problem;
  const Usage usage = take_all(news, problem);
  Step step{"", told_end_};
  if (!std::exchange(opened_, true)) plan_.format->open(usage, step.bytes);
  for (size_t i = 0; i < news.size(); ++i) plan_.format->tell(static_cast<int32_t>(i), news[i], usage, step.bytes);
  if (told_end_) plan_.format->close(usage, problem, step.bytes);
  return step;
}

std::string Exchange::show_life() {
  std::string bytes;
  if (opened_ && !told_end_) plan_.format->show_life(bytes);
  return bytes;
}

bool Exchange::finished() {
  const std::lock_guard lock(mutex_);
  return all_ended();
}

size_t Exchange::weight() {
  // A token with its log-probability, written out: its text, its bytes one by one, a number.
  constexpr size_t kTokenBytes = 100;
  const std::lock_guard lock(mutex_);
  size_t bytes = 0;
  for (const auto& choice : choices_) {
    for (const OutputDelta& delta : choice->output.unheard()) {
      bytes += delta.text.size();
      if (!delta.tokens.empty())
        bytes += delta.tokens.size() * (1 + delta.tokens.front().logprobs.top.size()) * kTokenBytes;
    }
  }
  return bytes;
}

// Without the lock, but for what is taken: an answer may be long, and whoever cancels must not wait for it.
Exchange::Whole Exchange::whole() {
  std::vector<ChoiceNews> news;
  std::optional<ApiError> problem;
  const Usage counted = take_all(news, problem);
  if (problem) return {problem->status, plan_.format->failed(*problem, counted)};
  return {200, plan_.format->whole(news, counted)};
}

// What the client has not been told, and how it stands.
Usage Exchange::take_all(std::vector<ChoiceNews>& news, std::optional<ApiError>& problem) {
  const std::lock_guard lock(mutex_);
  for (const auto& choice : choices_)
    news.push_back({std::exchange(choice->output.unheard(), {}), choice->output.end(), choice->output.stop_string(),
                    choice->output.take_rounds()});
  told_end_ = all_ended();
  problem = problem_;
  return usage_;
}

Exchange::Progress Exchange::progress() {
  const std::lock_guard lock(mutex_);
  // One that was cancelled has ended for everyone but the engine, which hears of it between two steps.
  const bool has_ended = all_ended() || cancelled_;
  const auto now = EngineClock::now();
  Progress made;
  made.id = id();
  made.usage = usage_;
  made.age_s = seconds_between(plan_.arrived, now);
  made.queued_s = seconds_between(plan_.arrived, begun_.value_or(now));
  made.counters = counters_;
  made.depth = depth_;
  made.has_begun = begun_.has_value();
  made.has_ended = has_ended;
  for (const auto& choice : choices_) {
    made.kv_bytes += has_ended ? 0 : choice->kv_bytes;
    made.prompt_read += choice->prompt_read;
  }
  if (first_token_) made.first_token_s = seconds_between(plan_.arrived, *first_token_);
  if (last_token_) made.last_token_s = seconds_between(plan_.arrived, *last_token_);
  if (has_ended) made.end = problem_ ? *problem_->code : output_end_name(choices_.back()->output.end());
  return made;
}

Usage Exchange::usage() {
  const std::lock_guard lock(mutex_);
  return usage_;
}

}  // namespace paceline
