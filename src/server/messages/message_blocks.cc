#include "server/messages/message_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "session/chat_messages.h"

namespace paceline::messages {
namespace {

namespace json = boost::json;

json::object text_part(std::string text) { return {{"type", "text"}, {"text", std::move(text)}}; }

// Some clients send a checksum of the request in front of it, which is another each time.
bool is_billing(std::string_view text) { return text.starts_with("x-anthropic-billing-header"); }

// One message while it is put together; neighbours of one role join.
struct Turn {
  std::string role;
  json::array parts = {};
  std::string reasoning = {}, call_id = {};  // of an assistant, of a tool
  json::array calls = {};
};

// Nothing to go on from: what an assistant that has not begun would have said.
bool says_nothing(const Turn& turn) {
  if (!turn.reasoning.empty() || !turn.calls.empty()) return false;
  return std::all_of(turn.parts.begin(), turn.parts.end(), [](const json::value& part) {
    const json::value* text = part.get_object().if_contains("text");
    return text != nullptr && strip_like_python(text->get_string()).empty();
  });
}

class BlockReader {
 public:
  BlockReader(FieldProblem& problem, const MediaTerms& terms, Messages& out)
      : problem_(problem), media_(problem, terms, out.media), out_(out) {}

  void read_system(AskFields& body) {
    const json::value* system = body.any("system");
    if (system == nullptr) return;
    std::string text;
    if (system->is_string()) {
      text = system->get_string();
    } else if (system->is_array()) {
      text = texts_of(system->get_array(), body.path("system"));
    } else {
      return body.wrong("system", "a string or a list of text blocks", *system);
    }
    if (!text.empty()) turns_.push_back({"system", {text_part(std::move(text))}});
  }

  void read_message(const json::value& value, size_t index) {
    const std::string place = fmt::format("messages[{}]", index);
    if (!value.is_object()) return problem_.say(bad_field(place, fmt::format("{} must be an object", place)));
    AskFields fields(value.get_object(), place, problem_);
    const std::string role = fields.string("role").value_or("");
    if (role != "user" && role != "assistant" && role != "system") {
      return problem_.say(
          bad_field(fields.path("role"), fmt::format("{} must be user, assistant or system", fields.path("role"))));
    }
    const json::value* content = fields.any("content");
    fields.finish();
    Turn turn{role};
    if (content != nullptr && content->is_string()) {
      turn.parts.push_back(text_part(std::string(content->get_string())));
    } else if (content != nullptr && content->is_array()) {
      read_blocks(content->get_array(), fields.path("content"), turn);
    } else {
      return fields.missing("content", "a string or a list of blocks");
    }
    join(std::move(turn));
  }

  // True: the last one is the assistant's, and goes on.
  bool finish() {
    if (!turns_.empty() && turns_.back().role == "assistant" && says_nothing(turns_.back())) turns_.pop_back();
    const bool is_open = !turns_.empty() && turns_.back().role == "assistant" && turns_.back().calls.empty();
    for (Turn& turn : turns_) {
      json::object message{{"role", turn.role}, {"content", content_of(std::move(turn.parts))}};
      if (!turn.reasoning.empty()) set_thoughts(message, turn.reasoning);
      if (!turn.calls.empty()) message["tool_calls"] = std::move(turn.calls);
      if (!turn.call_id.empty()) message["tool_call_id"] = turn.call_id;
      out_.for_template.push_back(std::move(message));
    }
    return is_open;
  }

 private:
  void join(Turn turn) {
    // A message of results alone has said nothing else.
    if (turn.parts.empty() && turn.reasoning.empty() && turn.calls.empty()) return;
    if (turns_.empty() || turns_.back().role != turn.role || (!turns_.back().calls.empty() && turn.role != "user")) {
      turns_.push_back(std::move(turn));
      return;
    }
    Turn& last = turns_.back();
    if (!last.parts.empty() && !turn.parts.empty()) last.parts.push_back(text_part("\n"));
    for (json::value& part : turn.parts) last.parts.push_back(std::move(part));
    for (json::value& call : turn.calls) last.calls.push_back(std::move(call));
    last.reasoning += turn.reasoning;
  }

  void read_blocks(const json::array& blocks, const std::string& path, Turn& turn) {
    for (size_t i = 0; i < blocks.size() && problem_.none(); ++i) {
      const std::string place = fmt::format("{}[{}]", path, i);
      if (!blocks[i].is_object()) return problem_.say(bad_field(place, fmt::format("{} must be an object", place)));
      AskFields block(blocks[i].get_object(), place, problem_);
      block.ignore({"cache_control", "citations"});
      const std::string type = block.string("type").value_or("");
      const bool is_answer = turn.role == "assistant";
      if (type == "tool_use" && is_answer) {
        turn.calls.push_back(read_call(block));
      } else if (type == "thinking" && is_answer) {
        turn.reasoning += block.string("thinking").value_or("");
        block.ignore({"signature"});
      } else if (type == "redacted_thinking") {
        block.ignore({"data"});
      } else if (type == "tool_result" && turn.role == "user") {
        read_result(block);
      } else {
        add_plain(type, block, turn.parts);
      }
      block.finish();
    }
  }

