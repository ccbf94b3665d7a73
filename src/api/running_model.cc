#include "api/running_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <system_error>

#include "api/generation.h"
#include "session/model_path.h"
#include "session/refusal.h"

namespace paceline::api {
namespace {

constexpr const char* kBroken = "the engine has stopped: there was no memory";

thread_local RunningModel* computing = nullptr;

std::mutex waiting_mutex;  // for who waits for whom

paceline_result code_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::none: return PACELINE_OK;
    case Refusal::queue_full: return PACELINE_BUSY;
    case Refusal::draining: return PACELINE_CLOSED;
    case Refusal::never_fits:
    case Refusal::invalid: return PACELINE_INVALID;
    case Refusal::failed: break;
  }
  return PACELINE_FAILED;
}

// Of an opening that did not succeed: mostly its files are at fault.
paceline_result code_of(const Error& error) {
  const std::string_view code = error.code;
  if (code == kBadSetting) return PACELINE_INVALID;
  return code == kNoThreads || code == kNoMemory || code == kDeviceFailed ? PACELINE_FAILED : PACELINE_NO_MODEL;
}

}  // namespace

Outcome RunningModel::open(const OpenOptions& options, std::shared_ptr<RunningModel>& made) {
  if (const Status status = check_open_options(options); !status.ok()) return invalid(status.error().message);
  auto opened = OpenedModel::open(options);
  if (!opened.ok()) return {code_of(opened.error()), opened.error().message};
  std::shared_ptr<RunningModel> model(new RunningModel());
  model->opened_ = std::move(*opened);
  model->folder_ = model->opened_->folder().string();
  model->name_ = model_name(options.run.model, model->opened_->folder());
  model->maker_ = std::make_unique<CompletionMaker>(model->opened_->text());
  if (Outcome wrong = model->start(); !wrong.ok()) return wrong;
  made = std::move(model);
  return {};
}

Outcome RunningModel::start() {
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    return {PACELINE_FAILED,
            fmt::format("expected to start a thread that steps; the system started none: {}", error.code().message())};
  }
  return {};
}

RunningModel::~RunningModel() {
  if (thread_.joinable()) (void)close();
}

RunningModel* RunningModel::computing_here() { return computing; }

// A callback that has returned holds nobody up, whether those who waited for it have woken or not.
bool RunningModel::begin_to_wait_for(const Generation& heard) {
  const std::lock_guard lock(waiting_mutex);
  for (const Generation* next = &heard; next != nullptr && next->is_heard(); next = next->model().waits_for_)
    if (&next->model() == this) return false;
  waits_for_ = &heard;
  return true;
}

void RunningModel::end_waiting() {
  const std::lock_guard lock(waiting_mutex);
  waits_for_ = nullptr;
}

// What the engine cannot go on from, nobody waits for.
void RunningModel::run() noexcept {
  computing = this;
  const Outcome ended = caught([this]() -> Outcome {
    opened_->engine().run();
    return {};
  });
  if (ended.ok()) return;
  take_no_more(PACELINE_FAILED);
  each_living([](Generation& generation) { generation.fail(); });
}

Outcome RunningModel::submit(Request request, std::shared_ptr<Generation> generation) {
  if (Outcome refused = remember(generation); !refused.ok()) return refused;
  const Submission made = opened_->engine().submit(std::move(request), generation);
  if (made.refusal != Refusal::none) {
    return {code_of(made.refusal), why_refused(made, opened_->description().settings.kv_bytes)};
  }
  generation->begin(made.id);
  const std::lock_guard lock(mutex_);
  if (refuses_ == PACELINE_FAILED) return {PACELINE_FAILED, kBroken};
  return {};
}

void RunningModel::cancel(RequestId id) {
  const std::lock_guard lock(mutex_);
  if (opened_ != nullptr) opened_->engine().cancel(id);
}

// All of it, whether there is memory for what is said on the way or not.
Outcome RunningModel::close() {
  if (computing_here() != nullptr)
    return invalid("a model cannot be closed from within on_event: a thread that computes must not wait");
  opened_->engine().drain();
  take_no_more(PACELINE_CLOSED);
  each_living([](Generation& generation) {
    (void)caught([&]() -> Outcome {
      generation.close();
      return {};
    });
  });
  opened_->engine().stop();
  thread_.join();
  (void)caught([this]() -> Outcome {
    opened_->keep_costs();
    return {};
  });
  const std::lock_guard lock(mutex_);
  maker_.reset();
  opened_.reset();
  return {};
}

Outcome RunningModel::remember(const std::shared_ptr<Generation>& generation) {
  const std::lock_guard lock(mutex_);
  if (refuses_ != PACELINE_OK) {
    return {refuses_, refuses_ == PACELINE_FAILED ? kBroken : "the model is being closed"};
  }
  if (generations_.size() >= tidy_at_) {
    std::erase_if(generations_, [](const auto& weak) { return weak.expired(); });
    tidy_at_ = 64 + 2 * generations_.size();
  }
  generations_.push_back(generation);
  return {};
}

void RunningModel::take_no_more(paceline_result why) noexcept {
  const std::lock_guard lock(mutex_);
  if (refuses_ == PACELINE_OK) refuses_ = why;
}

// Once no more are taken: then nobody changes the list, and going through it takes no memory.
template <class Visit>
void RunningModel::each_living(const Visit& visit) const {
  for (const auto& weak : generations_)
    if (const auto generation = weak.lock()) visit(*generation);
}

}  // namespace paceline::api
