// From what a client asked for to what the engine is asked for.
#pragma once

#include <optional>
#include <variant>

#include "server/exchange.h"
#include "server/http_call.h"
#include "server/served_model.h"
#include "server/settings.h"

namespace paceline {

// Reads, checks, renders and encodes: all that can be wrong with a request is found here.
std::variant<ExchangePlan, ApiError> plan_completion(const HttpCall& call, bool chat, ServedModel& model,
                                                     const RequestLimits& limits);

}  // namespace paceline
