// How long a model is to stay, as Ollama's clients say it; and requests that want nothing but that it comes or goes.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "session/field_problem.h"

namespace paceline::ollama {

struct Presence {
  std::optional<double> idle_s;  // 0: it never goes by itself
  bool is_all = false;           // there is nothing to answer
  bool unloads = false;          // it goes at once
};

// Of the body of /api/chat or /api/generate; what is wrong with the rest of it is for others to say.
Presence read_presence(std::string_view body, bool chat, FieldProblem& problem);

// "90", 90, "1m30s", "-1" (for ever): in seconds; none: it is no such time.
std::optional<double> read_duration(const boost::json::value& said);

// The answer to such a request.
boost::json::object presence_object(const std::string& model, bool chat, bool unloads);

}  // namespace paceline::ollama
