#include "server/work_lane.h"

#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>

namespace paceline {
namespace {

// Of the calling thread alone: Linux counts niceness by thread, whatever POSIX says.
void stand_back(int niceness) {
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), ::getpriority(PRIO_PROCESS, 0) + niceness);
}

}  // namespace

WorkLane::WorkLane(std::string name, int32_t threads, int niceness)
    : name_(std::move(name)), io_(std::make_unique<boost::asio::io_context>(threads)) {
  for (int32_t i = 0; i < threads; ++i) {
    threads_.emplace_back([io = io_.get(), niceness] {
      stand_back(niceness);
      const auto work = boost::asio::make_work_guard(*io);
      io->run();
    });
  }
}

void WorkLane::stop() {
  if (io_ == nullptr) return;
  io_->stop();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  io_.reset();
}

void WorkLane::arrive() {
  const std::lock_guard lock(mutex_);
  if (waiting_ + running_ == 0) moved_ = Clock::now();
  ++waiting_;
}

void WorkLane::begin() {
  const std::lock_guard lock(mutex_);
  --waiting_;
  ++running_;
  moved_ = Clock::now();
}

void WorkLane::end() {
  const std::lock_guard lock(mutex_);
  --running_;
  ++ended_;
  moved_ = Clock::now();
}

LaneState WorkLane::state() const {
  const std::lock_guard lock(mutex_);
  LaneState state{name_, waiting_, running_, 0, ended_};
  if (waiting_ + running_ > 0) state.still_s = std::chrono::duration<double>(Clock::now() - moved_).count();
  return state;
}

}  // namespace paceline
