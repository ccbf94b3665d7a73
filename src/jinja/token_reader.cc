#include "jinja/token_reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace paceline::jinja {

const Token& TokenReader::take() {
  const Token& token = tokens_[at_];
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool TokenReader::at_any_name(std::initializer_list<std::string_view> names) const {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) { return at_name(name); });
}

bool TokenReader::skip_op(std::string_view op) {
  if (!at_op(op)) return false;
  take();
  return true;
}

bool TokenReader::skip_name(std::string_view name) {
  if (!at_name(name)) return false;
  take();
  return true;
}

Error TokenReader::error(int line, const std::string& what) const {
  return Error{fmt::format("line {}: {}", line, what)};
}

Error TokenReader::unexpected(std::string_view wanted) const {
  return error(here().line, fmt::format("expected {}, found {}", wanted, describe(here())));
}

Status TokenReader::expect_op(std::string_view op) {
  if (!skip_op(op)) return unexpected(fmt::format("'{}'", op));
  return Done{};
}

Status TokenReader::expect(TokenKind kind, std::string_view what) {
  if (here().kind != kind) return unexpected(what);
  take();
  return Done{};
}

Result<std::string> TokenReader::expect_name(std::string_view what) {
  if (here().kind != TokenKind::name) return unexpected(what);
  return take().text;
}

}  // namespace paceline::jinja
