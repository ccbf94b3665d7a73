#include "server/media_decoding.h"

#include <fmt/format.h>

#include <cstdint>
#include <exception>
#include <functional>

#include "media/refusal_codes.h"

namespace paceline {
namespace {

namespace asio = boost::asio;

// A photograph as screens show it; decoding takes 40 MB at most.
constexpr size_t kSmallMediumBytes = size_t{40} << 20;
constexpr int kNiceDecoding = 10;

// What is thrown there is the standard library's: there was no memory after all.
size_t decode_safely(CompletionPlanner& planner, size_t number, size_t most_bytes, const std::function<bool()>& stops) {
  if (stops()) return 0;
  try {
    return planner.decode(number, most_bytes, stops);
  } catch (const std::exception&) {
    planner.refuse_medium(number, {"there is no room for it", kTooLarge});
    return 0;
  }
}

}  // namespace

MediaDecoding::MediaDecoding(const ServerSettings& settings)
    : budget_(settings.decode_bytes),
      decoded_(settings.decode_bytes),
      small_("small pictures", settings.decode_threads, kNiceDecoding),
      large_("large pictures", settings.decode_threads, kNiceDecoding) {}

asio::awaitable<std::optional<ByteBudget::Hold>> MediaDecoding::run(CompletionPlanner& planner,
                                                                    const std::atomic<bool>& gone) {
  // All at once: whoever had some and waited for more could wait for one who does the same.
  const size_t bytes = planner.decoded_bytes();
  if (bytes > decoded_.bytes()) {
    planner.refuse_medium(0, {fmt::format("with the others it may become {} bytes; this server has {} for what was "
                                          "decoded (its option --decode-bytes)",
                                          bytes, decoded_.bytes()),
                              kTooLarge});
    co_return std::nullopt;
  }
  std::optional<ByteBudget::Hold> held(co_await decoded_.take(bytes));
  for (size_t i = 0; i < planner.media().size() && planner.is_good() && !gone; ++i) {
    co_await decode(planner, i, gone);
  }
  co_return held;
}

asio::awaitable<void> MediaDecoding::decode(CompletionPlanner& planner, size_t number, const std::atomic<bool>& gone) {
  const auto within = [this, &planner, &gone, number](size_t most_bytes) {
    return [this, &planner, &gone, number, most_bytes] {
      return decode_safely(planner, number, most_bytes, [this, &gone] { return gone || stopping_; });
    };
  };
  const size_t needed = co_await small_.run(within(kSmallMediumBytes));
  if (needed == 0 || gone) co_return;
  if (needed > budget_.bytes()) {
    planner.refuse_medium(number, {fmt::format("decoding it may take {} bytes of memory; this server has {} for it "
                                               "(its option --decode-bytes)",
                                               needed, budget_.bytes()),
                                   kTooLarge});
    co_return;
  }
  const ByteBudget::Hold hold = co_await budget_.take(needed);
  co_await large_.run(within(SIZE_MAX));
}

void MediaDecoding::stop() {
  stopping_ = true;
  small_.stop();
  large_.stop();
}

}  // namespace paceline
