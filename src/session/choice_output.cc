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

void ChoiceOutput::trace_since(const Heights& before) {
  for (size_t i = before.deltas > 0 ? before.deltas - 1 : 0; i < unheard_.size(); ++i) {
    OutputDelta& delta = unheard_[i];
    const bool is_new = i >= before.deltas;
    if (is_new && before.deltas + i > 0) tracer_->begin_other();
    const size_t known = is_new ? 0 : before.bytes;
    if (delta.kind != OutputDelta::Kind::content && delta.kind != OutputDelta::Kind::reasoning) continue;
    if (delta.text.size() > known) tracer_->take_text(std::string_view(delta.text).substr(known), delta.spans);
  }
}

void ChoiceOutput::note_prompt(const Event& event, Usage& usage) {
  if (tracer_) tracer_->note_round(event);
  if (keeps_rounds_ && event.round != nullptr) {
    RoundCount round{event.drafted, 0};
    for (const NewToken& token : event.tokens) round.accepted += token.origin == TokenOrigin::accepted ? 1 : 0;
    usage.rounds.push_back(round);
  }
  // Choices share the prompt: it is counted with the first.
  if (event.choice == 0 && event.prompt_done > 0) usage.missed = event.missed;
  if (event.choice != 0 || event.cached <= cached_) return;
  usage.cached_tokens += event.cached - cached_;
  cached_ = event.cached;
}

bool ChoiceOutput::push(const NewToken& token, Usage& usage) {
  // Counted as they are handed on, so that nothing which a reader may see is missing, however it ends.
  ++usage.completion_tokens;
  if (!tracer_) return parser_.push(token, unheard_);
  const Heights before = heights();
  tracer_->push(token);
  const bool goes_on = parser_.push(token, unheard_);
  trace_since(before);
  return goes_on;
}

void ChoiceOutput::finish(const SequenceEnd& end, Usage& usage) {
  if (end_ != OutputEnd::none) return;
  const Heights before = heights();
  parser_.finish(unheard_);
  if (tracer_) trace_since(before);
  end_ = end_of(end.reason, parser_);
  if (end_ == OutputEnd::length && fills_context_) end_ = OutputEnd::context;
  problem_ = end.problem;
  usage.reasoning_tokens += parser_.thought_tokens();
  usage.speculation += end.counters;
  usage.prompt_ms = std::max(usage.prompt_ms, end.prompt_ms);
  usage.decode_ms = std::max(usage.decode_ms, end.decode_ms);
}

}  // namespace paceline
