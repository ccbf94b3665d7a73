// A pool for short parallel loops: workers spin briefly for the next loop, then sleep.
// Which thread runs which item is not fixed; results never depend on it. A loop waits for those who have taken a piece
// of it and for nobody else: a worker that the machine lets wait misses it. What a piece throws ends the loop, and is
// thrown to its caller once nobody is in it any more.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/attendance.h"

namespace paceline {

// Keeps the calling thread on core number `core` of those it may use.
void pin_this_thread(int core);

class ThreadPool {
 public:
  // threads: in all, the caller of run() included; 0 means one per core that may be used. pin: worker i stays on core
  // i. Throws std::system_error, with a sentence, where the system does not start as many.
  explicit ThreadPool(int threads = 0, bool pin = false);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls f(begin, end) or f(begin, end, worker) over pieces of [0, count); returns when all are done. Each thread
  // walks through a part of its own, in pieces that start long and shrink to `piece`, and then helps the others from
  // the ends of theirs: so threads read long runs, the same ones every time, and still end together. worker is below
  // threads(), and no two calls with the same worker run at once. One caller at a time; count is below 2^31. Where f
  // throws, pieces that nobody has begun are left out, and the first of what was thrown comes to the caller.
  template <class F>
  void run(int64_t count, int64_t piece, F&& f) {
    if (workers_.empty() || count <= piece || alone()) {
      if (count > 0) invoke(f, int64_t{0}, count, 0);
      return;
    }
    using Body = std::remove_reference_t<F>;
    auto call = [](void* body, int64_t begin, int64_t end, int worker) {
      invoke(*static_cast<Body*>(body), begin, end, worker);
    };
    run_pieces(count, piece, call, const_cast<std::remove_const_t<Body>*>(&f));
  }

 private:
  using Call = void (*)(void* body, int64_t begin, int64_t end, int worker);
  template <class F>
  static void invoke(F& f, int64_t begin, int64_t end, int worker) {
    if constexpr (std::is_invocable_v<F&, int64_t, int64_t, int>)
      f(begin, end, worker);
    else
      f(begin, end);
  }
  // Whether no other thread is wanted now, because the machine is full.
  bool alone();
  void run_pieces(int64_t count, int64_t piece, Call call, void* body);
  void run_together(int64_t count);
  void wake();
  void wait_for_others();
  void stop();
  void work(int worker, bool pin);
  void wait_for_loop(int worker, uint64_t seen);
  [[nodiscard]] bool called(int worker, uint64_t seen) const;
  bool enter(int worker, uint64_t generation);
  void leave();
  void take_pieces(int worker) noexcept;
  void keep_thrown() noexcept;
  void throw_kept();
  bool take(int owner, bool own, int64_t& begin, int64_t& end);

  std::vector<std::thread> workers_;
  // The loop now running; written by run_pieces before it is opened.
  Call call_ = nullptr;
  void* body_ = nullptr;
  int64_t piece_ = 1;
  struct alignas(64) Part {
    std::atomic<uint64_t> left{0};  // of this thread's part: begin in the upper half, end in the lower
    std::atomic<bool> sleeps{false};
    std::atomic<int32_t> bell{0};
  };
  std::vector<Part> parts_;
  // Number of the loop in the upper half; below, whether it is open to those who come, for how many, and how many are
  // in it.
  alignas(64) std::atomic<uint64_t> loop_{0};
  alignas(64) std::atomic<int> sleepers_{0};
  std::atomic<bool> caller_sleeps_{false};
  std::atomic<int32_t> done_bell_{0};
  std::atomic<bool> stopping_{false};
  Attendance attendance_;
  int in_loop_ = 0;            // threads that the loop's parts are for
  std::exception_ptr thrown_;  // by a piece of this loop; the caller's once nobody is in it
  std::atomic<bool> has_thrown_{false};
  uint32_t loops_looked_at_ = 0, loops_ = 0;
};

}  // namespace paceline
