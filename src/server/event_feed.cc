#include "server/event_feed.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "server/model_routes.h"
#include "server/sse.h"

namespace paceline {

void EventLog::add(std::string_view name, const boost::json::object& event) {
  std::string text;
  add_event(name, event, text);
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(text));
  if (events_.size() > kMost) events_.pop_front();
  ++added_;
}

int64_t EventLog::next_number() const {
  const std::lock_guard lock(mutex_);
  return added_;
}

int64_t EventLog::read_since(int64_t number, std::string& out) const {
  const std::lock_guard lock(mutex_);
  const int64_t wanted = std::clamp<int64_t>(added_ - number, 0, static_cast<int64_t>(events_.size()));
  for (auto event = events_.end() - wanted; event != events_.end(); ++event) out += *event;
  return added_;
}

bool EventFeed::names(std::string_view only, std::string_view name) {
  if (only.empty()) return true;
  while (!only.empty()) {
    const size_t end = std::min(only.find(','), only.size());
    if (only.substr(0, end) == name) return true;
    only.remove_prefix(std::min(end + 1, only.size()));
  }
  return false;
}

EventFeed::EventFeed(ModelShelf& shelf, const EventLog& log, const MetricsHistory& history, std::string_view only)
    : shelf_(shelf),
      log_(log),
      history_(history),
      tells_models_(names(only, "model")),
      tells_requests_(names(only, "request")),
      tells_routing_(names(only, "routing")),
      tells_samples_(names(only, "sample")),
      next_event_(log.next_number()),
      next_line_(shelf.next_routing_number()) {}

std::string EventFeed::take() {
  std::string out;
  if (tells_models_) tell_models(out);
  if (tells_requests_) next_event_ = log_.read_since(next_event_, out);
  if (tells_routing_) tell_routing(out);
  if (tells_samples_) tell_sample(out);
  return out;
}

void EventFeed::tell_models(std::string& out) {
  for (const ModelView& view : shelf_.look()) {
    const boost::json::object model = model_object(view, 0);
    const boost::json::object event{{"id", model.at("id")}, {"status", model.at("status")}};
    std::string& told = told_[view.entry.name];
    std::string now = boost::json::serialize(event);
    if (now == told) continue;
    told = std::move(now);
    add_event("model", event, out);
  }
}

void EventFeed::tell_routing(std::string& out) {
  const int64_t next = shelf_.next_routing_number();
  if (next == next_line_) return;
  for (const std::string& line : shelf_.routing_since(next_line_)) out += "event: routing\ndata: " + line + "\n\n";
  next_line_ = next;
}

void EventFeed::tell_sample(std::string& out) {
  const auto sample = history_.newest();
  if (!sample || (*sample)[kTime] <= last_sample_) return;
  last_sample_ = (*sample)[kTime];
  boost::json::object event;
  for (size_t column = 0; column < kHistoryColumns; ++column) {
    const double value = (*sample)[column];
    event[history_column_name(column)] = std::isfinite(value) ? boost::json::value(value) : boost::json::value();
  }
  add_event("sample", event, out);
}

}  // namespace paceline
