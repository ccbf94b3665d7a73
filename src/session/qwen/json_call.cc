#include "session/qwen/json_call.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <exception>
#include <utility>

namespace paceline {
namespace {

namespace json = boost::json;

std::optional<json::value> parsed_json(std::string_view text) {
  json::error_code failed;
  try {
    json::value value = json::parse(text, failed);
    if (!failed) return value;
  } catch (const std::exception&) {  // out of memory
  }
  return std::nullopt;
}

// Where the value that begins at `pos` of valid JSON ends.
size_t end_of_value(std::string_view text, size_t pos) {
  int depth = 0;
  bool in_string = false;
  for (; pos < text.size(); ++pos) {
    const char c = text[pos];
    if (in_string) {
      if (c == '\\') ++pos;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (depth == 0 && (c == ',' || c == '}' || c == ']')) {
      break;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return pos;
}

// The member of an object as it is written, numbers with all their digits. The last of those with the same name, as the
// parser has it.
std::string_view member_text(std::string_view object, std::string_view name) {
  std::string_view found;
  for (size_t pos = object.find('{') + 1; pos < object.size();) {
    const size_t begin = object.find('"', pos);
    if (begin == std::string_view::npos) break;
    size_t colon = begin + 1;
    while (object[colon] != '"') colon += object[colon] == '\\' ? 2 : 1;
    const std::string_view key = object.substr(begin + 1, colon - begin - 1);
    colon = object.find(':', colon);
    const size_t end = end_of_value(object, colon + 1);
    if (key == name) found = object.substr(colon + 1, end - colon - 1);
    pos = end + 1;
  }
  const auto is_gap = [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; };
  while (!found.empty() && is_gap(found.front())) found.remove_prefix(1);
  while (!found.empty() && is_gap(found.back())) found.remove_suffix(1);
  return found;
}

// "\n{"name": "f", "arguments": ", an object, and "}\n".
class JsonCallStream final : public CallStream {
 public:
  explicit JsonCallStream(const CallableTools& tools) : tools_(tools) {}

  bool push(std::string_view text) override {
    if (!name_.empty()) {
      take_arguments_of(text);
      return true;
    }
    constexpr std::string_view kBegin = "\n{\"name\": \"", kBehind = "\", \"arguments\": ";
    head_ += text;
    if (!head_.starts_with(kBegin)) return kBegin.starts_with(head_);
    const size_t quote = head_.find('"', kBegin.size());
    const std::string_view rest = std::string_view(head_).substr(std::min(quote, head_.size()));
    if (!rest.starts_with(kBehind)) return kBehind.starts_with(rest);
    std::string name = head_.substr(kBegin.size(), quote - kBegin.size());
    if (find_tool(tools_, name) == nullptr) return false;
    name_ = std::move(name);
    take_arguments_of(rest.substr(kBehind.size()));
    return true;
  }

 private:
  void take_arguments_of(std::string_view text) {
    for (const char c : text) {
      if (ended_) return;
      arguments_ += c;
      if (std::exchange(escaped_, false)) continue;
      if (in_string_) {
        escaped_ = c == '\\';
        in_string_ = c != '"';
      } else if (c == '"') {
        in_string_ = true;
      } else if (c == '{' || c == '[') {
        ++depth_;
      } else if (c == '}' || c == ']') {
        ended_ = --depth_ == 0;
      }
    }
  }

  const CallableTools& tools_;
  std::string head_;
  int depth_ = 0;
  bool in_string_ = false, escaped_ = false, ended_ = false;
};

}  // namespace

std::unique_ptr<CallStream> begin_json_call(const CallableTools& tools) {
  return std::make_unique<JsonCallStream>(tools);
}

std::optional<ToolCall> read_json_call(std::string_view text, const CallableTools& tools) {
  const auto call = parsed_json(text);
  if (!call || !call->is_object()) return std::nullopt;
  const json::value* name = call->get_object().if_contains("name");
  if (name == nullptr || !name->is_string() || find_tool(tools, name->get_string()) == nullptr) return std::nullopt;
  const std::string called(name->get_string());
  const json::value* arguments = call->get_object().if_contains("arguments");
  // A call without arguments is one.
  if (arguments == nullptr || arguments->is_null()) return ToolCall{called, "{}"};
  if (arguments->is_string()) {
    // Written as a string that holds them.
    const auto inner = parsed_json(arguments->get_string());
    if (!inner || !inner->is_object()) return std::nullopt;
    return ToolCall{called, std::string(arguments->get_string())};
  }
  if (!arguments->is_object()) return std::nullopt;
  const std::string_view written = member_text(text, "arguments");
  // A name that is spelled with escapes has no text that we would find.
  if (written.empty()) return std::nullopt;
  return ToolCall{called, std::string(written)};
}

}  // namespace paceline
