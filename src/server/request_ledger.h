// The requests that ran last, and those that run: how they fare, and never what they say.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <deque>
#include <mutex>
#include <string>

#include "server/exchange.h"

namespace paceline {

// Of one that runs, or has ended.
boost::json::object request_record(const std::string& route, const Exchange::Progress& progress);

// May be used by several threads.
class RequestLedger {
 public:
  void add(boost::json::object ended);
  // The newest first.
  [[nodiscard]] boost::json::array recent() const;

 private:
  static constexpr size_t kMost = 200;
  mutable std::mutex mutex_;
  std::deque<boost::json::object> ended_;
};

}  // namespace paceline
