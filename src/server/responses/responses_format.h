// Answers as Responses: items of thoughts, text and calls, whole or in events.
#pragma once

#include <memory>

#include "server/answer_format.h"
#include "server/responses/responses_ask.h"
#include "server/wire.h"

namespace paceline::responses {

struct FormatTerms {
  boost::json::object given;  // of what was asked for: given back
  boost::json::array items;   // of the conversation, for the store
  bool is_stored = false;
  bool thinks_in_summary = false;
  bool has_logprobs = false;
  std::map<std::string, ToolName> names;
  StoreAccess access;
};

// A stream whose model is still to come: its first events, one of them again and again, or its last one.
std::unique_ptr<EarlyStream> make_early_stream(std::string model, boost::json::object given,
                                               std::shared_ptr<SaidEarly> said);
std::string answer_id(const std::string& letters);
std::unique_ptr<AnswerFormat> make_format(const AnswerOrigin& origin, FormatTerms terms);

}  // namespace paceline::responses
