#include "session/choice_output.h"

#include <algorithm>

namespace paceline {
namespace {

OutputEnd end_of(EndReason reason, const OutputParser& parser) {
  switch (reason) {
    case EndReason::listener:
      if (!parser.stopped()) return OutputEnd::cancelled;
      [[fallthrough]];
    case EndReason::stop_id: return parser.calls() > 0 ? OutputEnd::tool_calls : OutputEnd::stop;
    case EndReason::max_tokens: return OutputEnd::length;
    case EndReason::context: return OutputEnd::context;
    case EndReason::cancelled: return OutputEnd::cancelled;
    case EndReason::deadline: return OutputEnd::deadline;
    case EndReason::failed: break;
  }
  return OutputEnd::failed;
}

}  // namespace

const char* output_end_name(OutputEnd end) {
  switch (end) {
    case OutputEnd::none: return "";
    case OutputEnd::stop: return "stop";
    case OutputEnd::length:
    case OutputEnd::context: return "length";
    case OutputEnd::tool_calls: return "tool_calls";
    case OutputEnd::cancelled: return "cancelled";
    case OutputEnd::deadline: return "deadline";
    case OutputEnd::failed: return "failed";
  }
  return "?";
}

void ChoiceOutput::note_prompt(const Event& event, Usage& usage) {
  // Choices share the prompt: it is counted with the first.
  if (event.choice != 0 || event.cached <= cached_) return;
  usage.cached_tokens += event.cached - cached_;
  cached_ = event.cached;
}

bool ChoiceOutput::push(const NewToken& token, Usage& usage) {
  // Counted as they are handed on, so that nothing which a reader may see is missing, however it ends.
  ++usage.completion_tokens;
  return parser_.push(token, unheard_);
}

void ChoiceOutput::finish(const SequenceEnd& end, Usage& usage) {
  if (end_ != OutputEnd::none) return;
  parser_.finish(unheard_);
  end_ = end_of(end.reason, parser_);
  if (end_ == OutputEnd::length && fills_context_) end_ = OutputEnd::context;
  problem_ = end.problem;
  usage.reasoning_tokens += parser_.thought_tokens();
  usage.speculation += end.counters;
  usage.prompt_ms = std::max(usage.prompt_ms, end.prompt_ms);
  usage.decode_ms = std::max(usage.decode_ms, end.decode_ms);
}

}  // namespace paceline
