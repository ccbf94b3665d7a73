// POST /v1/responses: what is asked for.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <map>
#include <string>

#include "server/responses/response_store.h"
#include "server/responses/response_tools.h"
#include "server/wire_chat.h"

namespace paceline::responses {

struct ResponsesAsk : ChatAsk {
  boost::json::object given;  // fields that the response gives back
  boost::json::array items;   // of the conversation
  bool is_stored = true;
  bool thinks_in_summary = false;  // thoughts leave as a summary
  bool has_logprobs = false;
  std::map<std::string, ToolName> names;  // of tools, by what the model calls them
};

struct StoreAccess {
  ResponseStore* store = nullptr;
  Owner owner;
};

// What is wrong is said in `problem`; the result is of no use then.
ResponsesAsk read_ask(const boost::json::object& body, const RequestLimits& limits, const StoreAccess& access,
                      FieldProblem& problem);

}  // namespace paceline::responses
