// From what a client asked for to what the engine is asked for.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "server/exchange.h"
#include "server/http_call.h"
#include "server/served_model.h"
#include "server/settings.h"
#include "server/wire_messages.h"

namespace paceline {

// Reads, checks, renders and encodes: all that can be wrong with a request is found here. In two steps, since between
// them somebody may have to fetch media. Both take a while; they need not be called by the same thread.
class CompletionPlanner {
 public:
  virtual ~CompletionPlanner() = default;
  // What can be known without the media. False: something is wrong, and finish() says what.
  virtual bool read() = 0;
  // Those with a URL are to be given their bytes before finish().
  virtual std::vector<MediaFile>& media() = 0;
  virtual std::variant<ExchangePlan, ApiError> finish() = 0;

  [[nodiscard]] bool needs_media();
};

// All outlive it.
std::shared_ptr<CompletionPlanner> make_planner(const HttpCall& call, bool chat, ServedModel& model,
                                                const RequestLimits& limits);

}  // namespace paceline
