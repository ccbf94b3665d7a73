#include "server/byte_budget.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/check.h"

namespace paceline {

namespace asio = boost::asio;

struct ByteBudget::Waiter {
  Waiter(const asio::any_io_executor& executor, size_t wanted)
      : bytes(wanted), bell(executor, asio::steady_timer::time_point::max()) {}
  size_t bytes;
  asio::steady_timer bell;
  bool granted = false;  // on its executor alone
};

size_t ByteBudget::free_bytes() const {
  const std::lock_guard lock(mutex_);
  return free_;
}

bool ByteBudget::take_at_once(size_t bytes) {
  if (!waiting_.empty() || bytes > free_) return false;
  free_ -= bytes;
  return true;
}

std::optional<ByteBudget::Hold> ByteBudget::try_take(size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!take_at_once(bytes)) return std::nullopt;
  return Hold(*this, bytes);
}

bool ByteBudget::Hold::try_grow(size_t more) {
  const std::lock_guard lock(budget_->mutex_);
  if (!budget_->take_at_once(more)) return false;
  bytes_ += more;
  return true;
}

asio::awaitable<ByteBudget::Hold> ByteBudget::take(size_t bytes) {
  CHECK(bytes <= all_);
  const auto waiter = std::make_shared<Waiter>(co_await asio::this_coro::executor, bytes);
  {
    const std::lock_guard lock(mutex_);
    if (take_at_once(bytes)) {
      waiter->granted = true;
    } else {
      waiting_.push_back(waiter);
    }
  }
  while (!waiter->granted) co_await waiter->bell.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return Hold(*this, bytes);
}

void ByteBudget::give_back(size_t bytes) {
  const std::lock_guard lock(mutex_);
  free_ += bytes;
  while (!waiting_.empty()) {
    const auto waiter = waiting_.front().lock();
    if (waiter != nullptr) {
      if (waiter->bytes > free_) return;
      free_ -= waiter->bytes;
      asio::post(waiter->bell.get_executor(), [waiter] {
        waiter->granted = true;
        waiter->bell.cancel();
      });
    }
    waiting_.pop_front();
  }
}

}  // namespace paceline
