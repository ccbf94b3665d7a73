// POST /v1/completions: a text, or tokens, to be continued.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "server/wire_ask.h"

namespace paceline {

struct CompletionPrompt {
  std::string text;
  std::vector<TokenId> ids;  // instead of the text, where there are any
};

struct CompletionAsk : Ask {
  std::vector<CompletionPrompt> prompts;  // each is continued
};

// What is wrong is said in `problem`; the result is of no use then.
CompletionAsk read_completion(const boost::json::object& body, const RequestLimits& limits, FieldProblem& problem);

}  // namespace paceline
