#include "server/responses/response_tools.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "server/responses/response_items.h"

namespace paceline::responses {
namespace {

namespace json = boost::json;

class ToolReader {
 public:
  ToolReader(FieldProblem& problem, Tools& out) : problem_(problem), out_(out) {}

  void read_list(const json::array& list, const std::string& path, const std::string& space) {
    for (size_t i = 0; i < list.size() && problem_.none(); ++i) {
      const std::string place = fmt::format("{}[{}]", path, i);
      if (!list[i].is_object()) return problem_.say(bad_field(place, fmt::format("{} must be an object", place)));
      AskFields tool(list[i].get_object(), place, problem_);
      read(tool, place, space);
    }
  }

 private:
  void read(AskFields& tool, const std::string& place, const std::string& space) {
    const std::string type = tool.string("type").value_or("");
    if (type != "function" && type != "custom" && type != "namespace")
      return problem_.leave_out(fmt::format("{}:{}", place, type));
    const auto name = tool.string("name", 256);
    if (!name || name->empty()) return tool.missing("name", "a string");
    tool.ignore({"defer_loading", "allowed_callers", "output_schema"});
    if (type == "namespace") {
      tool.ignore({"description"});
      const json::array* inner = tool.array("tools");
      tool.finish();
      if (space.empty() && inner != nullptr) read_list(*inner, tool.path("tools"), *name);
      return;
    }
    ToolDeclaration made{joined_name(space, *name), tool.string("description").value_or(""), nullptr, false};
    const json::object text{
        {"type", "object"}, {"properties", {{"input", {{"type", "string"}}}}}, {"required", json::array{"input"}}};
    if (type == "custom") {
      made.parameters = &text;
      add_format(tool, made.description);
    } else {
      made.parameters = tool.object("parameters");
      made.strict = tool.boolean("strict").value_or(false);
    }
    tool.finish();
    out_.names[made.name] = {space, *name, type == "custom"};
    out_.offer.add(made, place, problem_);
  }

  // A grammar is shown, and not enforced.
  static void add_format(AskFields& tool, std::string& description) {
    const json::object* format = tool.object("format");
    if (format == nullptr || !format->contains("definition") || !format->at("definition").is_string()) return;
    description += "\nThe input must follow this grammar:\n";
    description += format->at("definition").get_string();
  }

  FieldProblem& problem_;
  Tools& out_;
};

// {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "x"}]}
void read_allowed(AskFields& fields, ToolChoice& made) {
  const std::string mode = fields.string("mode").value_or("auto");
  if (mode != "auto" && mode != "required")
    fields.problem().say(bad_field(fields.path("mode"), "tool_choice.mode must be auto or required"));
  if (mode == "required") made.kind = ToolChoice::Kind::required;
  const json::array* tools = fields.array("tools");
  if (tools == nullptr) return fields.missing("tools", "a list of tools");
  made.names_field = "tool_choice.tools";
  for (const json::value& tool : *tools) {
    const json::value* name = tool.is_object() ? tool.get_object().if_contains("name") : nullptr;
    // Those that run elsewhere have none, and were left out.
    if (name != nullptr && name->is_string()) made.names.emplace_back(name->get_string());
  }
}

}  // namespace

Tools read_tools(AskFields& body) {
  Tools tools;
  if (const json::array* array = body.array("tools")) ToolReader(body.problem(), tools).read_list(*array, "tools", "");
  return tools;
}

ToolChoice read_tool_choice(AskFields& body) {
  ToolChoice made{.parallel = body.boolean("parallel_tool_calls").value_or(true),
                  .field = "tool_choice",
                  .names_field = "tool_choice.name"};
  const json::value* choice = body.any("tool_choice");
  if (choice == nullptr || *choice == "auto") return made;
  if (*choice == "none") {
    made.kind = ToolChoice::Kind::none;
    return made;
  }
  if (*choice == "required") {
    made.kind = ToolChoice::Kind::required;
    return made;
  }
  if (!choice->is_object()) {
    body.wrong("tool_choice", "none, auto, required or an object with a type", *choice);
    return made;
  }
  AskFields fields(choice->get_object(), "tool_choice", body.problem());
  const std::string type = fields.string("type").value_or("");
  if (type == "allowed_tools") {
    read_allowed(fields, made);
  } else if (type == "function" || type == "custom") {
    const auto name = fields.string("name");
    if (!name) fields.missing("name", "the name of one of the tools");
    made.kind = ToolChoice::Kind::required;
    made.names = {joined_name(fields.string("namespace").value_or(""), name.value_or(""))};
    made.parallel = false;
  } else {
    body.problem().say(unsupported("tool_choice.type", "tool_choice.type must be function, custom or allowed_tools"));
  }
  fields.finish();
  return made;
}

}  // namespace paceline::responses
