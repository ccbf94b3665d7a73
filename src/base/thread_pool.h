// A pool for short parallel loops: workers spin briefly for the next loop, then sleep.
// Which thread runs which item is not fixed; results never depend on it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace paceline {

// Keeps the calling thread on core number `core` of those it may use.
void pin_this_thread(int core);

class ThreadPool {
 public:
  // threads: in all, the caller of run() included; 0 means one per core. pin: worker i stays on core i.
  explicit ThreadPool(int threads = 0, bool pin = false);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls f(begin, end) or f(begin, end, worker) over pieces of [0, count); returns when all are done. Each thread
  // walks through a part of its own, in pieces that start long and shrink to `piece`, and then helps the others from
  // the ends of theirs: so threads read long runs, the same ones every time, and still end together. worker is below
  // threads(), and no two calls with the same worker run at once. One caller at a time; count is below 2^31.
  template <class F>
  void run(int64_t count, int64_t piece, F&& f) {
    if (workers_.empty() || count <= piece) {
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
  void run_pieces(int64_t count, int64_t piece, Call call, void* body);
  void work(int worker, bool pin);
  void take_pieces(int worker);
  bool take(int owner, bool own, int64_t& begin, int64_t& end);

  std::vector<std::thread> workers_;
  // The loop now running; written by run_pieces before generation_ is raised.
  Call call_ = nullptr;
  void* body_ = nullptr;
  int64_t piece_ = 1;
  // What is left of each thread's part: begin in the upper half, end in the lower.
  struct alignas(64) Part {
    std::atomic<uint64_t> left{0};
  };
  std::vector<Part> parts_;
  alignas(64) std::atomic<uint64_t> generation_{0};
  alignas(64) std::atomic<int> running_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<int> sleepers_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
};

}  // namespace paceline
