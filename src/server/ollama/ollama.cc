#include "server/ollama/ollama.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <deque>
#include <utility>

#include "base/utf8.h"
#include "server/utc_text.h"
#include "session/chat_messages.h"
#include "session/checkpoint_chat.h"
#include "session/tool_offer.h"

namespace paceline::ollama {
namespace {

namespace json = boost::json;

constexpr std::string_view kLatest = ":latest";

std::string bare_name(std::string name) {
  if (name.ends_with(kLatest)) name.resize(name.size() - kLatest.size());
  return name;
}

// Messages have no ids for calls: results answer them in their order, or by the tool's name.
class MessageReader {
 public:
  MessageReader(FieldProblem& problem, const MediaTerms& terms, ChatAsk& out)
      : problem_(problem), media_(problem, terms, out.media), out_(out) {}

  void add(AskFields& fields) {
    const std::string role = fields.string("role").value_or("");
    if (role != "system" && role != "user" && role != "assistant" && role != "tool") {
      return problem_.say(bad_field(fields.path("role"),
                                    fmt::format("{} must be system, user, assistant or tool", fields.path("role"))));
    }
    json::object message{{"role", role}, {"content", content(fields)}};
    if (const auto thought = fields.string("thinking"); thought && !thought->empty()) set_thoughts(message, *thought);
    if (const json::array* calls = fields.array("tool_calls")) message["tool_calls"] = read_calls(*calls);
    if (role == "tool") message["tool_call_id"] = answered(fields.string("tool_name").value_or(""));
    fields.ignore({"name", "tool_call_id"});
    fields.finish();
    out_.chat.messages.push_back(std::move(message));
  }

  // Text, and pictures before it.
  json::value content(AskFields& fields, const char* name = "content") {
    json::array parts;
    const json::array* images = fields.array("images");
    for (size_t i = 0; images != nullptr && i < images->size(); ++i) {
      const std::string place = fmt::format("{}[{}]", fields.path("images"), i);
      if (!(*images)[i].is_string()) {
        problem_.say(bad_field(place, fmt::format("{} must be base64", place)));
        break;
      }
      parts.push_back(media_.add_base64(std::string((*images)[i].get_string()), place));
    }
    parts.push_back({{"type", "text"}, {"text", fields.string(name).value_or("")}});
    return content_of(std::move(parts));
  }

 private:
  json::array read_calls(const json::array& calls) {
    json::array made;
    for (const json::value& call : calls) {
      const json::object* holder = call.if_object();
      const json::value* function = holder != nullptr ? holder->if_contains("function") : nullptr;
      const json::object* fields = function != nullptr ? function->if_object() : nullptr;
      const json::value* name = fields != nullptr ? fields->if_contains("name") : nullptr;
      if (name == nullptr || !name->is_string()) {
        problem_.say(bad_field("messages", "tool_calls must have a function with a name"));
        break;
      }
      const json::value* arguments = fields->if_contains("arguments");
      const bool has_some = arguments != nullptr && arguments->is_object();
      std::string id = fmt::format("call_{}", ++count_);
      made.push_back(call_object(id, name->get_string(), has_some ? arguments->get_object() : json::object()));
      open_.emplace_back(std::move(id), std::string(name->get_string()));
    }
    return made;
  }

  std::string answered(const std::string& tool) {
    for (auto at = open_.begin(); at != open_.end(); ++at) {
      if (!tool.empty() && at->second != tool) continue;
      std::string id = at->first;
      open_.erase(at);
      return id;
    }
    return "";
  }

  FieldProblem& problem_;
  MessageMedia media_;
  ChatAsk& out_;
  int count_ = 0;
  std::deque<std::pair<std::string, std::string>> open_;  // ids and names of calls without a result
};

void read_options(AskFields& body, const RequestLimits& limits, Ask& ask) {
  static const json::object kNone;
  const json::object* object = body.object("options");
  AskFields options(object != nullptr ? *object : kNone, "options", body.problem());
  read_choosing(options, limits, ask);
  read_stops(options, "stop", ask);
  // Below 1: until it ends.
  if (const auto most = options.integer("num_predict", -2, 1 << 30); most && *most > 0)
    ask.max_tokens = static_cast<int32_t>(*most);
  if (const auto penalty = options.number("repeat_penalty", 0.01, 100))
    ask.wishes.sampling.repetition_penalty = static_cast<float>(*penalty);
}

class OllamaFormat final : public AnswerFormat {
 public:
  OllamaFormat(const AnswerOrigin& origin, bool chat) : origin_(origin), is_chat_(chat), id_(origin.letters()) {}

