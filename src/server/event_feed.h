// What happens in the server, told to whoever looks on (GET /v1/events): requests that begin and end, how models fare,
// what is decided about drafts, and once a second what /metrics has.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "server/history.h"
#include "server/model_shelf.h"

namespace paceline {

// The last events, numbered. May be used by several threads.
class EventLog {
 public:
  void add(std::string_view name, const boost::json::object& event);
  // The number that the next one gets.
  [[nodiscard]] int64_t next_number() const;
  // Those from a number on, as a stream has them; the number behind them. Of more than are kept, the last.
  int64_t read_since(int64_t number, std::string& out) const;

 private:
  static constexpr size_t kMost = 4096;
  mutable std::mutex mutex_;
  std::deque<std::string> events_;
  int64_t added_ = 0;
};

// What one client has been told. From its making on; of models, how they are then.
class EventFeed {
 public:
  // All outlive it.
  // only: names of events, separated by commas; "": all.
  EventFeed(ModelShelf& shelf, const EventLog& log, const MetricsHistory& history, std::string_view only);

  // Everything since the last call, as events of a stream; "": nothing.
  [[nodiscard]] std::string take();

 private:
  [[nodiscard]] static bool names(std::string_view only, std::string_view name);
  void tell_models(std::string& out);
  void tell_routing(std::string& out);
  void tell_sample(std::string& out);

  ModelShelf& shelf_;
  const EventLog& log_;
  const MetricsHistory& history_;
  bool tells_models_, tells_requests_, tells_routing_, tells_samples_;
  int64_t next_event_, next_line_;
  double last_sample_ = 0;
  std::map<std::string, std::string> told_;  // of models
};

}  // namespace paceline
