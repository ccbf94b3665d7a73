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
// prompt: a string, a list of ids, or a list of either, so many as can be completed at once.
void read_prompts(AskFields& fields, int32_t most, int32_t choices, std::vector<CompletionPrompt>& prompts);
CompletionAsk read_completion(const boost::json::object& body, const RequestLimits& limits, FieldProblem& problem);

}  // namespace paceline