  // What may stand in messages and in results.
  void add_plain(const std::string& type, AskFields& block, json::array& parts) {
    if (type == "text") {
      const auto text = block.string("text");
      if (!text) return block.missing("text", "a string");
      if (!is_billing(*text)) parts.push_back(text_part(*text));
    } else if (type == "image") {
      if (const json::object* source = block.object("source")) return add_image(*source, block, parts);
      block.missing("source", "an object with a type");
    } else if (type == "document") {
      add_document(block, parts);
    } else if (type == "search_result") {
      const json::array* content = block.array("content");
      if (content == nullptr) return block.missing("content", "a list of text blocks");
      parts.push_back(text_part(texts_of(*content, block.path("content"))));
      block.ignore({"source", "title"});
    } else {
      problem_.say(unsupported(block.path("type"), fmt::format("blocks of type {} are not supported here", type)));
    }
  }

  void add_image(const json::object& source, AskFields& block, json::array& parts) {
    AskFields fields(source, block.path("source"), problem_);
    const std::string type = fields.string("type").value_or("");
    fields.ignore({"media_type"});
    if (type == "base64") {
      const auto bytes = fields.string("data");
      if (!bytes) return fields.missing("data", "the picture's file in base64");
      parts.push_back(media_.add_base64(*bytes, fields.path("data")));
    } else if (type == "url") {
      const auto url = fields.string("url");
      if (!url) return fields.missing("url", "a URL");
      parts.push_back(media_.add_url(*url, false, fields.path("url")));
    } else {
      problem_.say(unsupported(fields.path("type"), fmt::format("{} must be base64 or url", fields.path("type"))));
    }
    fields.finish();
  }

  void add_document(AskFields& block, json::array& parts) {
    block.ignore({"title", "context"});
    const json::object* source = block.object("source");
    if (source == nullptr) return block.missing("source", "an object with a type");
    AskFields fields(*source, block.path("source"), problem_);
    const std::string type = fields.string("type").value_or("");
    fields.ignore({"media_type"});
    const json::value* content = fields.any(type == "text" ? "data" : "content");
    if ((type != "text" && type != "content") || content == nullptr) {
      problem_.say(unsupported(fields.path("type"), "documents are taken as text only"));
    } else if (content->is_string()) {
      parts.push_back(text_part(std::string(content->get_string())));
    } else if (content->is_array()) {
      parts.push_back(text_part(texts_of(content->get_array(), fields.path("content"))));
    }
    fields.finish();
  }

  // Text blocks, joined with a line's end.
  std::string texts_of(const json::array& blocks, const std::string& path) {
    std::string all;
    for (size_t i = 0; i < blocks.size() && problem_.none(); ++i) {
      const std::string place = fmt::format("{}[{}]", path, i);
      const json::object* block = blocks[i].if_object();
      const json::value* text = block != nullptr ? block->if_contains("text") : nullptr;
      if (text == nullptr || !text->is_string()) {
        problem_.say(bad_field(place, fmt::format("{} must be a text block", place)));
        break;
      }
      if (is_billing(text->get_string())) continue;
      if (!all.empty()) all += "\n";
      all += text->get_string();
    }
    return all;
  }

  json::object read_call(AskFields& block) {
    const auto id = block.string("id", 256), name = block.string("name", 256);
    if (!id) block.missing("id", "a string");
    if (!name) block.missing("name", "a string");
    const json::object* input = block.object("input");
    block.ignore({"caller"});
    if (id) calls_.insert(*id);
    return call_object(id.value_or(""), name.value_or(""), input != nullptr ? *input : json::object());
  }

  // A message of its own, before what else the user says.
  void read_result(AskFields& block) {
    const auto id = block.string("tool_use_id", 256);
    if (!id) return block.missing("tool_use_id", "the id of the call that this answers");
    if (!calls_.contains(*id)) {
      return problem_.say(bad_field(block.path("tool_use_id"),
                                    fmt::format("{} is the id of no tool_use before it", block.path("tool_use_id"))));
    }
    block.ignore({"is_error"});
    Turn result{"tool"};
    result.call_id = *id;
    const json::value* content = block.any("content");
    if (content != nullptr && content->is_string()) {
      result.parts.push_back(text_part(std::string(content->get_string())));
    } else if (content != nullptr && content->is_array()) {
      read_blocks(content->get_array(), block.path("content"), result);
    } else if (content != nullptr) {
      block.wrong("content", "a string or a list of blocks", *content);
    }
    turns_.push_back(std::move(result));
  }

  FieldProblem& problem_;
  MessageMedia media_;
  Messages& out_;
  std::vector<Turn> turns_;
  std::set<std::string> calls_;  // ids of those that were made
};

}  // namespace

Conversation read_conversation(AskFields& body, int32_t most, const MediaTerms& terms) {
  Conversation conversation;
  BlockReader reader(body.problem(), terms, conversation.made);
  reader.read_system(body);
  const json::array* array = message_list(body, "messages", most);
  for (size_t i = 0; array != nullptr && i < array->size() && body.problem().none(); ++i)
    reader.read_message((*array)[i], i);
  conversation.is_open = reader.finish();
  return conversation;
}

}  // namespace paceline::messages
