#include "session/gemma/gemma_call.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "grammar/parts.h"

namespace paceline {
namespace {

// Deeper than any schema that is accepted; a reader by recursion has to end somewhere.
constexpr int kMaxCallDepth = 128;

bool is_gap(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// Writes the JSON while it reads; false as soon as it cannot be a call.
class CallReader {
 public:
  explicit CallReader(std::string_view text) : rest_(text) {}

  bool read(ToolCall* call) {
    skip_gap();
    if (!take_text("call:")) return false;
    const size_t brace = rest_.find('{');
    if (brace == std::string_view::npos || brace == 0) return false;
    call->name = rest_.substr(0, brace);
    if (std::any_of(call->name.begin(), call->name.end(), [](char c) { return is_gap(c) || c == kQuoteMark; })) {
      return false;
    }
    rest_.remove_prefix(brace);
    if (!object(0)) return false;
    skip_gap();
    call->arguments = std::move(out_);
    return rest_.empty();
  }

 private:
  void skip_gap() {
    while (!rest_.empty() && is_gap(rest_.front())) rest_.remove_prefix(1);
  }
  bool take_text(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  // A character of the notation, with white space around it.
  bool take(char c) {
    skip_gap();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    skip_gap();
    return true;
  }

  bool quoted() {
    rest_.remove_prefix(1);
    const size_t end = rest_.find(kQuoteMark);
    if (end == std::string_view::npos) return false;
    out_ += grammar::json_quoted(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return true;
  }

  bool key() {
    if (!rest_.empty() && rest_.front() == kQuoteMark) return quoted();
    const size_t end = rest_.find(':');
    if (end == std::string_view::npos || end == 0) return false;
    std::string_view name = rest_.substr(0, end);
    while (!name.empty() && is_gap(name.back())) name.remove_suffix(1);
    if (name.find_first_of("{}[],\xFF") != std::string_view::npos) return false;
    out_ += grammar::json_quoted(name);
    rest_.remove_prefix(end);
    return true;
  }

  // true, false, null or a number, as it is written.
  bool bare() {
    const std::string_view literal = rest_.substr(0, std::min(rest_.find_first_of(",}] \n\t\r\xFF"), rest_.size()));
    boost::json::error_code failed;
    const auto value = boost::json::parse(literal, failed);
    if (failed || value.is_string() || value.is_structured()) return false;
    out_ += literal;
    rest_.remove_prefix(literal.size());
    return true;
  }

  bool value(int depth) {
    if (rest_.empty()) return false;
    switch (rest_.front()) {
      case kQuoteMark: return quoted();
      case '{': return object(depth);
      case '[': return array(depth);
      default: return bare();
    }
  }

  bool object(int depth) {
    if (depth > kMaxCallDepth || !take('{')) return false;
    out_ += '{';
    for (bool first = true; !take('}'); first = false) {
      if (!first && !take(',')) return false;
      if (!first) out_ += ',';
      if (!key() || !take(':')) return false;
      out_ += ':';
      if (!value(depth + 1)) return false;
    }
    out_ += '}';
    return true;
  }

  bool array(int depth) {
    if (depth > kMaxCallDepth || !take('[')) return false;
    out_ += '[';
    for (bool first = true; !take(']'); first = false) {
      if (!first && !take(',')) return false;
      if (!first) out_ += ',';
      if (!value(depth + 1)) return false;
    }
    out_ += ']';
    return true;
  }

  std::string_view rest_;
  std::string out_;
};

}  // namespace

std::optional<ToolCall> read_gemma_call(std::string_view text) {
  ToolCall call;
  if (!CallReader(text).read(&call)) return std::nullopt;
  return call;
}

}  // namespace paceline
