// All media of a request that stand elsewhere, fetched at once. Made and called on the strand of its connection.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/request.h"
#include "server/api_error.h"
#include "server/byte_budget.h"
#include "server/settings.h"
#include "server/url_fetch.h"
#include "session/chat_messages.h"

namespace paceline {

class MediaFetch : public std::enable_shared_from_this<MediaFetch> {
 public:
  // The limits and held outlive it. held: grows by what is fetched. arrived: of the request, whose time these seconds
  // are part of.
  MediaFetch(boost::asio::any_io_executor strand, boost::asio::ssl::context& tls, const RequestLimits& limits,
             EngineClock::time_point arrived, ByteBudget::Hold& held);

  // Fills in the bytes of those files that have a URL; or says what was wrong with the first that failed, and with it
  // the others end. The files outlive it.
  boost::asio::awaitable<std::optional<ApiError>> run(std::vector<MediaFile>& files);
  // It ends soon, with some error.
  void cancel();

 private:
  boost::asio::awaitable<void> run_one(std::shared_ptr<UrlFetch> fetch, MediaFile& file, size_t number);
  Taken take(size_t bytes);

  boost::asio::any_io_executor strand_;
  boost::asio::ssl::context& tls_;
  const RequestLimits& limits_;
  std::chrono::steady_clock::time_point deadline_;
  boost::asio::steady_timer bell_;
  std::vector<std::shared_ptr<UrlFetch>> fetches_;
  size_t running_ = 0;
  size_t bytes_left_;
  ByteBudget::Hold& held_;
  std::optional<ApiError> problem_;
};

}  // namespace paceline
