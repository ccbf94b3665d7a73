#include "api/generation.h"

#include <algorithm>
#include <utility>

#include "api/structs.h"

namespace paceline::api {
namespace {

paceline_finish finish_of(OutputEnd end) {
  switch (end) {
    case OutputEnd::none: return PACELINE_FINISH_NONE;
    case OutputEnd::stop: return PACELINE_FINISH_STOP;
    case OutputEnd::length:
    case OutputEnd::context: return PACELINE_FINISH_LENGTH;
    case OutputEnd::tool_calls: return PACELINE_FINISH_TOOL_CALLS;
    case OutputEnd::cancelled: return PACELINE_FINISH_CANCELLED;
    case OutputEnd::deadline: return PACELINE_FINISH_DEADLINE;
    case OutputEnd::failed: break;
  }
  return PACELINE_FINISH_FAILED;
}

paceline_event event_of(int32_t kind, int32_t choice) {
  paceline_event event{};
  event.size = sizeof(event);
  event.kind = kind;
  event.choice = choice;
  return event;
}

constexpr const char* kRunning = "the generation has not ended yet: paceline_wait, or PACELINE_EVENT_END";

}  // namespace

Generation::Generation(std::shared_ptr<RunningModel> model, const MadeCompletion& made, const Ear& ear)
    : model_(std::move(model)), ear_(ear) {
  usage_.prompt_tokens = static_cast<int64_t>(made.request.prompt.size());
  OutputSettings settings = made.output;
  settings.streams_calls = false;
  for (int32_t i = 0; i < made.request.choices; ++i) {
    choices_.push_back(
        std::make_unique<Choice>(ChoiceOutput(model_->text().tokenizer, *model_->text().dialect, settings)));
  }
}

Heard Generation::hear(const Event& event) {
  Heard heard;
  const Outcome done = caught([&]() -> Outcome {
    hear_event(event, heard);
    return {};
  });
  // There is no memory to keep more of it.
  if (!done.ok()) {
    choices_[static_cast<size_t>(event.choice)]->lost = true;
    heard = {event.tokens.size(), true};
    if (event.end != nullptr) fail(event.choice);
  }
  return heard;
}

void Generation::hear_event(const Event& event, Heard& heard) {
  Choice& choice = *choices_[static_cast<size_t>(event.choice)];
  choice.output.note_prompt(event, usage_);
  if (event.end == nullptr) tell_prompt(event);
  // Token by token, so that a text which the caller ends is the same however many came at once.
  while (heard.stand < event.tokens.size() && !heard.ends) {
    const NewToken& token = event.tokens[heard.stand++];
    choice.ids.push_back(token.id);
    heard.ends = !choice.output.push(token, usage_);
    if (tell_news(event.choice)) continue;
    heard.ends = true;
    cancel();
  }
  if (event.end != nullptr) end_choice(event.choice, *event.end);
}

void Generation::tell_prompt(const Event& event) {
  if (event.choice != 0 || event.prompt_done <= prompt_told_) return;
  prompt_told_ = event.prompt_done;
  paceline_event told = event_of(PACELINE_EVENT_PROMPT, 0);
  told.prompt_done = event.prompt_done;
  told.prompt_tokens = static_cast<int32_t>(usage_.prompt_tokens);
  told.cached_tokens = event.cached;
  if (!tell(told)) cancel();
}

bool Generation::tell_news(int32_t number) {
  std::vector<OutputDelta>& unheard = choices_[static_cast<size_t>(number)]->output.unheard();
  if (unheard.empty()) return true;
  bool goes_on = true;
  for (OutputDelta& delta : std::exchange(unheard, {})) goes_on = tell_delta(number, delta) && goes_on;
  return goes_on;
}

bool Generation::tell_delta(int32_t number, OutputDelta& delta) {
  Choice& choice = *choices_[static_cast<size_t>(number)];
  paceline_event event = event_of(PACELINE_EVENT_TEXT, number);
  event.text = delta.text.c_str();
  event.text_bytes = delta.text.size();
  const size_t known = choice.tokens.size();
  for (const NewToken& token : delta.tokens) choice.tokens.add(token, model_->text().tokenizer);
  event.tokens = choice.tokens.from(known).data();
  event.token_count = choice.tokens.size() - known;
  switch (delta.kind) {
    case OutputDelta::Kind::content: choice.text += delta.text; break;
    case OutputDelta::Kind::reasoning:
      event.kind = PACELINE_EVENT_THOUGHT;
      choice.thoughts += delta.text;
      break;
    // A call is told when it is whole.
    case OutputDelta::Kind::call: choice.calls.push_back({delta.text, {}}); return true;
    case OutputDelta::Kind::arguments: choice.calls.back().arguments += delta.text; return true;
    case OutputDelta::Kind::call_end: {
      event.kind = PACELINE_EVENT_CALL;
      const ToolCall& call = choice.calls.back();
      event.call = choice.call_list.emplace_back(paceline_tool_call{call.name.c_str(), call.arguments.c_str()});
    }
  }
  return tell(event);
}

bool Generation::tell(paceline_event event) {
  const std::lock_guard lock(ear_mutex_);
  if (left_ || ear_.on_event == nullptr) return true;
  event.generation = ear_.handle;
  heard_ = true;
  bool goes_on = false;
  // Callers that write C++ may throw; it is theirs to remember what.
  try {
    goes_on = ear_.on_event(ear_.user, &event) == 0;
  } catch (...) {
    // It ends there.
  }
  heard_ = false;
  return goes_on;
}

void Generation::end_choice(int32_t number, const SequenceEnd& end) {
  Choice& choice = *choices_[static_cast<size_t>(number)];
  if (choice.finish != PACELINE_FINISH_NONE) return;
  choice.output.finish(end, usage_);
  queued_ms_ = std::max(queued_ms_, end.queued_ms);
  prompt_ms_ = std::max(prompt_ms_, end.prompt_ms);
  decode_ms_ = std::max(decode_ms_, end.decode_ms);
  const bool goes_on = tell_news(number);
  end_choice(number, choice.lost ? PACELINE_FINISH_FAILED : finish_of(choice.output.end()), goes_on);
}

// Wants no memory.
void Generation::end_choice(int32_t number, paceline_finish finish, bool goes_on) {
  Choice& choice = *choices_[static_cast<size_t>(number)];
  if (choice.finish != PACELINE_FINISH_NONE) return;
  choice.finish = finish;
  paceline_event event = event_of(PACELINE_EVENT_FINISH, number);
  event.finish = finish;
  goes_on = tell(event) && goes_on;
  if (++choices_ended_ == choices_.size()) {
    end_all();
  } else if (!goes_on) {
    cancel();
  }
}

void Generation::end_all() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  (void)tell(event_of(PACELINE_EVENT_END, 0));
  // Under the lock: whoever waits may give the last reference back as soon as it is woken.
  const std::lock_guard lock(mutex_);
  told_ = true;
  told_changed_.notify_all();
}

