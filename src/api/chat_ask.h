// A conversation as callers of the C interface write it, read as all conversations are.
#pragma once

#include <paceline/paceline.h>

#include <boost/json/object.hpp>
#include <span>

#include "session/chat_parts.h"
#include "session/field_problem.h"

namespace paceline::api {

// What stands in a request beside its conversation, as fields of the same body.
struct BesideChat {
  const char* response_format_json = nullptr;
  const char* tool_choice = nullptr;
  bool one_call = false;
  int32_t picture_tokens = 0;
  int32_t pictures = 0, clips = 0;  // that come from beside
};

// What is wrong is said in `problem`; the result is of no use then.
ChatParts read_chat(const paceline_chat& chat, const BesideChat& beside, FieldProblem& problem);

}  // namespace paceline::api
