#include "session/gemma/gemma_call.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "grammar/parts.h"

namespace paceline {
namespace {

// Deeper than any schema that is accepted.
constexpr size_t kMaxCallDepth = 128;

bool is_gap(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// A character at a time, with the brackets that are open; writes the JSON while it reads.
class GemmaCallStream final : public CallStream {
 public:
  bool push(std::string_view text) override {
    while (good_ && !text.empty()) {
      if (at_ == At::quoted || at_ == At::quoted_key) {
        take_quoted(text);
      } else {
        good_ = take(text.front());
        text.remove_prefix(1);
      }
    }
    return good_;
  }
  [[nodiscard]] bool is_whole() const { return good_ && at_ == At::end; }

 private:
  enum class At : uint8_t {
    head,
    first_key,  // or the end of an object
    key,
    bare_key,
    quoted_key,
    colon,
    first_item,  // or the end of an array
    value,
    bare,
    quoted,
    behind,  // a value
    end,
  };

  void take_quoted(std::string_view& text) {
    const size_t end = std::min(text.find(kQuoteMark), text.size());
    const std::string written = grammar::json_quoted(text.substr(0, end));
    arguments_.append(written, 1, written.size() - 2);
    text.remove_prefix(end);
    if (text.empty()) return;
    text.remove_prefix(1);
    arguments_ += '"';
    at_ = at_ == At::quoted ? At::behind : At::colon;
  }

  bool take(char c) {
    if (at_ == At::head) return take_head(c);
    if (at_ == At::bare_key) return take_bare_key(c);
    if (at_ == At::bare) return take_bare(c);
    if (is_gap(c)) return true;
    switch (at_) {
      case At::first_key:
        if (c == '}') return close(c);
        [[fallthrough]];
      case At::key: return begin_key(c);
      case At::colon:
        arguments_ += ':';
        at_ = At::value;
        return c == ':';
      case At::first_item:
        if (c == ']') return close(c);
        [[fallthrough]];
      case At::value: return begin_value(c);
      case At::behind: return take_behind(c);
      default: return false;
    }
  }

  bool take_head(char c) {
    if (c != '{') {
      held_ += c;
      return true;
    }
    std::string_view name = held_;
    while (!name.empty() && is_gap(name.front())) name.remove_prefix(1);
    constexpr std::string_view kCall = "call:";
    if (!name.starts_with(kCall)) return false;
    name.remove_prefix(kCall.size());
    if (name.empty() || std::any_of(name.begin(), name.end(), [](char n) { return is_gap(n) || n == kQuoteMark; }))
      return false;
    name_ = name;
    held_.clear();
    return open(c);
  }

  bool open(char bracket) {
    if (open_.size() > kMaxCallDepth) return false;
    open_ += bracket;
    arguments_ += bracket;
    at_ = bracket == '{' ? At::first_key : At::first_item;
    return true;
  }

  bool close(char bracket) {
    if (open_.back() != (bracket == '}' ? '{' : '[')) return false;
    open_.pop_back();
    arguments_ += bracket;
    at_ = open_.empty() ? At::end : At::behind;
    return true;
  }

  bool begin_key(char c) {
    if (c == kQuoteMark) {
      arguments_ += '"';
      at_ = At::quoted_key;
      return true;
    }
    at_ = At::bare_key;
    return take_bare_key(c);
  }

  bool take_bare_key(char c) {
    if (c != ':') {
      held_ += c;
      return std::string_view("{}[],\xFF").find(c) == std::string_view::npos;
    }
    while (!held_.empty() && is_gap(held_.back())) held_.pop_back();
    if (held_.empty()) return false;
    arguments_ += grammar::json_quoted(std::exchange(held_, {})) + ":";
    at_ = At::value;
    return true;
  }

  bool begin_value(char c) {
    if (c == '{' || c == '[') return open(c);
    if (c == kQuoteMark) {
      arguments_ += '"';
      at_ = At::quoted;
      return true;
    }
    at_ = At::bare;
    return take_bare(c);
  }

  // true, false, null or a number, as it is written.
  bool take_bare(char c) {
    if (std::string_view(",}] \n\t\r\xFF").find(c) == std::string_view::npos) {
      held_ += c;
      return true;
    }
    boost::json::error_code failed;
    const auto value = boost::json::parse(held_, failed);
    if (failed || value.is_string() || value.is_structured()) return false;
    arguments_ += std::exchange(held_, {});
    at_ = At::behind;
    return take(c);
  }

  bool take_behind(char c) {
    if (c == '}' || c == ']') return close(c);
    arguments_ += ',';
    at_ = open_.back() == '{' ? At::key : At::value;
    return c == ',';
  }

  At at_ = At::head;
  bool good_ = true;
  std::string open_;  // brackets
  std::string held_;  // of a name, a key or a value that is not written yet
};

}  // namespace

std::unique_ptr<CallStream> begin_gemma_call() { return std::make_unique<GemmaCallStream>(); }

std::optional<ToolCall> read_gemma_call(std::string_view text) {
  GemmaCallStream call;
  if (!call.push(text) || !call.is_whole()) return std::nullopt;
  return ToolCall{call.name(), call.take_arguments()};
}

}  // namespace paceline
