#include "base/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "base/cores.h"

namespace paceline {
namespace {

using Clock = Attendance::Clock;

// Long enough to bridge the gap between two steps; an idle pool is asleep soon after a millisecond.
constexpr Clock::duration kIdleSpin = std::chrono::milliseconds(1);
// Behind a loop: whoever takes longer has most likely lost its core, and may have this one. Sleeping earlier would cost
// a long loop's last pieces a way through the kernel, which on virtual machines takes as long as they do.
constexpr Clock::duration kEndSpin = std::chrono::microseconds(200);
// The clock is looked at once in so many loops that run with fewer threads.
constexpr uint32_t kLookAgain = 64;
// And once in so many whether it is time to ask the system about this thread, a few microseconds' work.
constexpr uint32_t kAskAgain = 1024;

constexpr uint64_t kOpen = uint64_t{1} << 31;
uint64_t generation_of(uint64_t loop) { return loop >> 32; }
int wanted_in(uint64_t loop) { return static_cast<int>(loop >> 16 & 0x7fff); }
uint64_t inside(uint64_t loop) { return loop & 0xffff; }

uint64_t packed(int64_t begin, int64_t end) { return static_cast<uint64_t>(begin) << 32 | static_cast<uint64_t>(end); }

void relax() {
#if defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#elif defined(__x86_64__)
  asm volatile("pause" ::: "memory");
#endif
}

// False: it did not come within that time.
template <class Ready>
bool spin_until(Clock::duration bound, const Ready& ready) {
  constexpr int kSpins = 64;
  Clock::time_point begin;
  for (bool first = true;; first = false) {
    for (int spin = 0; spin < kSpins; ++spin) {
      if (ready()) return true;
      relax();
    }
    const Clock::time_point now = Clock::now();
    if (first)
      begin = now;
    else if (now - begin > bound)
      return false;
  }
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
    : parts_(static_cast<size_t>(threads > 0 ? threads : usable_cores())),
      attendance_(static_cast<int>(parts_.size())) {
  threads = static_cast<int>(parts_.size());
  workers_.reserve(static_cast<size_t>(threads) - 1);
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i, pin] { work(i, pin); });
  } catch (const std::system_error& error) {
    stop();
    throw std::system_error(error.code(), "expected to start " + std::to_string(threads - 1) +
                                              " threads beside the calling one; the system started " +
                                              std::to_string(workers_.size()));
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  stopping_.store(true);
  for (size_t i = 1; i < parts_.size(); ++i) {
    parts_[i].bell.fetch_add(1);
    parts_[i].bell.notify_one();
  }
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

void ThreadPool::take_pieces(int worker) noexcept {
  const int all = threads();
  try {
    for (int turn = 0; turn < all; ++turn) {
      const int owner = (worker + turn) % all;
      int64_t begin = 0, end = 0;
      while (take(owner, turn == 0, begin, end)) call_(body_, begin, end, worker);
    }
  } catch (...) {
    keep_thrown();
  }
}

// By one who is in the loop. Nobody begins another piece: what is left would be the next loop's.
void ThreadPool::keep_thrown() noexcept {
  if (!has_thrown_.exchange(true)) thrown_ = std::current_exception();
  for (Part& part : parts_) part.left.store(0, std::memory_order_relaxed);
}

// Whoever wrote it has left the loop since, and nobody else looks at it before the next one.
void ThreadPool::throw_kept() {
  has_thrown_.store(false, std::memory_order_relaxed);
  std::rethrow_exception(std::exchange(thrown_, nullptr));
}

bool ThreadPool::alone() {
  if (++loops_ % kAskAgain == 0) {
    const Clock::time_point now = Clock::now();
    if (attendance_.asks(now)) attendance_.kept_waiting(waited_for_core(), now);
  }
  if (!attendance_.trying()) {
    if (attendance_.chosen() == threads()) return false;
    if (++loops_looked_at_ % kLookAgain == 0) attendance_.look(Clock::now());
  }
  return attendance_.chosen() == 1 && !attendance_.trying();
}

void ThreadPool::run_pieces(int64_t count, int64_t piece, Call call, void* body) {
  call_ = call;
  body_ = body;
  piece_ = piece;
  in_loop_ = attendance_.for_loop();
  if (!attendance_.trying()) return run_together(count);
  const Clock::time_point begin = Clock::now();
  if (in_loop_ == 1)
    call(body, 0, count, 0);
  else
    run_together(count);
  const Clock::time_point now = Clock::now();
  attendance_.took(reinterpret_cast<uintptr_t>(call) * 31 + static_cast<uint64_t>(count), in_loop_, now - begin);
  attendance_.look(now);
}

void ThreadPool::run_together(int64_t count) {
  for (int64_t i = 0, all = in_loop_; i < all; ++i) {
    parts_[static_cast<size_t>(i)].left.store(packed(count * i / all, count * (i + 1) / all),
                                              std::memory_order_relaxed);
  }
  // Closed since the last loop's end, with nobody in it: nobody else writes it now.
  const uint64_t generation = generation_of(loop_.load(std::memory_order_relaxed)) + 1;
  loop_.store(generation << 32 | kOpen | static_cast<uint64_t>(in_loop_) << 16);
  if (sleepers_.load() > 0) wake();
  take_pieces(0);
  if (inside(loop_.fetch_and(~kOpen)) != 0) wait_for_others();
  if (thrown_ != nullptr) throw_kept();
}

void ThreadPool::wake() {
  for (size_t i = 1, wanted = static_cast<size_t>(in_loop_); i < wanted; ++i) {
    if (!parts_[i].sleeps.load()) continue;
    parts_[i].bell.fetch_add(1);
    parts_[i].bell.notify_one();
  }
}

// Asleep, so that the machine moves who has lost its core to this one.
void ThreadPool::wait_for_others() {
  const auto left_alone = [this] { return inside(loop_.load()) == 0; };
  if (spin_until(kEndSpin, left_alone)) return;
  const Clock::time_point begin = Clock::now();
  caller_sleeps_.store(true);
  for (;;) {
    const int32_t bell = done_bell_.load();
    if (left_alone()) break;
    done_bell_.wait(bell);
  }
  caller_sleeps_.store(false);
  const Clock::time_point now = Clock::now();
  attendance_.waited(now - begin + kEndSpin, now);
}

bool ThreadPool::called(int worker, uint64_t seen) const {
  return stopping_.load() || (worker < attendance_.called() && generation_of(loop_.load()) != seen);
}

void ThreadPool::wait_for_loop(int worker, uint64_t seen) {
  const auto ready = [&] { return called(worker, seen); };
  if (worker < attendance_.called() && spin_until(kIdleSpin, ready)) return;
  Part& own = parts_[static_cast<size_t>(worker)];
  sleepers_.fetch_add(1);
  own.sleeps.store(true);
  for (;;) {
    const int32_t bell = own.bell.load();
    if (ready()) break;
    own.bell.wait(bell);
  }
  own.sleeps.store(false);
  sleepers_.fetch_sub(1);
}

bool ThreadPool::enter(int worker, uint64_t generation) {
  uint64_t loop = loop_.load();
  while ((loop & kOpen) != 0 && generation_of(loop) == generation && worker < wanted_in(loop))
    if (loop_.compare_exchange_weak(loop, loop + 1)) return true;
  return false;
}

void ThreadPool::leave() {
  const uint64_t before = loop_.fetch_sub(1);
  if (inside(before) != 1 || (before & kOpen) != 0 || !caller_sleeps_.load()) return;
  done_bell_.fetch_add(1);
  done_bell_.notify_one();
}

void ThreadPool::work(int worker, bool pin) {
  if (pin) pin_this_thread(worker);
  uint64_t seen = 0;
  for (;;) {
    wait_for_loop(worker, seen);
    if (stopping_.load()) return;
    seen = generation_of(loop_.load());
    if (!enter(worker, seen)) continue;
    take_pieces(worker);
    leave();
  }
}

}  // namespace paceline
