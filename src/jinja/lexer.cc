#include "jinja/lexer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "jinja/literals.h"

namespace paceline::jinja {
namespace {

// \r\n and \r become \n; one newline at the end goes.
std::string with_plain_newlines(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      text += source[i];
      continue;
    }
    text += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)), rest_(source_) {}

  Result<std::vector<Token>> run();

 private:
  Status text_and_opening();
  Status comment();
  // The bytes of {% raw %} at the front of `at`, or 0.
  static size_t raw_begin_bytes(std::string_view at);
  Status raw();
  Status inside(bool is_tag);
  bool closing(bool is_tag);
  Status expression_token();
  Status string_token();
  Status operator_token();
  void push_text(std::string_view text, char sign, bool may_strip);

  [[nodiscard]] size_t pos() const { return static_cast<size_t>(rest_.data() - source_.data()); }
  [[nodiscard]] bool line_starts() const { return pos() == 0 || source_[pos() - 1] == '\n'; }
  void skip(size_t bytes) {
    line_ += static_cast<int>(std::count(rest_.begin(), rest_.begin() + static_cast<ptrdiff_t>(bytes), '\n'));
    rest_.remove_prefix(bytes);
  }
  void skip_space() { skip(rest_.size() - lstrip_like_python(rest_).size()); }
  // Takes `close` off the front, with what the sign before it asks for: -: all white space behind; none: a newline,
  // where `trims`.
  bool take_close(std::string_view close, bool trims, bool plus_allowed);
  void push(TokenKind kind, std::string text = {}) { tokens_.push_back({kind, line_, std::move(text), {}}); }
  [[nodiscard]] Error error(const std::string& what) const { return Error{fmt::format("line {}: {}", line_, what)}; }

  std::string source_;
  std::string_view rest_;
  int line_ = 1;
  std::vector<Token> tokens_;
  std::string open_brackets_;
};

// Text before a tag: `sign` is that of the tag, '\0' for none.
void Lexer::push_text(std::string_view text, char sign, bool may_strip) {
  std::string_view kept = text;
  if (sign == '-') {
    kept = rstrip_like_python(text);
  } else if (sign != '+' && may_strip) {
    const size_t newline = text.rfind('\n');
    const size_t line = newline == std::string_view::npos ? 0 : newline + 1;
    const bool begins_line = newline != std::string_view::npos || line_starts();
    if (begins_line && lstrip_like_python(text.substr(line)).empty()) kept = text.substr(0, line);
  }
  if (!kept.empty()) push(TokenKind::text, std::string(kept));
}

size_t Lexer::raw_begin_bytes(std::string_view at) {
  size_t pos = 2;
  if (pos < at.size() && (at[pos] == '-' || at[pos] == '+')) ++pos;
  const auto skip_blanks = [&] { pos = at.size() - lstrip_like_python(at.substr(std::min(pos, at.size()))).size(); };
  skip_blanks();
  if (!at.substr(pos).starts_with("raw")) return 0;
  pos += 3;
  skip_blanks();
  if (at.substr(pos).starts_with("%}")) return pos + 2;
  if (!at.substr(pos).starts_with("-%}")) return 0;
  pos += 3;
  skip_blanks();
  return pos;
}

Status Lexer::text_and_opening() {
  size_t open = 0;
  while (true) {
    open = rest_.find('{', open);
    if (open == std::string_view::npos || open + 1 >= rest_.size()) {
      push(TokenKind::text, std::string(rest_));
      skip(rest_.size());
      return Done{};
    }
    const char kind = rest_[open + 1];
    if (kind == '{' || kind == '%' || kind == '#') break;
    ++open;
  }
  const char kind = rest_[open + 1];
  const char next = open + 2 < rest_.size() ? rest_[open + 2] : '\0';
  const char sign = next == '-' || next == '+' ? next : '\0';
  push_text(rest_.substr(0, open), sign, kind != '{');
  skip(open);
  if (const size_t bytes = kind == '%' ? raw_begin_bytes(rest_) : 0; bytes > 0) {
    skip(bytes);
    return raw();
  }
  skip(sign != '\0' ? 3 : 2);
  if (kind == '#') return comment();
  push(kind == '{' ? TokenKind::print_begin : TokenKind::tag_begin);
  return inside(kind == '%');
}

bool Lexer::take_close(std::string_view close, bool trims, bool plus_allowed) {
  const bool has_sign = rest_.starts_with('-') || (plus_allowed && rest_.starts_with('+'));
  const char sign = has_sign ? rest_[0] : '\0';
  if (!rest_.substr(has_sign ? 1 : 0).starts_with(close)) return false;
  skip(close.size() + (has_sign ? 1 : 0));
  if (sign == '-') {
    skip_space();
  } else if (sign == '\0' && trims && rest_.starts_with('\n')) {
    skip(1);
  }
  return true;
}

