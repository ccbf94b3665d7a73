#include "session/answer.h"

#include <memory>
#include <utility>

#include "session/run_alone.h"

namespace paceline {
namespace {

class AnswerReader : public LoneListener {
 public:
  AnswerReader(const TextModel& model, const MadeCompletion& made, const AnswerCallbacks& callbacks)
      : output_(model.tokenizer, *model.dialect, made.output), callbacks_(callbacks) {
    answer_.usage.prompt_tokens = static_cast<int64_t>(made.request.prompt.size());
  }

  Heard hear(const Event& event) override {
    output_.note_prompt(event, answer_.usage);
    if (answer_.usage.completion_tokens == 0 && event.end == nullptr) tell_prompt(event.prompt_done);
    Heard heard;
    while (heard.stand < event.tokens.size() && !heard.ends) {
      heard.ends = !output_.push(event.tokens[heard.stand++], answer_.usage);
      heard.ends = !tell_news() || heard.ends;
    }
    if (event.end != nullptr) {
      output_.finish(*event.end, answer_.usage);
      (void)tell_news();
    }
    return heard;
  }

  [[nodiscard]] bool ended() const override { return output_.end() != OutputEnd::none; }
  [[nodiscard]] bool gives_up() const override { return gives_up_; }

  Result<Answer> take_answer() {
    if (output_.end() == OutputEnd::failed) return Error{output_.problem()};
    answer_.end = output_.end();
    return std::move(answer_);
  }

 private:
  void tell_prompt(int32_t done) {
    if (callbacks_.on_prompt && !callbacks_.on_prompt(done)) gives_up_ = true;
  }

  bool tell_news() {
    bool goes_on = true;
    for (const OutputDelta& delta : std::exchange(output_.unheard(), {})) {
      if (delta.kind == OutputDelta::Kind::content) answer_.text += delta.text;
      if (delta.kind == OutputDelta::Kind::reasoning) answer_.thoughts += delta.text;
      if (callbacks_.on_delta && !callbacks_.on_delta(delta)) goes_on = false;
    }
    return goes_on;
  }

  ChoiceOutput output_;
  const AnswerCallbacks& callbacks_;
  Answer answer_;
  bool gives_up_ = false;
};

}  // namespace

Result<Answer> answer(const TextModel& model, Engine& engine, const MadeCompletion& made,
                      const AnswerCallbacks& callbacks) {
  const auto reader = std::make_shared<AnswerReader>(model, made, callbacks);
  TRY(run_alone(engine, made.request, reader));
  return reader->take_answer();
}

}  // namespace paceline
