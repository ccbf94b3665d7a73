#include "server/responses/response_items.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <set>
#include <utility>

#include "base/ascii.h"
#include "session/chat_messages.h"
#include "session/data_uri.h"

namespace paceline::responses {
namespace {

namespace json = boost::json;

json::object text_part(std::string_view text) { return {{"type", "text"}, {"text", text}}; }

class ItemReader {
 public:
  ItemReader(FieldProblem& problem, const ItemTerms& terms, Messages& out)
      : problem_(problem), terms_(terms), media_(problem, terms.media, out.media), out_(out) {}

  void add_instructions(std::string_view text) {
    if (!text.empty()) add_message("system", json::value(text));
  }

  void read(const json::value& value, const std::string& place, int steps = 0) {
    if (!value.is_object()) return problem_.say(bad_field(place, fmt::format("{} must be an object", place)));
    AskFields item(value.get_object(), place, problem_);
    item.ignore({"id", "status", "phase"});
    const std::string type = item.string("type").value_or("message");
    if (type == "message") {
      read_message(item);
    } else if (type == "reasoning") {
      read_reasoning(item);
    } else if (type == "function_call" || type == "custom_tool_call") {
      read_call(item, type == "custom_tool_call");
    } else if (type == "function_call_output" || type == "custom_tool_call_output") {
      read_result(item);
    } else if (type == "item_reference" && steps == 0) {
      return read_reference(item);
    } else {
      return problem_.say(unsupported(item.path("type"), fmt::format("items of type {} are not supported", type)));
    }
    item.finish();
  }

 private:
  void read_message(AskFields& item) {
    const std::string said = item.string("role").value_or("");
    if (said != "user" && said != "assistant" && said != "system" && said != "developer") {
      return problem_.say(bad_field(item.path("role"),
                                    fmt::format("{} must be user, assistant, system or developer", item.path("role"))));
    }
    const std::string role = said == "developer" ? "system" : said;
    const json::value* content = item.any("content");
    if (content == nullptr) return item.missing("content", "a string or a list of parts");
    if (content->is_string()) {
      add_message(role, *content);
    } else if (content->is_array()) {
      add_message(role, content_of(read_parts(content->get_array(), item.path("content"))));
    } else {
      item.wrong("content", "a string or a list of parts", *content);
    }
  }

  // All that is said before anybody else is one system prompt.
  void add_message(const std::string& role, json::value content) {
    json::array& made = out_.for_template;
    if (role == "assistant") {
      open_turn()["content"] = std::move(content);
      return;
    }
    const bool joins = role == "system" && made.size() == 1 && made[0].at("role") == "system" &&
                       made[0].at("content").is_string() && content.is_string();
    if (joins) {
      std::string text(made[0].at("content").get_string());
      text += "\n";
      text += content.get_string();
      made[0].get_object()["content"] = text;
    } else {
      made.push_back({{"role", role}, {"content", std::move(content)}});
    }
  }

  // A new turn of the assistant, with what it thought before.
  json::object& open_turn() {
    json::object message{{"role", "assistant"}, {"content", ""}};
    if (!thoughts_.empty()) set_thoughts(message, std::exchange(thoughts_, {}));
    return out_.for_template.emplace_back(std::move(message)).get_object();
  }

  json::array read_parts(const json::array& parts, const std::string& path) {
    json::array made;
    for (size_t i = 0; i < parts.size() && problem_.none(); ++i) {
      const std::string place = fmt::format("{}[{}]", path, i);
      if (!parts[i].is_object()) {
        problem_.say(bad_field(place, fmt::format("{} must be an object", place)));
        break;
      }
      AskFields part(parts[i].get_object(), place, problem_);
      made.push_back(read_part(part));
      part.finish();
    }
    return made;
  }

  json::object read_part(AskFields& part) {
    const std::string type = part.string("type").value_or("");
    if (type == "input_text" || type == "output_text" || type == "text" || type == "refusal") {
      part.ignore({"annotations", "logprobs"});
      const char* name = type == "refusal" ? "refusal" : "text";
      const auto text = part.string(name);
      if (!text) part.missing(name, "a string");
      return text_part(text.value_or(""));
    }
    if (type == "input_image") {
      part.ignore({"detail"});
      const auto url = part.string("image_url");
      if (url) return media_.add_url(*url, false, part.path("image_url"));
      problem_.say(unsupported(part.path("image_url"), "a picture must be an image_url; files are not kept here"));
      return {};
    }
    if (type == "input_file") return read_file(part);
    problem_.say(unsupported(part.path("type"), fmt::format("parts of type {} are not supported here", type)));
    return {};
  }

