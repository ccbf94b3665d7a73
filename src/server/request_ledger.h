// The requests that ran last, and those that run: how they fare, and never what they say.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

#include "server/exchange.h"

namespace paceline {

// Whose it is, and what it came for.
struct RequestOrigin {
  std::string route, client, model;
  std::optional<size_t> key;
  int32_t max_tokens = 0;  // 0: not known yet
  const char* state = "";  // "": as the progress says
};

// Of one that waits, runs, or has ended.
boost::json::object request_record(const RequestOrigin& origin, const Exchange::Progress& progress);

// May be used by several threads.
class RequestLedger {
 public:
  void add(boost::json::object ended);
  struct Ended {
    boost::json::array records;  // the newest first
    int64_t next = 0;            // the number to ask with for those that come later
  };
  // Of the last ones, those behind so many.
  [[nodiscard]] Ended ended_since(int64_t number) const;

  static constexpr size_t kMost = 200;

 private:
  mutable std::mutex mutex_;
  std::deque<boost::json::object> ended_;
  int64_t added_ = 0;
};

}  // namespace paceline