  [[nodiscard]] const std::string& id() const override { return id_; }
  [[nodiscard]] std::string_view stream_type() const override { return "application/x-ndjson"; }
  void open(const Usage&, std::string&) override {}
  void show_life(std::string&) override {}

  void tell(int32_t, const ChoiceNews& news, const Usage&, std::string& out) override {
    for (const OutputDelta& delta : news.deltas) take(delta);
    if (news.end != OutputEnd::none) end_ = news.end;
    if (is_empty()) return;
    add_line(object(), out);
    text_.clear(), thoughts_.clear(), calls_.clear();
  }

  void close(const Usage& usage, const std::optional<ApiError>& problem, std::string& out) override {
    add_line(problem ? ollama::error_object(*problem) : last(usage), out);
  }

  std::string whole(const std::vector<ChoiceNews>& choices, const Usage& usage) override {
    for (const OutputDelta& delta : choices.front().deltas) take(delta);
    end_ = choices.front().end;
    return json::serialize(last(usage));
  }
  std::string failed(const ApiError& error, const Usage&) override {
    return json::serialize(ollama::error_object(error));
  }

 private:
  static void add_line(const json::object& object, std::string& out) { out += json::serialize(object) + "\n"; }
  [[nodiscard]] bool is_empty() const { return text_.empty() && thoughts_.empty() && calls_.empty(); }

  // A call is told when it is whole.
  void take(const OutputDelta& delta) {
    switch (delta.kind) {
      case OutputDelta::Kind::content: text_ += delta.text; break;
      case OutputDelta::Kind::reasoning: thoughts_ += delta.text; break;
      case OutputDelta::Kind::call: name_ = delta.text; break;
      case OutputDelta::Kind::arguments: arguments_ += delta.text; break;
      case OutputDelta::Kind::call_end: {
        json::error_code failed;
        json::value arguments = json::parse(std::exchange(arguments_, {}), failed);
        if (failed) arguments = json::object();
        json::object function{{"name", name_}, {"arguments", std::move(arguments)}};
        calls_.emplace_back(json::object{{"function", std::move(function)}});
      }
    }
  }

  [[nodiscard]] json::object object() const {
    json::object made{{"model", origin_.model}, {"created_at", utc_text(origin_.created)}};
    if (is_chat_) {
      json::object message{{"role", "assistant"}, {"content", text_}};
      if (!thoughts_.empty()) message["thinking"] = thoughts_;
      if (!calls_.empty()) message["tool_calls"] = calls_;
      made["message"] = std::move(message);
    } else {
      made["response"] = text_;
      if (!thoughts_.empty()) made["thinking"] = thoughts_;
    }
    made["done"] = false;
    return made;
  }

  [[nodiscard]] json::object last(const Usage& usage) const {
    const auto nanoseconds = [](double ms) { return static_cast<int64_t>(ms * 1e6); };
    json::object made = object();
    made["done"] = true;
    made["done_reason"] = end_ == OutputEnd::length || end_ == OutputEnd::context ? "length" : "stop";
    made["total_duration"] = nanoseconds(usage.prompt_ms + usage.decode_ms);
    made["load_duration"] = 0;
    made["prompt_eval_count"] = usage.prompt_tokens;
    made["prompt_eval_duration"] = nanoseconds(usage.prompt_ms);
    made["eval_count"] = usage.completion_tokens;
    made["eval_duration"] = nanoseconds(usage.decode_ms);
    return made;
  }

  AnswerOrigin origin_;
  bool is_chat_;
  std::string id_;
  std::string text_, thoughts_, name_, arguments_;
  json::array calls_;
  OutputEnd end_ = OutputEnd::none;
};

class OllamaWire final : public Wire {
 public:
  explicit OllamaWire(bool chat) : is_chat_(chat) {}

