#include "server/responses/response_item.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <utility>

namespace paceline::responses {
namespace {

namespace json = boost::json;

// What the events of texts are called.
struct TextEvents {
  const char *part_added, *delta, *done, *part_done, *index;
};
constexpr TextEvents kMessageEvents{"response.content_part.added", "response.output_text.delta",
                                    "response.output_text.done", "response.content_part.done", "content_index"};
constexpr TextEvents kReasoningEvents{"response.content_part.added", "response.reasoning_text.delta",
                                      "response.reasoning_text.done", "response.content_part.done", "content_index"};
constexpr TextEvents kSummaryEvents{"response.reasoning_summary_part.added", "response.reasoning_summary_text.delta",
                                    "response.reasoning_summary_text.done", "response.reasoning_summary_part.done",
                                    "summary_index"};

const TextEvents& events_of(OutputItem::Kind kind) {
  if (kind == OutputItem::Kind::message) return kMessageEvents;
  return kind == OutputItem::Kind::summary ? kSummaryEvents : kReasoningEvents;
}

const char* id_kind(OutputItem::Kind kind, const ToolName& tool) {
  switch (kind) {
    case OutputItem::Kind::reasoning:
    case OutputItem::Kind::summary: return "rs";
    case OutputItem::Kind::message: return "msg";
    case OutputItem::Kind::call: break;
  }
  return tool.is_custom ? "ctc" : "fc";
}

}  // namespace

OutputItem::OutputItem(Kind kind, const std::string& letters, size_t index, const ToolName& tool)
    : kind_(kind),
      id_(fmt::format("{}_{}_{}", id_kind(kind, tool), letters, index)),
      call_id_(fmt::format("call_{}_{}", letters, index)),
      index_(index),
      tool_(tool) {}

json::object OutputItem::about(json::object fields) const {
  json::object made{{"item_id", id_}, {"output_index", index_}};
  for (auto& field : fields) made[field.key()] = std::move(field.value());
  return made;
}

json::object OutputItem::part(const std::string& text) const {
  switch (kind_) {
    case Kind::reasoning: return {{"type", "reasoning_text"}, {"text", text}};
    case Kind::summary: return {{"type", "summary_text"}, {"text", text}};
    default: return {{"type", "output_text"}, {"text", text}, {"annotations", json::array()}, {"logprobs", logprobs_}};
  }
}

json::object OutputItem::object(const char* status) const {
  const bool has_text = !text_.empty();
  const json::array parts = has_text ? json::array{part(text_)} : json::array();
  switch (kind_) {
    case Kind::reasoning:
    case Kind::summary:
      return {{"id", id_},
              {"type", "reasoning"},
              {"status", status},
              {"summary", kind_ == Kind::summary ? parts : json::array()},
              {"content", kind_ == Kind::summary ? json::array() : parts},
              {"encrypted_content", nullptr}};
    case Kind::message:
      return {{"id", id_}, {"type", "message"}, {"status", status}, {"role", "assistant"}, {"content", parts}};
    case Kind::call: break;
  }
  json::object made{{"id", id_},
                    {"type", tool_.is_custom ? "custom_tool_call" : "function_call"},
                    {"status", status},
                    {"call_id", call_id_},
                    {"name", tool_.name}};
  if (!tool_.space.empty()) made["namespace"] = tool_.space;
  if (tool_.is_custom) {
    made["input"] = call_input();
  } else {
    made["arguments"] = text_;
  }
  return made;
}

std::string OutputItem::call_input() const {
  json::error_code failed;
  const json::value arguments = json::parse(text_, failed);
  const json::object* object = failed ? nullptr : arguments.if_object();
  const json::value* input = object != nullptr ? object->if_contains("input") : nullptr;
  return input != nullptr && input->is_string() ? std::string(input->get_string()) : "";
}

void OutputItem::begin(const Emit& emit) const {
  emit("response.output_item.added", {{"output_index", index_}, {"item", object("in_progress")}});
  if (kind_ == Kind::call) return;
  const TextEvents& events = events_of(kind_);
  emit(events.part_added, about({{events.index, 0}, {"part", part("")}}));
}

void OutputItem::add(std::string_view text, const json::array& logprobs, const Emit& emit) {
  text_ += text;
  for (const json::value& each : logprobs) logprobs_.push_back(each);
  if (kind_ == Kind::call) {
    // What a tool with a text takes is known when all of it is.
    if (!tool_.is_custom) emit("response.function_call_arguments.delta", about({{"delta", text}}));
    return;
  }
  const TextEvents& events = events_of(kind_);
  json::object fields = about({{events.index, 0}, {"delta", text}});
  if (kind_ == Kind::message) fields["logprobs"] = logprobs;
  emit(events.delta, std::move(fields));
}

void OutputItem::finish_text(const Emit& emit) const {
  const TextEvents& events = events_of(kind_);
  json::object fields = about({{events.index, 0}, {"text", text_}});
  if (kind_ == Kind::message) fields["logprobs"] = logprobs_;
  emit(events.done, std::move(fields));
  emit(events.part_done, about({{events.index, 0}, {"part", part(text_)}}));
}

void OutputItem::finish_call(const Emit& emit) const {
  if (!tool_.is_custom)
    return emit("response.function_call_arguments.done", about({{"arguments", text_}, {"name", tool_.name}}));
  const std::string input = call_input();
  emit("response.custom_tool_call_input.delta", about({{"delta", input}}));
  emit("response.custom_tool_call_input.done", about({{"input", input}}));
}

json::object OutputItem::finish(bool complete, const Emit& emit) {
  kind_ == Kind::call ? finish_call(emit) : finish_text(emit);
  json::object whole = object(complete ? "completed" : "incomplete");
  emit("response.output_item.done", {{"output_index", index_}, {"item", whole}});
  return whole;
}

}  // namespace paceline::responses
