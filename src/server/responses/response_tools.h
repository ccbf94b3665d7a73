// Tools of every kind that Responses know, as functions that a model can call.
#pragma once

#include <map>
#include <string>

#include "session/ask_fields.h"
#include "session/tool_offer.h"

namespace paceline::responses {

// How the asker calls a tool, and in which way it is answered.
struct ToolName {
  std::string space, name;
  bool is_custom = false;  // takes a text, and not arguments
};

struct Tools {
  ToolOffer offer;
  std::map<std::string, ToolName> names;  // by what the model calls it
};

// The field tools. What runs elsewhere is left out.
Tools read_tools(AskFields& body);
ToolChoice read_tool_choice(AskFields& body);

}  // namespace paceline::responses
