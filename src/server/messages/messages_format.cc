#include "server/messages/messages_format.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "server/messages/messages_error.h"
#include "server/wire_answer.h"
#include "session/fingerprint.h"

namespace paceline::messages {
namespace {

namespace json = boost::json;

json::object usage_of(const Usage& usage) {
  // The three of the input add up to the prompt.
  return {{"input_tokens", usage.prompt_tokens - usage.cached_tokens},
          {"cache_creation_input_tokens", 0},
          {"cache_read_input_tokens", usage.cached_tokens},
          {"output_tokens", usage.completion_tokens},
          {"output_tokens_details", {{"thinking_tokens", usage.reasoning_tokens}}},
          {"service_tier", "standard"},
          {"speculative", speculative_object(usage.speculation)}};
}

const char* stop_reason(const ChoiceNews& news) {
  switch (news.end) {
    case OutputEnd::tool_calls: return "tool_use";
    case OutputEnd::length: return "max_tokens";
    case OutputEnd::context: return "model_context_window_exceeded";
    default: return news.stop_string.empty() ? "end_turn" : "stop_sequence";
  }
}

// What a client hands back with a thought, and nobody reads.
std::string signature_of(const std::string& thought) {
  const auto digest = fingerprint_of(std::as_bytes(std::span(thought)));
  return digest.ok() ? fmt::format("{:016x}{:016x}", (*digest)[0], (*digest)[1]) : "unsigned";
}

// Of a call that was cut off there is nothing that could be read.
json::value input_of(const std::string& arguments) {
  json::error_code failed;
  json::value input = json::parse(arguments, failed);
  if (failed || !input.is_object()) return json::object();
  return input;
}

class MessagesFormat final : public AnswerFormat {
 public:
  explicit MessagesFormat(const AnswerOrigin& origin) : letters_(origin.letters()), model_(origin.model) {
    id_ = answer_id(letters_);
  }

  [[nodiscard]] const std::string& id() const override { return id_; }

  void open(const Usage& usage, std::string& out) override {
    add_event("message_start", {{"type", "message_start"}, {"message", message({}, usage)}}, out);
    show_life(out);
  }

  void tell(int32_t, const ChoiceNews& news, const Usage&, std::string& out) override {
    out_ = &out;
    take(news);
  }

  void close(const Usage& usage, const std::optional<ApiError>& problem, std::string& out) override {
    out_ = &out;
    end_block();
    json::object delta{{"stop_reason", or_null(stop_reason_)}, {"stop_sequence", or_null(stop_sequence_)}};
    if (problem) delta["stop_reason"] = nullptr;
    emit("message_delta", {{"delta", std::move(delta)}, {"usage", usage_of(usage)}});
    if (problem) {
      add_event("error", error_object(*problem, id_), out);
    } else {
      emit("message_stop", {});
    }
  }

  void show_life(std::string& out) override { add_event("ping", {{"type", "ping"}}, out); }

  std::string whole(const std::vector<ChoiceNews>& choices, const Usage& usage) override {
    out_ = nullptr;
    take(choices.front());
    end_block();
    return json::serialize(message(std::move(content_), usage));
  }

  std::string failed(const ApiError& error, const Usage&) override { return json::serialize(error_object(error, id_)); }

 private:
  enum class Block : uint8_t { none, text, thinking, call };

  static json::value or_null(const std::string& text) { return text.empty() ? json::value() : json::value(text); }

  [[nodiscard]] json::object message(json::array content, const Usage& usage) const {
    return {{"id", id_},
            {"type", "message"},
            {"role", "assistant"},
            {"model", model_},
            {"content", std::move(content)},
            {"stop_reason", or_null(stop_reason_)},
            {"stop_sequence", or_null(stop_sequence_)},
            {"stop_details", nullptr},
            {"container", nullptr},
            {"usage", usage_of(usage)}};
  }

  // Of a whole answer there are none.
  void emit(const char* type, json::object fields) const {
    if (out_ == nullptr) return;
    json::object event{{"type", type}};
    for (auto& field : fields) event[field.key()] = std::move(field.value());
    add_event(type, event, *out_);
  }
  void emit_delta(const char* type, const char* field, std::string_view text) const {
    emit("content_block_delta", {{"index", content_.size()}, {"delta", {{"type", type}, {field, text}}}});
  }

  void take(const ChoiceNews& news) {
    for (const OutputDelta& delta : news.deltas) take_delta(delta);
    if (news.end == OutputEnd::none) return;
    stop_reason_ = stop_reason(news);
    if (stop_reason_ == "stop_sequence") stop_sequence_ = news.stop_string;
  }

  void take_delta(const OutputDelta& delta) {
    switch (delta.kind) {
      case OutputDelta::Kind::content:
        if (block_ != Block::text) begin(Block::text, {{"type", "text"}, {"text", ""}});
        emit_delta("text_delta", "text", delta.text);
        break;
      case OutputDelta::Kind::reasoning:
        if (block_ != Block::thinking)
          begin(Block::thinking, {{"type", "thinking"}, {"thinking", ""}, {"signature", ""}});
        emit_delta("thinking_delta", "thinking", delta.text);
        break;
      case OutputDelta::Kind::call:
        begin(Block::call, {{"type", "tool_use"},
                            {"id", fmt::format("toolu_{}_{}", letters_, calls_++)},
                            {"name", delta.text},
                            {"input", json::object()}});
        return;
      case OutputDelta::Kind::arguments: emit_delta("input_json_delta", "partial_json", delta.text); break;
      case OutputDelta::Kind::call_end: return end_block();
    }
    text_ += delta.text;
  }

  void begin(Block kind, json::object block) {
    end_block();
    block_ = kind;
    emit("content_block_start", {{"index", content_.size()}, {"content_block", block}});
    open_ = std::move(block);
  }

  void end_block() {
    switch (std::exchange(block_, Block::none)) {
      case Block::none: return;
      case Block::text: open_["text"] = text_; break;
      case Block::thinking:
        open_["thinking"] = text_;
        open_["signature"] = signature_of(text_);
        emit_delta("signature_delta", "signature", open_["signature"].get_string());
        break;
      case Block::call: open_["input"] = input_of(text_); break;
    }
    emit("content_block_stop", {{"index", content_.size()}});
    content_.emplace_back(std::exchange(open_, {}));
    text_.clear();
  }

  std::string letters_, id_, model_;
  std::string stop_reason_, stop_sequence_;  // "": it goes on; another end
  json::array content_;                      // blocks that have ended
  Block block_ = Block::none;                // the one that is open,
  json::object open_;                        // as it began,
  std::string text_;                         // and what came since
  int32_t calls_ = 0;
  std::string* out_ = nullptr;  // during a call; none: nobody hears events
};

}  // namespace

std::string answer_id(const std::string& letters) { return "msg_" + letters; }

std::unique_ptr<AnswerFormat> make_format(const AnswerOrigin& origin) {
  return std::make_unique<MessagesFormat>(origin);
}

}  // namespace paceline::messages