void Generation::fail() noexcept {
  for (size_t i = 0; i < choices_.size(); ++i) fail(static_cast<int32_t>(i));
}

void Generation::fail(int32_t number) noexcept {
  Choice& choice = *choices_[static_cast<size_t>(number)];
  if (choice.finish != PACELINE_FINISH_NONE) return;
  choice.lost = true;
  (void)caught([&]() -> Outcome {
    end_choice(number, PACELINE_FINISH_FAILED, true);
    return {};
  });
}

void Generation::begin(RequestId id) {
  bool is_late = false;
  {
    const std::lock_guard lock(mutex_);
    id_ = id;
    is_late = cancelled_ && !ended_;
  }
  if (is_late) model_->cancel(id);
}

void Generation::cancel() {
  RequestId id = 0;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(cancelled_, true) || ended_) return;
    id = id_;
  }
  if (id == 0) return;
  try {
    model_->cancel(id);
  } catch (...) {
    // Nobody was told: who asks again shall be heard.
    const std::lock_guard lock(mutex_);
    cancelled_ = false;
    throw;
  }
}

void Generation::close() {
  {
    const std::lock_guard lock(mutex_);
    if (!cancelled_ && !ended_) closed_ = true;
  }
  cancel();
}

void Generation::leave() noexcept {
  (void)caught([this]() -> Outcome {
    cancel();
    return {};
  });
  left_ = true;
  // Whoever is in the callback now is waited for; but not by one whom it waits for itself.
  if (ear_mutex_.try_lock()) return ear_mutex_.unlock();
  RunningModel* const here = RunningModel::computing_here();
  if (here != nullptr && !here->begin_to_wait_for(*this)) return;
  ear_mutex_.lock();
  ear_mutex_.unlock();
  if (here != nullptr) here->end_waiting();
}

