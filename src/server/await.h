// How the server's coroutines wait: what failed comes back beside the result, and nothing is thrown.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace paceline {

inline constexpr auto kAwaitTuple = boost::asio::as_tuple(boost::asio::use_awaitable);

inline boost::asio::steady_timer::duration seconds(double value) {
  return std::chrono::duration_cast<boost::asio::steady_timer::duration>(std::chrono::duration<double>(value));
}

}  // namespace paceline
