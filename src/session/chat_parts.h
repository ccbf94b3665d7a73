// A conversation to be answered, as those who ask write it in JSON: messages with their media, tools and which of them
// to call, the form of the answer, what else the model's template is told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "session/ask_fields.h"
#include "session/callable_tools.h"
#include "session/chat_messages.h"
#include "session/chat_request.h"
#include "session/output_forms.h"
#include "session/tool_offer.h"

namespace paceline {

struct ChatParts {
  ChatRequest chat;                // as templates want it: arguments of calls are objects, pictures are places
  std::vector<MediaFile> media;    // pictures and clips, in the order of their places
  int32_t picture_tokens = 0;      // soft tokens that each picture may become; 0: what the model's files say
  bool reads_calls = false;        // tools were given, and may be called
  CallableTools tools;             // those
  std::optional<OutputForm> form;  // that the answer must have
  std::optional<bool> thinks;      // as the asker has it
  int32_t thought_tokens = 0;      // most of a thought, which then ends; 0: no limit

  // As Gemma's and Qwen's templates understand it.
  void set_thinking(bool wanted) {
    chat.variables["enable_thinking"] = wanted;
    thinks = wanted;
  }
};

// The answer must have this form, or be calls of the tools that the parts offer already.
void demand_form(OutputForm form, ChatParts& parts);

// The field tools.
ToolOffer read_function_tools(AskFields& body);

// What there may be.
struct ChatTerms {
  int32_t messages = 0;
  MediaTerms media = {};
  // What the template's variables are called where they are asked for; lives as long as the fields.
  const char* variables = "chat_template_kwargs";
};

// The fields messages, tools, tool_choice, parallel_tool_calls, response_format, reasoning_effort, chat_template_kwargs
// and mm_processor_kwargs, as OpenAI's clients and vLLM's write them. What is wrong is said in the fields' problem; the
// result is of no use then.
ChatParts read_chat_parts(AskFields& fields, const ChatTerms& terms);

}  // namespace paceline
