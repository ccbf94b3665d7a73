// POST /tokenize and /detokenize.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <vector>

#include "server/settings.h"
#include "server/wire_completions.h"
#include "session/ask_fields.h"
#include "session/chat_request.h"
#include "tensor/dtype.h"

namespace paceline {

struct TokenizeAsk {
  std::string model;
  std::vector<CompletionPrompt> prompts;  // one behind the other
  std::optional<ChatRequest> chat;        // instead of them
  bool add_special = true;
};
// Whether a body has nothing but what read_tokenize() reads; others are of a wire.
bool is_tokenize(const boost::json::object& body);
TokenizeAsk read_tokenize(const boost::json::object& body, const RequestLimits& limits, FieldProblem& problem);

struct DetokenizeAsk {
  std::string model;
  std::vector<TokenId> ids;
};
DetokenizeAsk read_detokenize(const boost::json::object& body, FieldProblem& problem);

}  // namespace paceline
