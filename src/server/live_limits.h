// Limits of a request that an operator changes while the server runs: whoever has begun with some keeps them.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>

#include "server/settings.h"

namespace paceline {

// May be used by several threads.
class LiveLimits {
 public:
  explicit LiveLimits(const RequestLimits& limits) { set(limits); }

  // Stays as it is, and as long as this.
  [[nodiscard]] const RequestLimits& now() const { return *now_.load(std::memory_order_acquire); }
  void set(const RequestLimits& limits) {
    const std::lock_guard lock(mutex_);
    now_.store(&all_.emplace_back(limits), std::memory_order_release);
  }

 private:
  std::mutex mutex_;
  std::deque<RequestLimits> all_;  // that ever were; an operator makes few
  std::atomic<const RequestLimits*> now_ = nullptr;
};

}  // namespace paceline
