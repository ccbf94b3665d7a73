#include "engine/engine.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "engine/request_bytes.h"
#include "engine/request_checks.h"
#include "engine/step.h"
#include "engine/step_turns.h"

namespace paceline {

// Who comes from outside, and the thread that steps.
class Engine::Loop {
 public:
  Loop(const EngineParts& parts, const EngineSettings& settings)
      : parts_(parts), settings_(settings), held_(settings.queue_bytes), stepper_(parts, settings), seat_(parts.turns) {
    stats_.kv_bytes = settings.kv_bytes;
    stats_.queue_length = settings.queue_length;
    // Whoever hears that it failed, and asks, is told the same.
    stepper_.set_on_failure([this] { write_stats(); });
    stepper_.write_stats(stats_);
  }

  Submission submit(Request request, std::shared_ptr<Listener> listener) {
    const ModelConfig& config = parts_.forward->config();
    if (const Status status = check_request(request, config, parts_.vision); !status.ok())
      return {.refusal = Refusal::invalid, .problem = status.error().message};
    std::shared_ptr<Accepted> accepted =
        Schedule::accept(std::move(request), parts_.forward->kv_layout(), config, settings_.kv_bytes, parts_.drafter);
    accepted->listener = std::move(listener);
    accepted->submitted = EngineClock::now();
    Submission submission;
    submission.needs_bytes = accepted->bytes();
    const std::lock_guard lock(mutex_);
    submission.refusal = refusal(submission.needs_bytes);
    if (submission.refusal == Refusal::none) {
      accepted->holding = held_.try_hold(accepted->request);
      if (accepted->holding == nullptr) submission.refusal = Refusal::queue_full;
    }
    if (submission.refusal == Refusal::failed) submission.problem = stats_.failure;
    if (submission.refusal != Refusal::none) return submission;
    submission.id = accepted->id = ++last_id_;
    arrived_.push_back(std::move(accepted));
    has_mail_ = true;
    wake_.notify_one();
    return submission;
  }

  void cancel(RequestId id) {
    const std::lock_guard lock(mutex_);
    cancelled_.push_back(id);
    has_mail_ = true;
    wake_.notify_one();
  }

  void turn(const EngineDials& dials) {
    const std::lock_guard lock(mutex_);
    dials.turn(settings_);
    stats_.queue_length = settings_.queue_length;
    stats_.depth = dials.depth;
    dials_ = dials;
    has_mail_ = true;
    wake_.notify_one();
  }

  void drain() {
    const std::lock_guard lock(mutex_);
    draining_ = true;
  }

  [[nodiscard]] EngineStats stats() const {
    const std::lock_guard lock(mutex_);
    EngineStats stats = stats_;
    stats.waiting = waiting();
    stats.held_bytes = held_.held();
    return stats;
  }

  bool step() {
    read_mail();
    const bool stepped = stepper_.step();
    if (stepped || !idle_) write_stats();
    idle_ = !stepped;
    return stepped;
  }

  bool step_in_turn() {
    const StepTurns::Turn turn(seat_);
    return step();
  }

  void run() {
    while (true) {
      if (step_in_turn()) continue;
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return has_mail_ || stopping_; });
      // Whoever has come since the step has a listener, too.
      if (!stopping_ || !arrived_.empty() || !cancelled_.empty()) continue;
      draining_ = true;
      return;
    }
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    has_mail_ = true;
    wake_.notify_one();
  }

  [[nodiscard]] const char* integrity_problem() const { return stepper_.integrity_problem(); }

 private:
  [[nodiscard]] Refusal refusal(size_t needs_bytes) const {
    if (draining_) return Refusal::draining;
    if (stats_.failed) return Refusal::failed;
    if (needs_bytes > settings_.kv_bytes) return Refusal::never_fits;
    if (waiting() >= settings_.queue_length) return Refusal::queue_full;
    return Refusal::none;
  }

  void read_mail() {
    if (!has_mail_.load(std::memory_order_relaxed)) return;
    std::vector<RequestId> cancelled;
    {
      const std::lock_guard lock(mutex_);
      has_mail_ = stopping_;
      queued_ += static_cast<int32_t>(arrived_.size());
      for (auto& accepted : arrived_) stepper_.enqueue(std::move(accepted));
      arrived_.clear();
      cancelled.swap(cancelled_);
      if (const auto dials = std::exchange(dials_, std::nullopt)) stepper_.turn(*dials);
    }
    for (const RequestId id : cancelled) stepper_.cancel(id);
    idle_ = false;
  }

  void write_stats() {
    const std::lock_guard lock(mutex_);
    stepper_.write_stats(stats_);
    queued_ = stepper_.waiting();
  }

  [[nodiscard]] int32_t waiting() const { return queued_ + static_cast<int32_t>(arrived_.size()); }

  EngineParts parts_;
  EngineSettings settings_;
  std::optional<EngineDials> dials_;  // that the steps do not know yet
  RequestBytes held_;
  Stepper stepper_;
  StepTurns::Seat seat_;
  bool idle_ = true;

  // Everyone's.
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<bool> has_mail_{false};
  bool stopping_ = false, draining_ = false;
  RequestId last_id_ = 0;
  int32_t queued_ = 0;  // with the stepper, as it was after its last step
  std::vector<std::shared_ptr<const Accepted>> arrived_;
  std::vector<RequestId> cancelled_;
  EngineStats stats_;
};

Engine::Engine(const EngineParts& parts, const EngineSettings& settings)
    : loop_(std::make_unique<Loop>(parts, settings)) {}
Engine::~Engine() = default;

Submission Engine::submit(Request request, std::shared_ptr<Listener> listener) {
  return loop_->submit(std::move(request), std::move(listener));
}
void Engine::cancel(RequestId id) { loop_->cancel(id); }
void Engine::turn(const EngineDials& dials) { loop_->turn(dials); }
void Engine::drain() { loop_->drain(); }
EngineStats Engine::stats() const { return loop_->stats(); }
bool Engine::step() { return loop_->step(); }
void Engine::run() { loop_->run(); }
void Engine::stop() { loop_->stop(); }
const char* Engine::integrity_problem() const { return loop_->integrity_problem(); }

}  // namespace paceline