  // Text as a data: URI, and nothing else.
  json::object read_file(AskFields& part) {
    part.ignore({"filename", "detail"});
    const std::string written = part.string("file_data").value_or("");
    const bool is_text = in_lower_case(std::string_view(written).substr(0, 10)) == "data:text/";
    const auto text = is_text ? read_data_uri(written) : std::nullopt;
    if (!text) problem_.say(unsupported(part.path("type"), "files are taken as text only, in a data: URI"));
    return text_part(text.value_or(""));
  }

  void read_reasoning(AskFields& item) {
    item.ignore({"encrypted_content"});
    const json::array *content = item.array("content"), *summary = item.array("summary");
    const json::array* said = content != nullptr && !content->empty() ? content : summary;
    for (size_t i = 0; said != nullptr && i < said->size(); ++i) {
      const json::object* part = (*said)[i].if_object();
      const json::value* text = part != nullptr ? part->if_contains("text") : nullptr;
      if (text == nullptr || !text->is_string()) {
        return problem_.say(bad_field(item.path(said == content ? "content" : "summary"),
                                      fmt::format("{} must be parts with a text", item.path("content"))));
      }
      if (!thoughts_.empty()) thoughts_ += "\n";
      thoughts_ += text->get_string();
    }
  }

  void read_call(AskFields& item, bool is_custom) {
    const auto id = item.string("call_id", 256), name = item.string("name", 256);
    if (!id) item.missing("call_id", "a string");
    if (!name) item.missing("name", "a string");
    const std::string space = item.string("namespace", 256).value_or("");
    item.ignore({"caller"});
    json::object arguments;
    if (is_custom) {
      arguments["input"] = item.string("input").value_or("");
    } else {
      arguments = read_arguments(item);
    }
    calls_.insert(id.value_or(""));
    // Neighbours are one turn, with what was said before them.
    json::array& made = out_.for_template;
    const bool joins = thoughts_.empty() && !made.empty() && made.back().at("role") == "assistant";
    json::object& turn = joins ? made.back().get_object() : open_turn();
    if (!turn.contains("tool_calls")) turn["tool_calls"] = json::array();
    turn["tool_calls"].get_array().push_back(
        call_object(id.value_or(""), joined_name(space, name.value_or("")), std::move(arguments)));
  }

  json::object read_arguments(AskFields& item) {
    const auto text = item.string("arguments");
    if (!text || text->empty()) return {};
    FieldProblem inner;
    if (auto object = parse_body(*text, inner)) return std::move(*object);
    problem_.say(bad_field(item.path("arguments"),
                           fmt::format("{} must be a JSON object written as a string", item.path("arguments"))));
    return {};
  }

  void read_result(AskFields& item) {
    const auto id = item.string("call_id", 256);
    if (!id) return item.missing("call_id", "the id of the call that this answers");
    if (!calls_.contains(*id)) {
      return problem_.say(
          bad_field(item.path("call_id"), fmt::format("{} is the id of no call before it", item.path("call_id"))));
    }
    item.ignore({"name"});
    const json::value* output = item.any("output");
    if (output == nullptr) return item.missing("output", "a string or a list of parts");
    json::value content = *output;
    if (output->is_array()) content = content_of(read_parts(output->get_array(), item.path("output")));
    if (!output->is_array() && !output->is_string())
      return item.wrong("output", "a string or a list of parts", *output);
    out_.for_template.push_back({{"role", "tool"}, {"content", std::move(content)}, {"tool_call_id", *id}});
  }

  void read_reference(AskFields& item) {
    const std::string id = item.string("id", 256).value_or("");
    const auto found = terms_.find_item ? terms_.find_item(id) : std::nullopt;
    if (found) return read(*found, item.path("id"), 1);
    problem_.say(bad_field(item.path("id"), fmt::format("there is no item {} here", json::serialize(json::value(id)))));
  }

  FieldProblem& problem_;
  const ItemTerms& terms_;
  MessageMedia media_;
  Messages& out_;
  std::string thoughts_;         // of the assistant's turn that follows
  std::set<std::string> calls_;  // ids of those that were made
};

}  // namespace

std::string joined_name(std::string_view space, std::string_view name) {
  return space.empty() ? std::string(name) : fmt::format("{}__{}", space, name);
}

Messages read_items(const json::array& items, size_t own, std::string_view instructions, const ItemTerms& terms,
                    FieldProblem& problem) {
  Messages messages;
  if (items.size() > static_cast<size_t>(terms.most)) {
    problem.say(bad_field("input", fmt::format("{} items; this server takes at most {} (its option --max-messages)",
                                               items.size(), terms.most)));
    return messages;
  }
  ItemReader reader(problem, terms, messages);
  reader.add_instructions(instructions);
  const size_t before = items.size() - own;
  for (size_t i = 0; i < items.size() && problem.none(); ++i) {
    const std::string place =
        i < before ? fmt::format("previous_response_id[{}]", i) : fmt::format("input[{}]", i - before);
    reader.read(items[i], place);
  }
  return messages;
}

}  // namespace paceline::responses
