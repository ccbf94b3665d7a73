// One streamed request to a server, timed as its client sees it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace paceline {

inline constexpr const char* kChatPath = "/v1/chat/completions";

struct LoadOutcome {
  std::string problem;  // "": it went well
  int status = 0;       // HTTP's
  bool cancelled = false;
  double first_ms = 0;          // until the first text came
  double whole_ms = 0;          // until the end
  std::vector<double> gaps_ms;  // between pieces of text
  int64_t pieces = 0;           // of text
  int64_t prompt_tokens = 0, cached_tokens = 0, completion_tokens = 0;
  int64_t rounds = 0, drafted = 0, accepted = 0;
};

struct LoadCall {
  boost::asio::ip::tcp::endpoint server;
  std::string path;
  std::string api_key;                  // "": none
  std::string body;                     // JSON, of a streaming request
  std::optional<int64_t> cancel_after;  // pieces of text, and then the connection is closed
};

// Never throws: what goes wrong is told in the outcome.
boost::asio::awaitable<LoadOutcome> run_load_call(LoadCall call);

// GET; "": it cannot be had.
boost::asio::awaitable<std::string> fetch_text(boost::asio::ip::tcp::endpoint server, const std::string& path,
                                               const std::string& api_key);

}  // namespace paceline
