// Threads that prepare requests, in a lane of their own: what is slow in one lane holds up nobody in another.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace paceline {

// What an observer sees of a lane. A job that waits behind others is progress, as long as these begin and end.
struct LaneState {
  std::string name;
  int32_t waiting = 0, running = 0;
  double still_s = 0;  // with jobs at hand: since one came to an empty lane, was begun or ended
  int64_t ended = 0;   // jobs, since the start
};

class WorkLane {
 public:
  // niceness: how far its threads stand back for the engine's, 0 to 19.
  WorkLane(std::string name, int32_t threads, int niceness);
  ~WorkLane() { stop(); }
  WorkLane(const WorkLane&) = delete;
  WorkLane& operator=(const WorkLane&) = delete;

  // The job's result, once one of the lane's threads has run it. In the order of the calls.
  template <class Job>
  boost::asio::awaitable<std::invoke_result_t<Job&>> run(Job job) {
    using Made = std::invoke_result_t<Job&>;
    arrive();
    co_return co_await boost::asio::co_spawn(
        io_->get_executor(),
        [this, job = std::move(job)]() mutable -> boost::asio::awaitable<Made> {
          const Turn turn(*this);
          co_return job();
        },
        boost::asio::use_awaitable);
  }

  [[nodiscard]] LaneState state() const;
  // Jobs that have begun end; the others never begin, and what waits for them is unwound by its own executor.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  // A job, while it runs.
  class Turn {
   public:
    explicit Turn(WorkLane& lane) : lane_(lane) { lane_.begin(); }
    ~Turn() { lane_.end(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    WorkLane& lane_;
  };
  void arrive();
  void begin();
  void end();

  std::string name_;
  std::unique_ptr<boost::asio::io_context> io_;  // none once it was stopped
  std::vector<std::thread> threads_;

  mutable std::mutex mutex_;
  int32_t waiting_ = 0, running_ = 0;
  int64_t ended_ = 0;
  Clock::time_point moved_{};
};

}  // namespace paceline
