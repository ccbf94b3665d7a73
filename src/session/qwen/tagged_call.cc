#include "session/qwen/tagged_call.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <exception>

#include "base/utf8.h"
#include "grammar/parts.h"

namespace paceline {
namespace {

namespace json = boost::json;

bool take_text(std::string_view text, std::string_view& rest) {
  if (!rest.starts_with(text)) return false;
  rest.remove_prefix(text.size());
  return true;
}

// Up to `end`, which is taken too.
std::optional<std::string_view> take_until(std::string_view end, std::string_view& rest) {
  const size_t at = rest.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view taken = rest.substr(0, at);
  rest.remove_prefix(at + end.size());
  return taken;
}

// A line's end on either side belongs to the tags.
std::string_view without_line_ends(std::string_view value) {
  if (value.starts_with('\n')) value.remove_prefix(1);
  if (value.ends_with('\n')) value.remove_suffix(1);
  return value;
}

// Which of the types a text is of that is written as JSON; 0: none.
uint8_t type_of_text(std::string_view text) {
  json::error_code failed;
  try {
    const json::value value = json::parse(text, failed);
    if (failed || value.is_string()) return 0;
    if (value.is_number()) return kNumberType;
    if (value.is_bool()) return kBooleanType;
    return value.is_null() ? kNullType : kStructuredType;
  } catch (const std::exception&) {  // out of memory
    return 0;
  }
}

std::string as_json(std::string_view written, uint8_t types) {
  if (types != kStringType) {
    std::string_view text = strip_like_python(written);
    // Models that have read much Python write these.
    if (text == "True") text = "true";
    if (text == "False") text = "false";
    if (text == "None") text = "null";
    if ((type_of_text(text) & types) != 0) return std::string(text);
  }
  return grammar::json_quoted(written);
}

}  // namespace

std::optional<ToolCall> read_tagged_call(std::string_view text, const CallableTools& tools) {
  std::string_view rest = strip_like_python(text);
  if (!take_text("<function=", rest)) return std::nullopt;
  const auto name = take_until(">", rest);
  const CallableTool* tool = name ? find_tool(tools, *name) : nullptr;
  if (tool == nullptr) return std::nullopt;
  std::string arguments = "{";
  while (true) {
    rest = lstrip_like_python(rest);
    if (take_text("</function>", rest)) break;
    if (!take_text("<parameter=", rest)) return std::nullopt;
    const auto key = take_until(">", rest);
    const auto value = key ? take_until("</parameter>", rest) : std::nullopt;
    if (!value) return std::nullopt;
    if (arguments.size() > 1) arguments += ", ";
    arguments += grammar::json_quoted(*key) + ": " + as_json(without_line_ends(*value), tool->types_of(*key));
  }
  if (!rest.empty()) return std::nullopt;
  return ToolCall{tool->name, arguments + "}"};
}

}  // namespace paceline
