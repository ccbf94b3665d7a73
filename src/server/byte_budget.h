// Memory that several may use in turn, so that together they never use more: whoever finds none free waits, in the
// order of asking, and holds no thread meanwhile.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace paceline {

// May be used by several threads.
class ByteBudget {
 public:
  explicit ByteBudget(size_t bytes) : all_(bytes), free_(bytes) {}
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  // Some bytes; given back when it goes.
  class Hold {
   public:
    Hold(ByteBudget& budget, size_t bytes) : budget_(&budget), bytes_(bytes) {}
    Hold(Hold&& other) noexcept : budget_(std::exchange(other.budget_, nullptr)), bytes_(other.bytes_) {}
    Hold& operator=(Hold&&) = delete;
    ~Hold() {
      if (budget_ != nullptr) budget_->give_back(bytes_);
    }

    // At once or not at all.
    bool try_grow(size_t more);

   private:
    ByteBudget* budget_;
    size_t bytes_;
  };

  [[nodiscard]] size_t bytes() const { return all_; }
  [[nodiscard]] size_t free_bytes() const;
  // At once or not at all.
  std::optional<Hold> try_take(size_t bytes);
  // No more than there are in all. The caller's executor is a strand, or has one thread.
  boost::asio::awaitable<Hold> take(size_t bytes);

 private:
  struct Waiter;
  bool take_at_once(size_t bytes);
  void give_back(size_t bytes);

  const size_t all_;
  mutable std::mutex mutex_;
  size_t free_;
  std::deque<std::weak_ptr<Waiter>> waiting_;
};

}  // namespace paceline