Status Lexer::comment() {
  const size_t end = rest_.find("#}");
  if (end == std::string_view::npos) return error("a comment does not end");
  const bool has_sign = end > 0 && (rest_[end - 1] == '-' || rest_[end - 1] == '+');
  skip(has_sign ? end - 1 : end);
  take_close("#}", true, true);
  return Done{};
}

Status Lexer::raw() {
  for (size_t open = rest_.find("{%"); open != std::string_view::npos; open = rest_.find("{%", open + 1)) {
    std::string_view tag = rest_.substr(open + 2);
    const char sign = tag.starts_with('-') || tag.starts_with('+') ? tag[0] : '\0';
    tag = lstrip_like_python(tag.substr(sign != '\0' ? 1 : 0));
    if (!tag.starts_with("endraw")) continue;
    tag = lstrip_like_python(tag.substr(6));
    if (!tag.starts_with("%}") && !tag.starts_with("-%}") && !tag.starts_with("+%}")) continue;
    push_text(rest_.substr(0, open), sign, true);
    skip(static_cast<size_t>(tag.data() - rest_.data()));
    take_close("%}", true, true);
    return Done{};
  }
  // Jinja lets it pass where nothing follows.
  if (rest_.empty()) return Done{};
  return error("a raw block does not end");
}

bool Lexer::closing(bool is_tag) {
  if (!open_brackets_.empty()) return false;
  const int line = line_;
  if (!take_close(is_tag ? "%}" : "}}", is_tag, is_tag)) return false;
  tokens_.push_back({is_tag ? TokenKind::tag_end : TokenKind::print_end, line, "", {}});
  return true;
}

Status Lexer::inside(bool is_tag) {
  while (true) {
    skip_space();
    if (rest_.empty()) return error(is_tag ? "a tag does not end" : "an expression does not end");
    if (closing(is_tag)) return Done{};
    TRY(expression_token());
  }
}

Status Lexer::expression_token() {
  const bool behind_dot = pos() > 0 && source_[pos() - 1] == '.';
  if (const size_t bytes = number_bytes(rest_, behind_dot); bytes > 0) {
    auto number = read_number(rest_.substr(0, bytes));
    if (!number.ok()) return error(number.error().message);
    tokens_.push_back({TokenKind::number, line_, std::string(rest_.substr(0, bytes)), std::move(*number)});
    skip(bytes);
    return Done{};
  }
  size_t bytes = 0;
  while (bytes < rest_.size()) {
    const TextChar next = char_at(rest_, bytes);
    if (!is_word_char(next.code)) break;
    bytes += next.bytes;
  }
  if (bytes > 0) {
    push(TokenKind::name, std::string(rest_.substr(0, bytes)));
    skip(bytes);
    return Done{};
  }
  if (rest_[0] == '\'' || rest_[0] == '"') return string_token();
  return operator_token();
}

Status Lexer::string_token() {
  size_t end = 1;
  while (end < rest_.size() && rest_[end] != rest_[0]) end += rest_[end] == '\\' ? 2 : 1;
  if (end >= rest_.size()) return error("a string does not end");
  auto text = unescape(rest_.substr(1, end - 1));
  if (!text.ok()) return error(text.error().message);
  push(TokenKind::string, std::move(*text));
  skip(end + 1);
  return Done{};
}

Status Lexer::operator_token() {
  constexpr std::string_view kLong[] = {"//", "**", "==", "!=", ">=", "<="};
  constexpr std::string_view kShort = "+-/*%~[](){}><=.:|,;";
  size_t bytes = kShort.find(rest_[0]) != std::string_view::npos ? 1 : 0;
  for (const std::string_view op : kLong) {
    if (rest_.starts_with(op)) bytes = 2;
  }
  if (bytes == 0) {
    return error(fmt::format("unexpected character '{}'", rest_.substr(0, char_at(rest_, 0).bytes)));
  }
  const char c = rest_[0];
  if (c == '(' || c == '[' || c == '{') {
    open_brackets_ += c == '(' ? ')' : c == '[' ? ']' : '}';
  } else if (c == ')' || c == ']' || c == '}') {
    if (open_brackets_.empty() || open_brackets_.back() != c) return error(fmt::format("unexpected '{}'", c));
    open_brackets_.pop_back();
  }
  push(TokenKind::op, std::string(rest_.substr(0, bytes)));
  skip(bytes);
  return Done{};
}

Result<std::vector<Token>> Lexer::run() {
  while (!rest_.empty()) TRY(text_and_opening());
  push(TokenKind::end);
  return std::move(tokens_);
}

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view source) { return Lexer(with_plain_newlines(source)).run(); }

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::text: return "text";
    case TokenKind::print_begin: return "'{{'";
    case TokenKind::print_end: return "'}}'";
    case TokenKind::tag_begin: return "'{%'";
    case TokenKind::tag_end: return "'%}'";
    case TokenKind::string: return "a string";
    case TokenKind::end: return "the end of the template";
    default: return "'" + token.text + "'";
  }
}

}  // namespace paceline::jinja