  [[nodiscard]] bool ignores_unknown() const override { return true; }
  [[nodiscard]] std::string answer_id(const std::string& letters) const override { return letters; }
  // A line is an object, and there is none that says nothing.
  [[nodiscard]] std::unique_ptr<EarlyStream> early_stream(const std::string&,
                                                          std::shared_ptr<SaidEarly>) const override {
    return nullptr;
  }
  void read(const json::object& body, const RequestLimits& limits, FieldProblem& problem) override {
    AskFields fields(body, "", problem);
    is_raw_ = !is_chat_ && fields.boolean("raw").value_or(false);
    Ask& ask = is_raw_ ? static_cast<Ask&>(raw_) : ask_;
    read_options(fields, limits, ask);
    ask.model = bare_name(fields.string("model").value_or(""));
    ask.stream = fields.boolean("stream").value_or(true);
    if (is_raw_) return read_raw(fields);
    const MediaTerms media = media_terms(limits);
    MessageReader reader(problem, media, ask_);
    is_chat_ ? read_messages(fields, limits, reader) : read_prompt(fields, reader);
    offer_tools(read_function_tools(fields), {.field = "tools"}, ask_, problem);
    read_think(fields);
    read_format(fields);
    fields.ignore({"keep_alive", "template", "context", "raw"});
    fields.finish();
  }

  [[nodiscard]] ChatAsk* chat() override { return is_raw_ ? nullptr : &ask_; }
  [[nodiscard]] CompletionAsk* text() override { return is_raw_ ? &raw_ : nullptr; }
  [[nodiscard]] const char* prompt_field() const override { return is_chat_ ? "messages" : "prompt"; }
  [[nodiscard]] const char* form_field() const override { return "format"; }
  [[nodiscard]] std::unique_ptr<AnswerFormat> format(const AnswerOrigin& origin) override {
    return std::make_unique<OllamaFormat>(origin, is_chat_);
  }

 private:
  static void read_messages(AskFields& fields, const RequestLimits& limits, MessageReader& reader) {
    const json::array* list = message_list(fields, "messages", limits.max_messages);
    for (size_t i = 0; list != nullptr && i < list->size() && fields.problem().none(); ++i) {
      const std::string place = fmt::format("messages[{}]", i);
      if (!(*list)[i].is_object())
        return fields.problem().say(bad_field(place, fmt::format("{} must be an object", place)));
      AskFields message((*list)[i].get_object(), place, fields.problem());
      reader.add(message);
    }
  }

  // As it stands: what a template would have to place is refused.
  void read_raw(AskFields& fields) {
    const std::string prompt = fields.string("prompt").value_or("");
    if (prompt.empty()) return fields.missing("prompt", "a string");
    raw_.prompts.push_back({prompt, {}});
    for (const char* name : {"suffix", "system", "images", "tools", "format"}) {
      const json::value* given = fields.any(name);
      const bool is_empty = given == nullptr || *given == "" || (given->is_array() && given->get_array().empty());
      if (!is_empty) fields.problem().say(unsupported(name, fmt::format("{} is not supported beside raw", name)));
    }
    fields.ignore({"keep_alive", "template", "context", "think"});
    fields.finish();
  }

  void read_prompt(AskFields& fields, MessageReader& reader) {
    if (fields.any("prompt") == nullptr) return fields.missing("prompt", "a string");
    if (const auto suffix = fields.string("suffix"); suffix && !suffix->empty())
      fields.problem().say(unsupported("suffix", "suffix is not supported"));
    if (const auto system = fields.string("system"); system && !system->empty())
      ask_.chat.messages.push_back({{"role", "system"}, {"content", *system}});
    ask_.chat.messages.push_back({{"role", "user"}, {"content", reader.content(fields, "prompt")}});
  }

  // true, false, or how hard.
  void read_think(AskFields& fields) {
    const json::value* think = fields.any("think");
    if (think == nullptr) return;
    ask_.set_thinking(think->is_string() || (think->is_bool() && think->get_bool()));
  }

