#include "server/waiting_calls.h"

#include "server/request_ledger.h"

namespace paceline {

WaitingCalls::Place::~Place() {
  const std::lock_guard lock(calls_.mutex_);
  calls_.entries_.erase(entry_);
}

std::unique_ptr<WaitingCalls::Place> WaitingCalls::add(const HttpCall& call, const Asked& asked,
                                                       const std::shared_ptr<ModelTicket>& ticket) {
  const std::lock_guard lock(mutex_);
  entries_.push_back({asked.id, call.path, call.address, asked.model, asked.key, call.arrived, ticket});
  return std::make_unique<Place>(*this, std::prev(entries_.end()));
}

boost::json::object WaitingCalls::record_of(const Entry& entry, const std::string& end) {
  Exchange::Progress progress;
  progress.id = entry.id;
  progress.age_s = progress.queued_s = std::chrono::duration<double>(EngineClock::now() - entry.arrived).count();
  progress.has_ended = !end.empty();
  progress.end = end;
  const char* state = end.empty() ? "loading" : "";
  return request_record({entry.route, entry.client, entry.model, entry.key, 0, state}, progress);
}

boost::json::array WaitingCalls::records() const {
  const std::lock_guard lock(mutex_);
  boost::json::array made;
  for (const Entry& entry : entries_) made.push_back(record_of(entry, ""));
  return made;
}

bool WaitingCalls::cancel(std::string_view id, const ApiError& why) {
  std::shared_ptr<ModelTicket> ticket;
  {
    const std::lock_guard lock(mutex_);
    for (const Entry& entry : entries_)
      if (entry.id == id) ticket = entry.ticket.lock();
  }
  if (ticket != nullptr) ticket->settle(nullptr, why);
  return ticket != nullptr;
}

}  // namespace paceline
