// A request on its way to the engine, or to an answer: read, its media fetched and decoded, rendered and encoded, each
// by those whose work it is.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "server/log.h"
#include "server/media_decoding.h"
#include "server/media_fetch.h"
#include "server/request_lanes.h"
#include "server/routes.h"
#include "server/settings.h"

namespace paceline {

// Who does it; shared by all requests, and outlives them.
struct Preparers {
  const ServerSettings* settings = nullptr;
  Routes* routes = nullptr;
  Log* log = nullptr;
  RequestLanes* lanes = nullptr;
  MediaDecoding* decoding = nullptr;
  ByteBudget* fetched = nullptr;             // for media, from when they come until they are decoded
  boost::asio::ssl::context* tls = nullptr;  // of hosts that media are fetched from; none: there are none
};

// Made and called on the strand of its connection.
class Preparation {
 public:
  // show_life: a stream that waits for its model says so to its client.
  using ShowLife = std::function<boost::asio::awaitable<void>(std::shared_ptr<EarlyStream> early)>;
  Preparation(const Preparers& by, boost::asio::any_io_executor strand, ShowLife show_life)
      : by_(by), strand_(std::move(strand)), show_life_(std::move(show_life)) {}

  // The call outlives it. Of one that nobody wants any more, the reply is empty.
  boost::asio::awaitable<Reply> read(const HttpCall& call);
  // Where that reply has a ticket: the next one, once its model has come or gone.
  boost::asio::awaitable<Reply> await_model(const HttpCall& call, Reply reply);
  // Where it says that it is waiting.
  boost::asio::awaitable<Reply> go_on(const HttpCall& call, std::shared_ptr<CompletionPlanner> planner);
  // Nobody wants it any more: what has not begun does not begin.
  void abandon();
  // The server is shutting down: what is being fetched comes too late.
  void hurry();

 private:
  // handle(), or go_on() where there is a planner; ticket: what was waited for.
  struct Work {
    CompletionPlanner* planner = nullptr;
    const ModelTicket* ticket = nullptr;
  };
  boost::asio::awaitable<Reply> run_in_lane(size_t weight, const HttpCall& call, Work work);
  boost::asio::awaitable<std::optional<ApiError>> fetch(const HttpCall& call, CompletionPlanner& planner);

  Preparers by_;
  boost::asio::any_io_executor strand_;
  std::optional<ByteBudget::Hold> body_;     // the memory of one that is not small
  std::optional<ByteBudget::Hold> fetched_;  // and of its media that came from elsewhere
  std::shared_ptr<MediaFetch> fetch_;
  ShowLife show_life_;
  std::shared_ptr<boost::asio::steady_timer> bell_;  // of the model that is waited for
  std::shared_ptr<ModelTicket> ticket_;
  std::atomic<bool> gone_ = false;
};

// handle(), or go_on() where there is a planner. What is thrown there is the standard library's, such as out of memory:
// this request's end, and no other's.
Reply reply_safely(const Preparers& by, const HttpCall& call, CompletionPlanner* planner = nullptr,
                   const ModelTicket* ticket = nullptr);

}  // namespace paceline