  // "json", or a schema.
  void read_format(AskFields& fields) {
    const json::value* format = fields.any("format");
    if (format == nullptr || *format == "") return;
    if (*format == "json") {
      demand_form({.kind = OutputForm::Kind::json_object}, ask_);
    } else if (format->is_object()) {
      demand_form({.kind = OutputForm::Kind::json_schema, .schema = *format}, ask_);
    } else {
      fields.wrong("format", "json or a JSON Schema", *format);
    }
  }

  bool is_chat_, is_raw_ = false;
  ChatAsk ask_;
  CompletionAsk raw_;  // instead, where it is
};

std::string family_of(const ModelHead& head) { return head.type.empty() ? "paceline" : head.type; }

// "94.8M", "12.0B"
std::string size_of(int64_t parameters) {
  const auto count = static_cast<double>(parameters);
  if (parameters <= 0) return "";
  return count < 1e9 ? fmt::format("{:.1f}M", count / 1e6) : fmt::format("{:.1f}B", count / 1e9);
}

json::object details(const ModelHead& head) {
  const std::string family = family_of(head);
  const bool is_gguf = head.place.extension() == ".gguf";
  return {{"format", is_gguf ? "gguf" : "safetensors"},
          {"family", family},
          {"families", json::array{family}},
          {"parameter_size", size_of(head.parameters)},
          {"quantization_level", head.format},
          {"parent_model", ""}};
}

// "": it has none.
std::string template_of(const ModelView& view) {
  const bool is_there = view.model != nullptr;
  const auto found = load_chat_templates(is_there ? view.model->text().loaded.checkpoint->folder().string()
                                                  : view.entry.head.place.string());
  return found.ok() && *found ? (*found)->main : "";
}

}  // namespace

bool is_route(std::string_view path) { return path == "/" || path.starts_with("/api/"); }

json::object error_object(const ApiError& error) { return {{"error", with_invalid_utf8_replaced(error.message)}}; }

std::unique_ptr<Wire> make_wire(bool chat) { return std::make_unique<OllamaWire>(chat); }

json::object list_models(const std::vector<ModelView>& views, bool only_loaded) {
  json::array all;
  for (const ModelView& view : views) {
    if (only_loaded && view.model == nullptr) continue;
    const std::string name = view.entry.name + std::string(kLatest);
    const size_t held = view.model != nullptr ? view.needs.all() : 0;
    all.push_back(json::object{{"name", name},
                               {"model", name},
                               {"modified_at", utc_text(view.entry.head.changed)},
                               {"size", view.entry.head.bytes},
                               {"size_vram", held},
                               {"digest", view.model != nullptr ? view.model->digest() : ""},
                               {"details", details(view.entry.head)}});
  }
  return {{"models", std::move(all)}};
}

std::string asked_model(std::string_view body) {
  FieldProblem unread;
  const auto object = parse_body(body, unread);
  for (const char* field : {"model", "name"}) {
    const json::value* name = object ? object->if_contains(field) : nullptr;
    if (name != nullptr && name->is_string()) return bare_name(std::string(name->get_string()));
  }
  return "";
}

json::object show_model(const ModelView& view, int32_t context) {
  json::array can{"completion"};
  const std::string chat_template = template_of(view);
  const bool chats = view.model != nullptr ? view.model->text().has_chat() : !chat_template.empty();
  if (chats) can.emplace_back("tools"), can.emplace_back("thinking");
  if (view.model != nullptr ? view.model->vision() != nullptr : view.entry.head.takes_images)
    can.emplace_back("vision");
  const std::string family = family_of(view.entry.head);
  json::object described{{"general.architecture", family}, {family + ".context_length", context}};
  if (view.entry.head.parameters > 0) described["general.parameter_count"] = view.entry.head.parameters;
  return {{"details", details(view.entry.head)},
          {"model_info", std::move(described)},
          {"capabilities", std::move(can)},
          {"template", chat_template},
          {"modified_at", utc_text(view.entry.head.changed)},
          {"parameters", ""}};
}

}  // namespace paceline::ollama
