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

// A parameter that is a string leaves while it is written, another when it is whole.
class TaggedCallStream final : public CallStream {
 public:
  explicit TaggedCallStream(const CallableTools& tools) : tools_(tools) {}

  bool push(std::string_view text) override {
    rest_ += text;
    while (good_ && step()) {
    }
    return good_;
  }

 private:
  // False: more text is needed, or none.
  bool step() {
    if (ended_) return false;
    if (tool_ == nullptr) return begin_function();
    return in_value_ ? take_value() : begin_parameter();
  }

  bool begin_function() {
    std::string_view rest = lstrip_like_python(rest_);
    if (rest.size() < kFunction.size()) return false;
    good_ = take_text(kFunction, rest);
    const auto name = good_ ? take_until(">", rest) : std::nullopt;
    if (!name) return false;
    tool_ = find_tool(tools_, *name);
    good_ = tool_ != nullptr;
    if (!good_) return false;
    name_ = tool_->name;
    arguments_ = "{";
    rest_ = std::string(rest);
    return true;
  }

  bool begin_parameter() {
    std::string_view rest = lstrip_like_python(rest_);
    if (take_text("</function>", rest)) {
      arguments_ += "}";
      ended_ = true;
      return false;
    }
    const auto key = take_text("<parameter=", rest) ? take_until(">", rest) : std::nullopt;
    if (!key) return false;
    types_ = tool_->types_of(*key);
    arguments_ += (std::exchange(has_some_, true) ? ", " : "") + grammar::json_quoted(*key) + ": ";
    rest_ = std::string(rest);
    in_value_ = true;
    in_text_ = false;
    return true;
  }

  bool take_value() {
    std::string_view rest = rest_;
    const auto value = take_until(kParameterEnd, rest);
    if (types_ == kStringType) {
      if (!value) return take_text_part();
      std::string_view last = in_text_ ? *value : without_first_line_end(*value);
      if (last.ends_with('\n')) last.remove_suffix(1);
      if (!std::exchange(in_text_, true)) arguments_ += '"';
      add_text(last);
      arguments_ += '"';
    } else {
      if (!value) return false;
      arguments_ += as_json(without_line_ends(*value), types_);
    }
    rest_ = std::string(rest);
    in_value_ = false;
    return true;
  }

  // All but what may be the end of it; between characters.
  bool take_text_part() {
    const size_t most = kParameterEnd.size();  // with the line's end before it, less one
    if (rest_.size() <= most + 1) return false;
    size_t cut = rest_.size() - most;
    while (cut > 0 && (static_cast<uint8_t>(rest_[cut]) & 0xC0) == 0x80) --cut;
    std::string_view part = std::string_view(rest_).substr(0, cut);
    if (!std::exchange(in_text_, true)) {
      arguments_ += '"';
      part = without_first_line_end(part);
    }
    add_text(part);
    rest_.erase(0, cut);
    return false;
  }

  static std::string_view without_first_line_end(std::string_view text) {
    if (text.starts_with('\n')) text.remove_prefix(1);
    return text;
  }

  void add_text(std::string_view text) {
    const std::string quoted = grammar::json_quoted(text);
    arguments_.append(quoted, 1, quoted.size() - 2);
  }

  static constexpr std::string_view kFunction = "<function=", kParameterEnd = "</parameter>";
  const CallableTools& tools_;
  const CallableTool* tool_ = nullptr;
  std::string rest_;  // that is not told yet
  uint8_t types_ = kStringType;
  bool good_ = true, ended_ = false, has_some_ = false, in_value_ = false, in_text_ = false;
};

}  // namespace

std::unique_ptr<CallStream> begin_tagged_call(const CallableTools& tools) {
  return std::make_unique<TaggedCallStream>(tools);
}

std::optional<ToolCall> read_tagged_call(std::string_view text, const CallableTools& tools) {
  // No JSON says it.
  if (!is_valid_utf8(text)) return std::nullopt;
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
