// What becomes of a call: an answer, or somebody to wait for.
#pragma once

#include <memory>
#include <string>

#include "server/completion_plan.h"
#include "server/event_feed.h"
#include "server/exchange.h"
#include "server/http_call.h"
#include "server/model_ticket.h"

namespace paceline {

// An answer, or an exchange that will have one, or a request whose media come first, or that is more work than its body
// says, or one whose model is still to come (or to go); or what happens in the server, on and on.
struct Reply {
  HttpAnswer answer;
  std::shared_ptr<Exchange> exchange = nullptr;
  std::shared_ptr<CompletionPlanner> waiting = nullptr;
  std::shared_ptr<ModelTicket> ticket = nullptr;
  std::shared_ptr<EventFeed> feed = nullptr;     // that the client looks on at, as long as it likes
  std::string model = {};                        // whose ticket it is
  std::string id = {};                           // of the answer, once it is there; "": it is none of a model
  std::shared_ptr<EarlyStream> early = nullptr;  // of a stream that waits for it; none: it shows nothing
};

}  // namespace paceline
