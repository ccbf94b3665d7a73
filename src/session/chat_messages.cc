#include "session/chat_messages.h"

#include <fmt/format.h>

namespace paceline {
namespace {

namespace json = boost::json;

class MessageReader {
 public:
  MessageReader(FieldProblem& problem, const MediaTerms& terms, Messages& out)
      : problem_(problem), media_(problem, terms, out.media), out_(out) {}

  void read(const json::value& value, size_t index) {
    const std::string place = fmt::format("messages[{}]", index);
    if (!value.is_object()) return problem_.say(bad_field(place, fmt::format("{} must be an object", place)));
    AskFields fields(value.get_object(), place, problem_);
    json::object message;
    const std::string role = fields.string("role").value_or("");
    if (!is_role(role)) {
      return problem_.say(
          bad_field(fields.path("role"),
                    fmt::format("{} must be system, developer, user, assistant or tool", fields.path("role"))));
    }
    message["role"] = role;
    read_content(fields, role, message);
    if (const auto name = fields.string("name", 256)) message["name"] = *name;
    if (role == "assistant") read_assistant(fields, message);
    if (role == "tool") {
      const auto id = fields.string("tool_call_id", 256);
      if (!id) return fields.missing("tool_call_id", "the id of the call that this answers");
      message["tool_call_id"] = *id;
    }
    fields.finish();
    out_.for_template.push_back(std::move(message));
  }

 private:
  static bool is_role(std::string_view role) {
    return role == "system" || role == "developer" || role == "user" || role == "assistant" || role == "tool";
  }

  void read_content(AskFields& fields, std::string_view role, json::object& message) {
    const json::value* content = fields.any("content");
    // An answer that only calls tools has none.
    if (content == nullptr) {
      message["content"] = "";
      if (role != "assistant") fields.missing("content", "a string or a list of parts");
    } else if (content->is_string()) {
      message["content"] = content->get_string();
    } else if (content->is_array()) {
      message["content"] = content_of(read_parts(content->get_array(), role, fields.path("content")));
    } else {
      fields.wrong("content", "a string or a list of parts", *content);
    }
  }

  json::array read_parts(const json::array& parts, std::string_view role, const std::string& path) {
    json::array made;
    for (size_t i = 0; i < parts.size() && problem_.none(); ++i) {
      const std::string place = fmt::format("{}[{}]", path, i);
      if (!parts[i].is_object()) {
        problem_.say(bad_field(place, fmt::format("{} must be an object", place)));
        break;
      }
      AskFields part(parts[i].get_object(), place, problem_);
      made.push_back(read_part(part, role));
    }
    return made;
  }

  json::object read_part(AskFields& part, std::string_view role) {
    const std::string type = part.string("type").value_or("");
    if (type == "text") {
      const auto text = part.string("text");
      if (!text) part.missing("text", "a string");
      part.finish();
      return {{"type", "text"}, {"text", text.value_or("")}};
    }
    if (type == "refusal") return {{"type", "text"}, {"text", part.string("refusal").value_or("")}};
    const bool is_medium = type == "image_url" || type == "video_url";
    if (is_medium && role == "user") return read_medium(part, type == "video_url");
    if (media_.takes_places() && role == "user" && (type == "image" || type == "video")) {
      part.finish();
      return media_.add_place(type == "video", part.path("type"));
    }
    if (is_medium || type == "input_audio" || type == "file") {
      problem_.say(unsupported(part.path("type"), fmt::format("parts of type {} are not supported here", type)));
    } else {
      problem_.say(
          bad_field(part.path("type"), fmt::format("{} must be text, image_url or video_url", part.path("type"))));
    }
    return {};
  }

  // {"type": "image_url", "image_url": {"url": "data:image/png;base64,..."}}, and likewise video_url
  json::object read_medium(AskFields& part, bool is_video) {
    const char* name = is_video ? "video_url" : "image_url";
    const json::object* medium = part.object(name);
    if (medium == nullptr) {
      part.missing(name, "an object with a url");
      return {};
    }
    AskFields fields(*medium, part.path(name), problem_);
    const auto url = fields.string("url");
    fields.ignore({"detail"});
    fields.finish();
    part.finish();
    if (url) return media_.add_url(*url, is_video, fields.path("url"));
    fields.missing("url", "a URL");
    return {};
  }

