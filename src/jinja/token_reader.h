// A walk over tokens: what is here, what is skipped, what must come, and what is said where it does not.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "jinja/lexer.h"

namespace paceline::jinja {

class TokenReader {
 public:
  explicit TokenReader(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

 protected:
  [[nodiscard]] const Token& here() const { return tokens_[at_]; }
  [[nodiscard]] const Token& behind() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  const Token& take();
  [[nodiscard]] bool at_op(std::string_view op) const { return is_op(here(), op); }
  [[nodiscard]] bool at_name(std::string_view name) const { return is_name(here(), name); }
  [[nodiscard]] bool at_any_name(std::initializer_list<std::string_view> names) const;
  static bool is_op(const Token& token, std::string_view op) { return token.kind == TokenKind::op && token.text == op; }
  static bool is_name(const Token& token, std::string_view name) {
    return token.kind == TokenKind::name && token.text == name;
  }
  bool skip_op(std::string_view op);
  bool skip_name(std::string_view name);
  Status expect_op(std::string_view op);
  Status expect(TokenKind kind, std::string_view what);
  Result<std::string> expect_name(std::string_view what);
  [[nodiscard]] Error error(int line, const std::string& what) const;
  [[nodiscard]] Error unexpected(std::string_view wanted) const;

  size_t at_ = 0;

 private:
  std::vector<Token> tokens_;
};

}  // namespace paceline::jinja
