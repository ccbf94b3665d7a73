#include "server/waiting_calls.h"

#include "server/request_ledger.h"

namespace paceline {

WaitingCalls::Place::~Place() {
  const std::lock_guard lock(calls_.mutex_);
  calls_.entries_.erase(entry_);
}

std::unique_ptr<WaitingCalls::Place> WaitingCalls::add(const HttpCall& call, std::optional<size_t> key,
                                                       const std::string& model,
                                                       const std::shared_ptr<ModelTicket>& ticket) {
  const std::lock_guard lock(mutex_);
  entries_.push_back({call.id, call.path, call.address, model, key, call.arrived, ticket});
  return std::make_unique<Place>(*this, std::prev(entries_.end()));
}

boost::json::array WaitingCalls::records() const {
  const std::lock_guard lock(mutex_);
  boost::json::array made;
  for (const Entry& entry : entries_) {
    Exchange::Progress progress;
    progress.id = entry.id;
    progress.age_s = progress.queued_s = std::chrono::duration<double>(EngineClock::now() - entry.arrived).count();
    made.push_back(request_record({entry.route, entry.client, entry.model, entry.key, 0, "loading"}, progress));
  }
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
