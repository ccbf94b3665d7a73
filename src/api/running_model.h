// An opened model whose engine runs on a thread of its own, and the generations that it has on its way.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "api/outcome.h"
#include "session/completion_maker.h"
#include "session/opened_model.h"

namespace paceline::api {

class Generation;

class RunningModel {
 public:
  static Outcome open(const OpenOptions& options, std::shared_ptr<RunningModel>& made);
  ~RunningModel();

  [[nodiscard]] const TextModel& text() const { return opened_->text(); }
  [[nodiscard]] const OpenedModel& opened() const { return *opened_; }
  [[nodiscard]] CompletionMaker& maker() const { return *maker_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] EngineStats stats() const { return opened_->engine().stats(); }

  // The model whose thread the caller is, or none. It must not wait for what a model computes: neither for what it
  // computes itself, nor for one that may be waiting for it.
  static RunningModel* computing_here();
  // For a callback to return it may, where nothing in that one waits for one of this model's, by however many others.
  bool begin_to_wait_for(const Generation& heard);
  void end_waiting();

  // A share of it: its handle may be gone before this returns, by the callback of its own.
  Outcome submit(Request request, std::shared_ptr<Generation> generation);
  // Of one that has been closed there is nothing left to cancel.
  void cancel(RequestId id);
  // Everything ends, and the memory is given back.
  Outcome close();

 private:
  RunningModel() = default;
  Outcome start();
  void run() noexcept;
  // Not where it takes no more requests: says why.
  Outcome remember(const std::shared_ptr<Generation>& generation);
  // From now on the list of generations stays as it is.
  void take_no_more(paceline_result why) noexcept;
  template <class Visit>
  void each_living(const Visit& visit) const;

  std::string name_, folder_;
  std::unique_ptr<OpenedModel> opened_;
  std::unique_ptr<CompletionMaker> maker_;
  std::thread thread_;

  const Generation* waits_for_ = nullptr;  // whose callback is to return; of all models under one lock

  std::mutex mutex_;  // guards all below, and opened_ where it is closed
  std::vector<std::weak_ptr<Generation>> generations_;
  size_t tidy_at_ = 64;
  paceline_result refuses_ = PACELINE_OK;  // FAILED: its thread ended by something that was thrown; or CLOSED
};

}  // namespace paceline::api
