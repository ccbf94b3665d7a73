// paceline.h: requests, and what comes out of them.
#include "api/ask.h"
#include "api/handles.h"
#include "api/structs.h"

namespace paceline::api {
namespace {

Outcome submit(paceline_model* model, const paceline_request* given, std::unique_ptr<paceline_generation>& made) {
  if (model == nullptr) return invalid("model is NULL");
  paceline_request request = default_request();
  if (Outcome wrong = take_struct(given, "request", request); !wrong.ok()) return wrong;
  MadeCompletion completion;
  if (Outcome wrong = read_request(*model->running, request, completion); !wrong.ok()) return wrong;
  auto handle = std::make_unique<paceline_generation>();
  const Ear ear{request.on_event, request.user, handle.get()};
  handle->state = std::make_shared<Generation>(model->running, completion, ear);
  if (Outcome wrong = model->running->submit(std::move(completion.request), handle->state); !wrong.ok()) return wrong;
  made = std::move(handle);
  return {};
}

Outcome generate(paceline_model* model, const paceline_request* request, std::unique_ptr<paceline_generation>& made) {
  if (RunningModel::computing_here() != nullptr) {
    return invalid("paceline_generate was called from within on_event: a thread that computes must not wait");
  }
  if (Outcome wrong = submit(model, request, made); !wrong.ok()) return wrong;
  return made->state->wait();
}

}  // namespace
}  // namespace paceline::api

using namespace paceline::api;

paceline_result paceline_submit(paceline_model* model, const paceline_request* request,
                                paceline_generation** generation, char** problem) {
  if (generation != nullptr) *generation = nullptr;
  return guarded(problem, [&]() -> Outcome {
    if (generation == nullptr) return invalid("generation is NULL: there is no place for what was submitted");
    std::unique_ptr<paceline_generation> made;
    if (Outcome wrong = submit(model, request, made); !wrong.ok()) return wrong;
    *generation = made.release();
    return {};
  });
}

paceline_result paceline_wait(paceline_generation* generation, char** problem) {
  return guarded(problem, [&] {
    if (generation == nullptr) return invalid("generation is NULL");
    return generation->state->wait();
  });
}

paceline_result paceline_generate(paceline_model* model, const paceline_request* request,
                                  paceline_generation** generation, char** problem) {
  if (generation != nullptr) *generation = nullptr;
  return guarded(problem, [&] {
    std::unique_ptr<paceline_generation> made;
    Outcome outcome = generate(model, request, made);
    if (generation != nullptr) *generation = made.release();
    return outcome;
  });
}

void paceline_cancel(paceline_generation* generation) {
  if (generation == nullptr) return;
  (void)caught([&]() -> Outcome {
    generation->state->cancel();
    return {};
  });
}

paceline_result paceline_usage_of(const paceline_generation* generation, paceline_usage* usage, char** problem) {
  return guarded(problem, [&] {
    if (generation == nullptr) return invalid("generation is NULL");
    return generation->state->usage(usage);
  });
}

paceline_result paceline_choice_of(const paceline_generation* generation, int32_t number, paceline_choice* choice,
                                   char** problem) {
  return guarded(problem, [&] {
    if (generation == nullptr) return invalid("generation is NULL");
    return generation->state->choice(number, choice);
  });
}

void paceline_release(paceline_generation* generation) { delete generation; }

const char* paceline_finish_name(paceline_finish finish) {
  switch (finish) {
    case PACELINE_FINISH_NONE: return "";
    case PACELINE_FINISH_STOP: return "stop";
    case PACELINE_FINISH_LENGTH: return "length";
    case PACELINE_FINISH_TOOL_CALLS: return "tool_calls";
    case PACELINE_FINISH_CANCELLED: return "cancelled";
    case PACELINE_FINISH_DEADLINE: return "deadline";
    case PACELINE_FINISH_FAILED: return "failed";
    default: return "unknown";
  }
}
