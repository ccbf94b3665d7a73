#include "server/media_fetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <exception>

#include "media/formats.h"
#include "media/video.h"
#include "server/await.h"

namespace paceline {
namespace {

namespace asio = boost::asio;

std::chrono::steady_clock::time_point end_of(EngineClock::time_point begin, double seconds) {
  return begin + std::chrono::duration_cast<EngineClock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

MediaFetch::MediaFetch(asio::any_io_executor strand, asio::ssl::context& tls, const RequestLimits& limits,
                       EngineClock::time_point arrived, ByteBudget::Hold& held)
    : strand_(std::move(strand)),
      tls_(tls),
      limits_(limits),
      deadline_(end_of(EngineClock::now(), limits.media_s)),
      bell_(strand_, asio::steady_timer::time_point::max()),
      bytes_left_(limits.media_bytes),
      held_(held) {
  if (limits.request_s > 0) deadline_ = std::min(deadline_, end_of(arrived, limits.request_s));
}

asio::awaitable<std::optional<ApiError>> MediaFetch::run(std::vector<MediaFile>& files) {
  for (size_t i = 0; i < files.size(); ++i) {
    if (files[i].url.empty()) continue;
    const size_t most = std::min(files[i].is_video ? ClipLimits{}.bytes : PictureLimits{}.bytes, limits_.media_bytes);
    const auto takes = [this](size_t bytes) { return take(bytes); };
    auto fetch = std::make_shared<UrlFetch>(strand_, tls_, FetchTerms{limits_.media_hosts, most, deadline_, takes});
    fetches_.push_back(fetch);
    ++running_;
    asio::co_spawn(
        strand_, [self = shared_from_this(), fetch, &file = files[i], i] { return self->run_one(fetch, file, i); },
        asio::detached);
  }
  while (running_ > 0) co_await bell_.async_wait(kAwaitTuple);
  co_return problem_;
}

void MediaFetch::cancel() {
  for (const auto& fetch : fetches_) fetch->cancel();
}

Taken MediaFetch::take(size_t bytes) {
  if (bytes > bytes_left_) return Taken::too_much;
  if (!held_.try_grow(bytes)) return Taken::no_room;
  bytes_left_ -= bytes;
  return Taken::well;
}

asio::awaitable<void> MediaFetch::run_one(std::shared_ptr<UrlFetch> fetch, MediaFile& file, size_t number) {
  Fetched fetched;
  try {
    // It was read before; what is wrong with it has been said then.
    auto url = read_media_url(file.url);
    if (url.ok()) {
      fetched = co_await fetch->run(std::move(*url));
    } else {
      fetched.problem = url.error().message;
    }
  } catch (const std::exception&) {
    fetched.problem = "there is no room for it";  // memory
  }
  if (fetched.problem.empty()) {
    file.bytes = std::move(fetched.bytes);
  } else if (fetched.found_no_room && !problem_) {
    problem_ = too_busy("too many bytes of media are being fetched for other requests; try again later");
    cancel();
  } else if (!problem_) {
    problem_ =
        api_error(bad_field(file.field, fmt::format("{} {} of the request: {}", file.is_video ? "video" : "image",
                                                    number, fetched.problem)));
    problem_->code = "media_not_fetched";
    cancel();
  }
  --running_;
  bell_.cancel();
}

}  // namespace paceline