  void read_assistant(AskFields& fields, json::object& message) {
    // Both spellings are in use, by those who ask and in templates.
    const auto reasoning = fields.string("reasoning"), other = fields.string("reasoning_content");
    if (reasoning || other) set_thoughts(message, reasoning ? *reasoning : *other);
    fields.ignore({"refusal", "annotations", "audio", "function_call"});
    const json::array* calls = fields.array("tool_calls");
    if (calls == nullptr) return;
    json::array made;
    for (size_t i = 0; i < calls->size() && problem_.none(); ++i) {
      const std::string place = fmt::format("{}[{}]", fields.path("tool_calls"), i);
      if (!(*calls)[i].is_object()) {
        return problem_.say(bad_field(place, fmt::format("{} must be an object", place)));
      }
      AskFields call((*calls)[i].get_object(), place, problem_);
      made.push_back(read_call(call));
    }
    if (!made.empty()) message["tool_calls"] = std::move(made);
  }

  json::object read_call(AskFields& call) {
    const auto id = call.string("id", 256);
    call.ignore({"type", "index"});
    const json::object* function = call.object("function");
    if (function == nullptr) {
      call.missing("function", "an object with name and arguments");
      return {};
    }
    AskFields fields(*function, call.path("function"), problem_);
    const auto name = fields.string("name", 256);
    if (!name) fields.missing("name", "a string");
    json::object arguments = read_arguments(fields);
    fields.finish();
    call.finish();
    return call_object(id.value_or(""), name.value_or(""), std::move(arguments));
  }

  // A string with a JSON object in it; templates want the object.
  json::object read_arguments(AskFields& fields) {
    const auto text = fields.string("arguments");
    if (!text || text->empty()) return {};
    FieldProblem inner;
    auto object = parse_body(*text, inner);
    if (object) return std::move(*object);
    problem_.say(bad_field(fields.path("arguments"),
                           fmt::format("{} must be a JSON object written as a string", fields.path("arguments"))));
    return {};
  }

  FieldProblem& problem_;
  MessageMedia media_;
  Messages& out_;
};

}  // namespace

json::value content_of(json::array parts) {
  std::string text;
  for (const json::value& part : parts) {
    const json::value* said = part.is_object() ? part.get_object().if_contains("text") : nullptr;
    if (said == nullptr || !said->is_string()) return parts;
    text += said->get_string();
  }
  return json::value(text);
}

// One behind the other: a name that is added may move the value of another.
void set_thoughts(json::object& message, std::string_view thoughts) {
  message["reasoning"] = thoughts;
  message["reasoning_content"] = thoughts;
}

json::object call_object(std::string_view id, std::string_view name, json::object arguments) {
  json::object made{{"type", "function"}};
  if (!id.empty()) made["id"] = id;
  made["function"] = {{"name", name}, {"arguments", std::move(arguments)}};
  return made;
}

const json::array* message_list(AskFields& body, std::string_view name, int32_t most) {
  const json::array* array = body.array(name);
  if (array == nullptr) {
    body.missing(name, "a list of at least one message");
  } else if (array->empty()) {
    body.problem().say(bad_field(body.path(name), fmt::format("{} is empty: it must have at least one message", name)));
  } else if (array->size() > static_cast<size_t>(most)) {
    body.problem().say(bad_field(
        body.path(name),
        fmt::format("{} messages; this server takes at most {} (its option --max-messages)", array->size(), most)));
  }
  return body.problem().none() ? array : nullptr;
}

Messages read_messages(AskFields& body, int32_t most, const MediaTerms& terms) {
  Messages messages;
  const json::array* array = message_list(body, "messages", most);
  MessageReader reader(body.problem(), terms, messages);
  for (size_t i = 0; array != nullptr && i < array->size() && body.problem().none(); ++i) reader.read((*array)[i], i);
  return messages;
}

}  // namespace paceline
