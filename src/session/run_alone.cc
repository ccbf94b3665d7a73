#include "session/run_alone.h"

#include "session/refusal.h"

namespace paceline {

Status run_alone(Engine& engine, const Request& request, const std::shared_ptr<LoneListener>& listener) {
  const Submission submission = engine.submit(request, listener);
  if (submission.refusal != Refusal::none) return Error{why_refused(submission, engine.stats().kv_bytes)};
  while (!listener->ended()) {
    if (listener->gives_up()) engine.cancel(submission.id);
    if (!engine.step() && !listener->ended()) return Error{"the engine has left the request behind"};
  }
  return Done{};
}

}  // namespace paceline
