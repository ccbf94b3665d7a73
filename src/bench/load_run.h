// A load on a server, as many clients would make it: so many at once, each followed by the next when it is done
// (closed), or coming by chance at a rate, whether the server keeps up or not (open).
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/load_client.h"
#include "bench/load_mix.h"

namespace paceline {

struct LoadPlanOfClients {
  boost::asio::ip::tcp::endpoint server;
  std::string api_key;
  int32_t requests = 64;
  int32_t at_once = 1;     // closed
  double per_second = 0;   // open: above 0
  bool speculates = true;  // what the requests ask for
  LoadMix mix;
  std::function<void(int64_t done, int64_t total)> progress;
  std::function<bool()> stopped = {};  // asked before each request: no more then, and what is open ends
};

struct LoadRun {
  std::vector<LoadOutcome> outcomes;
  double seconds = 0;
  double kv_peak = 0;  // share of the server's KV memory, as its metrics say
  int32_t most_open = 0;
  // Of the server's steps: how long they took, and how long a device had nothing to do between them.
  double busy_s = 0, idle_s = 0;

  [[nodiscard]] int64_t tokens() const;
  [[nodiscard]] int64_t failed() const;
  // Of one stream, without its prompt: tokens behind the first, by the time from the first text to the end.
  [[nodiscard]] double decode_per_s() const;
  // All tokens by all the time.
  [[nodiscard]] double tokens_per_s() const { return seconds > 0 ? static_cast<double>(tokens()) / seconds : 0; }
};

LoadRun run_load(const LoadPlanOfClients& plan);

// Milliseconds until the first text of a prompt with a beginning that the server has not seen, and of another one with
// the same beginning; one after the other, some times.
struct PrefixRun {
  std::vector<double> miss_ms, hit_ms;
  int64_t prompt_tokens = 0, cached_tokens = 0;  // of the last hit
  std::string problem;
};
PrefixRun run_prefixes(const LoadPlanOfClients& plan, int32_t words, int32_t times);

}  // namespace paceline
