// The answer to a conversation, told piece by piece as it is written: text and thoughts apart. For whoever has a model
// to itself.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "engine/engine.h"
#include "session/choice_output.h"
#include "session/completion_maker.h"

namespace paceline {

struct AnswerCallbacks {
  // A piece, in the order written. False: end here. May be empty.
  std::function<bool(const OutputDelta&)> on_delta;
  // How much of the prompt has been run. False: end here. May be empty.
  std::function<bool(int32_t done)> on_prompt;
};

struct Answer {
  std::string text, thoughts;
  OutputEnd end = OutputEnd::none;
  Usage usage;
};

// Steps the engine until the request has ended; nobody else may be running it. An error where it could not be run to
// its end; what was handed on before stands.
Result<Answer> answer(const TextModel& model, Engine& engine, const MadeCompletion& made,
                      const AnswerCallbacks& callbacks);

}  // namespace paceline
