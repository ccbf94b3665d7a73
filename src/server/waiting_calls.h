// Requests whose model is still to come: who they are, and a way to end them.
#pragma once

#include <boost/json/array.hpp>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "server/http_call.h"
#include "server/model_ticket.h"

namespace paceline {

// May be used by several threads; outlives the places that it gives.
class WaitingCalls {
  struct Entry {
    std::string id, route, client, model;
    std::optional<size_t> key;
    EngineClock::time_point arrived;
    std::weak_ptr<ModelTicket> ticket;
  };

 public:
  // In the list as long as this is.
  class Place {
   public:
    Place(WaitingCalls& calls, std::list<Entry>::iterator entry) : calls_(calls), entry_(entry) {}
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place();
    // As one that has ended so has it.
    [[nodiscard]] boost::json::object record(const std::string& end) const { return record_of(*entry_, end); }

   private:
    WaitingCalls& calls_;
    std::list<Entry>::iterator entry_;
  };
  // How its answer will be called, which of the server's keys it has, and the model that it waits for.
  struct Asked {
    std::string id;
    std::optional<size_t> key;
    std::string model;
  };
  std::unique_ptr<Place> add(const HttpCall& call, const Asked& asked, const std::shared_ptr<ModelTicket>& ticket);

  // As those that run have them, the oldest first.
  [[nodiscard]] boost::json::array records() const;
  // False: none is called so.
  bool cancel(std::string_view id, const ApiError& why);

 private:
  // end: how it ended; "": it waits.
  static boost::json::object record_of(const Entry& entry, const std::string& end);

  mutable std::mutex mutex_;
  std::list<Entry> entries_;
};

}  // namespace paceline
