#include "base/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>

namespace paceline {
namespace {

// Long enough to bridge the gap between two loops of a forward (a few microseconds), short enough that
// an idle pool is asleep within a millisecond.
constexpr int kSpins = 20000;

uint64_t packed(int64_t begin, int64_t end) { return static_cast<uint64_t>(begin) << 32 | static_cast<uint64_t>(end); }

void relax() {
#if defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#elif defined(__x86_64__)
  asm volatile("pause" ::: "memory");
#endif
}

}  // namespace

void pin_this_thread(int core) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  int seen = 0;
  for (int c = 0; c < CPU_SETSIZE; ++c) {
    if (!CPU_ISSET(c, &allowed)) continue;
    if (seen++ != core) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(c, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    return;
  }
}

ThreadPool::ThreadPool(int threads, bool pin)
    : parts_(static_cast<size_t>(threads > 0 ? threads
                                             : std::max(1, static_cast<int>(std::thread::hardware_concurrency())))) {
  threads = static_cast<int>(parts_.size());
  workers_.reserve(static_cast<size_t>(threads) - 1);
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i, pin] { work(i, pin); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_.store(true);
    generation_.fetch_add(1);
  }
  wake_.notify_all();
  for (auto& worker : workers_) worker.join();
}

// Half of what is left of the owner's part: its front for the owner, its back for others.
bool ThreadPool::take(int owner, bool own, int64_t& begin, int64_t& end) {
  std::atomic<uint64_t>& left = parts_[static_cast<size_t>(owner)].left;
  uint64_t now = left.load(std::memory_order_relaxed);
  for (;;) {
    const auto from = static_cast<int64_t>(now >> 32), to = static_cast<int64_t>(now & 0xffffffff);
    if (from >= to) return false;
    const int64_t size = std::min(to - from, std::max(piece_, (to - from) / 2));
    begin = own ? from : to - size;
    end = begin + size;
    if (left.compare_exchange_weak(now, own ? packed(end, to) : packed(from, begin), std::memory_order_relaxed)) {
      return true;
    }
  }
}

void ThreadPool::take_pieces(int worker) {
  const int all = threads();
  for (int turn = 0; turn < all; ++turn) {
    const int owner = (worker + turn) % all;
    int64_t begin = 0, end = 0;
    while (take(owner, turn == 0, begin, end)) call_(body_, begin, end, worker);
  }
}

void ThreadPool::run_pieces(int64_t count, int64_t piece, Call call, void* body) {
  call_ = call;
  body_ = body;
  piece_ = piece;
  for (int64_t i = 0, all = threads(); i < all; ++i) {
    parts_[static_cast<size_t>(i)].left.store(packed(count * i / all, count * (i + 1) / all),
                                              std::memory_order_relaxed);
  }
  running_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  generation_.fetch_add(1);
  if (sleepers_.load() > 0) {
    const std::lock_guard lock(mutex_);
    wake_.notify_all();
  }
  take_pieces(0);
  for (int spins = 0; running_.load(std::memory_order_acquire) != 0; ++spins) {
    relax();
    if (spins > kSpins) {
      sched_yield();
    }
  }
}

void ThreadPool::work(int worker, bool pin) {
  if (pin) pin_this_thread(worker);
  uint64_t seen = 0;
  for (;;) {
    for (int spins = 0; spins < kSpins && generation_.load(std::memory_order_acquire) == seen; ++spins) relax();
    if (generation_.load() == seen) {
      std::unique_lock lock(mutex_);
      sleepers_.fetch_add(1);
      wake_.wait(lock, [&] { return generation_.load() != seen; });
      sleepers_.fetch_sub(1);
    }
    seen = generation_.load(std::memory_order_acquire);
    if (stopping_.load()) return;
    take_pieces(worker);
    running_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace paceline