bool Generation::has_ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

Outcome Generation::wait() {
  if (RunningModel::computing_here() != nullptr) {
    return invalid("paceline_wait was called from within on_event: a thread that computes must not wait");
  }
  {
    std::unique_lock lock(mutex_);
    told_changed_.wait(lock, [this] { return told_; });
  }
  return outcome();
}

Outcome Generation::outcome() const {
  for (const auto& choice : choices_) {
    switch (choice->finish) {
      case PACELINE_FINISH_DEADLINE: return {PACELINE_DEADLINE, "the request's time was over before its end"};
      case PACELINE_FINISH_FAILED:
        return {PACELINE_FAILED, choice->lost ? "there was no memory for all of the text" : choice->output.problem()};
      case PACELINE_FINISH_CANCELLED: break;
      default: continue;
    }
    const std::lock_guard lock(mutex_);
    if (closed_) return {PACELINE_CLOSED, "the model was closed before the request's end"};
    return {PACELINE_CANCELLED, "the request was cancelled"};
  }
  return {};
}

Outcome Generation::usage(paceline_usage* out) const {
  if (!has_ended()) return invalid(kRunning);
  const SpeculationCounters& counters = usage_.speculation;
  paceline_usage made{};
  made.size = sizeof(made);
  made.prompt_tokens = usage_.prompt_tokens;
  made.cached_tokens = usage_.cached_tokens;
  made.completion_tokens = usage_.completion_tokens;
  made.thought_tokens = usage_.reasoning_tokens;
  made.rounds = counters.rounds;
  made.drafted = counters.drafted;
  made.accepted = counters.accepted;
  made.queued_ms = queued_ms_;
  made.prompt_ms = prompt_ms_;
  made.decode_ms = decode_ms_;
  return fill_struct(made, "usage", out);
}

Outcome Generation::choice(int32_t number, paceline_choice* out) const {
  if (!has_ended()) return invalid(kRunning);
  if (number < 0 || static_cast<size_t>(number) >= choices_.size()) {
    return invalid(fmt::format("there is no choice {}; there are {}, from 0", number, choices_.size()));
  }
  const Choice& choice = *choices_[static_cast<size_t>(number)];
  paceline_choice made{};
  made.size = sizeof(made);
  made.text = choice.text.c_str();
  made.text_bytes = choice.text.size();
  made.thoughts = choice.thoughts.c_str();
  made.thought_bytes = choice.thoughts.size();
  made.calls = choice.call_list.data();
  made.call_count = choice.call_list.size();
  made.ids = choice.ids.data();
  made.id_count = choice.ids.size();
  made.tokens = choice.tokens.from(0).data();
  made.token_count = choice.tokens.size();
  made.finish = choice.finish;
  return fill_struct(made, "choice", out);
}

}  // namespace paceline::api
