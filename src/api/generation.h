// A request on its way: hears the engine, tells the caller, and keeps what came out.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/outcome.h"
#include "api/running_model.h"
#include "api/token_records.h"
#include "session/choice_output.h"

namespace paceline::api {

// Who hears of it.
struct Ear {
  int32_t (*on_event)(void* user, const paceline_event* event) = nullptr;
  void* user = nullptr;
  paceline_generation* handle = nullptr;  // as events name it
};

class Generation : public Listener {
 public:
  Generation(std::shared_ptr<RunningModel> model, const MadeCompletion& made, const Ear& ear);

  // The engine's thread.
  Heard hear(const Event& event) override;
  // The same: it hears no more, since there was no memory.
  void fail() noexcept;

  // The engine has taken it.
  void begin(RequestId id);
  void cancel();
  // Cancels it since its model is closed.
  void close();
  // Cancels it, and nothing more is told: not after this returns, unless it was called from within.
  void leave() noexcept;

  // Whether its caller is in the callback now.
  [[nodiscard]] bool is_heard() const { return heard_; }
  [[nodiscard]] const RunningModel& model() const { return *model_; }

  [[nodiscard]] Outcome wait();
  [[nodiscard]] Outcome usage(paceline_usage* out) const;
  [[nodiscard]] Outcome choice(int32_t number, paceline_choice* out) const;

 private:
  struct Choice {
    explicit Choice(ChoiceOutput made) : output(std::move(made)) {}
    ChoiceOutput output;
    std::string text, thoughts;
    std::deque<ToolCall> calls;
    std::vector<paceline_tool_call> call_list;
    std::vector<int32_t> ids;
    TokenRecords tokens;
    paceline_finish finish = PACELINE_FINISH_NONE;
    bool lost = false;  // there was no memory to keep all of it
  };

  void hear_event(const Event& event, Heard& heard);
  void tell_prompt(const Event& event);
  // False: the caller wants no more.
  bool tell_news(int32_t number);
  bool tell_delta(int32_t number, OutputDelta& delta);
  bool tell(paceline_event event);
  void end_choice(int32_t number, const SequenceEnd& end);
  void end_choice(int32_t number, paceline_finish finish, bool goes_on);
  void fail(int32_t number) noexcept;
  void end_all();
  [[nodiscard]] bool has_ended() const;
  [[nodiscard]] Outcome outcome() const;

  std::shared_ptr<RunningModel> model_;

  // The engine's thread writes these until all has ended, and others read them from then on.
  std::vector<std::unique_ptr<Choice>> choices_;
  Usage usage_;
  double queued_ms_ = 0, prompt_ms_ = 0, decode_ms_ = 0;
  int32_t prompt_told_ = -1;
  size_t choices_ended_ = 0;

  std::recursive_mutex ear_mutex_;  // held while the caller hears
  const Ear ear_;
  std::atomic<bool> heard_ = false;
  std::atomic<bool> left_ = false;  // nobody wants to hear any more

  mutable std::mutex mutex_;
  std::condition_variable told_changed_;
  RequestId id_ = 0;  // 0: the engine has not said yet
  bool cancelled_ = false, closed_ = false;
  bool ended_ = false, told_ = false;  // all choices; and the caller has heard it
};

}  // namespace paceline::api
