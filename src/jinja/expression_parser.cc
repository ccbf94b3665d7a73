#include "jinja/expression_parser.h"

#include <fmt/format.h>

#include <algorithm>

namespace paceline::jinja {
namespace {

// Python refuses brackets nested deeper than 200, and Jinja's parser runs out of stack before that.
constexpr int kMaxNesting = 80;
constexpr int kMaxHeight = 300;

}  // namespace

ExpressionParser::ExpressionParser(std::vector<Token> tokens) : TokenReader(std::move(tokens)) {
  for (const char* name : {"loop", "caller", "varargs", "kwargs"}) symbol_of(name);
  CHECK(symbols_.size() == kKnownSymbols);
}

Symbol ExpressionParser::symbol_of(const std::string& name) {
  const auto [entry, is_new] = numbers_.emplace(name, static_cast<Symbol>(symbols_.size()));
  if (is_new) symbols_.push_back(name);
  return entry->second;
}

Status ExpressionParser::enter(int line) {
  if (nesting_ >= kMaxNesting) return error(line, fmt::format("expected at most {} levels of nesting", kMaxNesting));
  ++nesting_;
  return Done{};
}

Result<ExprPtr> ExpressionParser::make(ExprKind kind, int line, std::vector<ExprPtr> parts,
                                       std::unique_ptr<CallArguments> arguments) {
  auto expr = std::make_unique<Expr>();
  const auto stand_on = [&](const ExprPtr& part) {
    if (part) expr->height = std::max(expr->height, part->height + 1);
  };
  for (const ExprPtr& part : parts) stand_on(part);
  if (arguments) {
    for (const ExprPtr& part : arguments->positional) stand_on(part);
    for (const auto& [name, part] : arguments->named) stand_on(part);
    stand_on(arguments->all_positional);
    stand_on(arguments->all_named);
  }
  if (expr->height > kMaxHeight) return error(line, "an expression has too many parts within each other");
  expr->kind = kind;
  expr->line = line;
  expr->parts = std::move(parts);
  expr->arguments = std::move(arguments);
  return expr;
}

Result<ExprPtr> ExpressionParser::parse_expression(bool conditions) {
  TRY(enter(here().line));
  auto parsed = conditions ? parse_condition() : parse_or();
  leave();
  return parsed;
}

Result<ExprPtr> ExpressionParser::parse_condition() {
  const int line = here().line;
  const size_t unknown_before = unknown_.size();
  TRY_ASSIGN(ExprPtr value, parse_or());
  while (skip_name("if")) {
    TRY_ASSIGN(ExprPtr condition, parse_or());
    ExprPtr other;
    if (skip_name("else")) {
      TRY_ASSIGN(other, parse_expression());
    }
    TRY_ASSIGN(value, make_of(ExprKind::condition, line, std::move(condition), std::move(value), std::move(other)));
    unknown_.resize(unknown_before);
  }
  return value;
}

Result<ExprPtr> ExpressionParser::parse_or() {
  const int line = here().line;
  TRY_ASSIGN(ExprPtr left, parse_and());
  while (skip_name("or")) {
    TRY_ASSIGN(ExprPtr right, parse_and());
    TRY_ASSIGN(left, make_of(ExprKind::either, line, std::move(left), std::move(right)));
  }
  return left;
}

Result<ExprPtr> ExpressionParser::parse_and() {
  const int line = here().line;
  TRY_ASSIGN(ExprPtr left, parse_not());
  while (skip_name("and")) {
    TRY_ASSIGN(ExprPtr right, parse_not());
    TRY_ASSIGN(left, make_of(ExprKind::both, line, std::move(left), std::move(right)));
  }
  return left;
}

Result<ExprPtr> ExpressionParser::parse_not() {
  const int line = here().line;
  if (!skip_name("not")) return parse_compare();
  TRY(enter(line));
  auto parsed = parse_not();
  leave();
  if (!parsed.ok()) return parsed;
  return make_of(ExprKind::negate, line, std::move(*parsed));
}

Result<ExprPtr> ExpressionParser::parse_compare() {
  static constexpr std::pair<std::string_view, CompareOp> kOps[] = {
      {"==", CompareOp::equal},      {"!=", CompareOp::unequal}, {"<", CompareOp::less},
      {"<=", CompareOp::less_equal}, {">", CompareOp::greater},  {">=", CompareOp::greater_equal},
  };
  const int line = here().line;
  TRY_ASSIGN(ExprPtr first, parse_sum());
  std::vector<ExprPtr> parts;
  parts.push_back(std::move(first));
  std::vector<CompareOp> compares;
  while (true) {
    const auto* op =
        std::find_if(std::begin(kOps), std::end(kOps), [&](const auto& each) { return at_op(each.first); });
    if (op != std::end(kOps)) {
      take();
      compares.push_back(op->second);
    } else if (skip_name("in")) {
      compares.push_back(CompareOp::in);
    } else if (at_name("not") && is_name(behind(), "in")) {
      take();
      take();
      compares.push_back(CompareOp::not_in);
    } else {
      break;
    }
    TRY_ASSIGN(ExprPtr next, parse_sum());
    parts.push_back(std::move(next));
  }
  if (compares.empty()) return std::move(parts[0]);
  TRY_ASSIGN(ExprPtr expr, make(ExprKind::compare, line, std::move(parts)));
  expr->compares = std::move(compares);
  return expr;
}

Result<ExprPtr> ExpressionParser::parse_sum() {
  const int line = here().line;
  TRY_ASSIGN(ExprPtr left, parse_concat());
  while (at_op("+") || at_op("-")) {
    const BinaryOp op = take().text == "+" ? BinaryOp::add : BinaryOp::subtract;
    TRY_ASSIGN(ExprPtr right, parse_concat());
    TRY_ASSIGN(left, make_of(ExprKind::binary, line, std::move(left), std::move(right)));
    left->op = op;
  }
  return left;
}

Result<ExprPtr> ExpressionParser::parse_concat() {
  const int line = here().line;
  TRY_ASSIGN(ExprPtr first, parse_product());
  if (!at_op("~")) return first;
  std::vector<ExprPtr> parts;
  parts.push_back(std::move(first));
  while (skip_op("~")) {
    TRY_ASSIGN(ExprPtr next, parse_product());
    parts.push_back(std::move(next));
  }
  return make(ExprKind::concat, line, std::move(parts));
}

Result<ExprPtr> ExpressionParser::parse_product() {
  static constexpr std::pair<std::string_view, BinaryOp> kOps[] = {
      {"*", BinaryOp::multiply},
      {"/", BinaryOp::divide},
      {"//", BinaryOp::floor_divide},
      {"%", BinaryOp::modulo},
  };
  const int line = here().line;
  TRY_ASSIGN(ExprPtr left, parse_power());
  while (true) {
    const auto* op =
        std::find_if(std::begin(kOps), std::end(kOps), [&](const auto& each) { return at_op(each.first); });
    if (op == std::end(kOps)) return left;
    take();
    TRY_ASSIGN(ExprPtr right, parse_power());
    TRY_ASSIGN(left, make_of(ExprKind::binary, line, std::move(left), std::move(right)));
    left->op = op->second;
  }
}

Result<ExprPtr> ExpressionParser::parse_power() {
  const int line = here().line;
  TRY_ASSIGN(ExprPtr left, parse_unary());
  while (skip_op("**")) {
    TRY_ASSIGN(ExprPtr right, parse_unary());
    TRY_ASSIGN(left, make_of(ExprKind::binary, line, std::move(left), std::move(right)));
    left->op = BinaryOp::power;
  }
  return left;
}

Result<ExprPtr> ExpressionParser::parse_unary(bool with_filters) {
  const int line = here().line;
  ExprPtr expr;
  if (at_op("-") || at_op("+")) {
    const ExprKind kind = take().text == "-" ? ExprKind::minus : ExprKind::plus;
    TRY(enter(line));
    auto operand = parse_unary(false);
    leave();
    if (!operand.ok()) return operand;
    TRY_ASSIGN(expr, make_of(kind, line, std::move(*operand)));
  } else {
    TRY_ASSIGN(expr, parse_primary());
  }
  TRY_ASSIGN(expr, parse_postfix(std::move(expr)));
  if (!with_filters) return expr;
  return parse_filters_and_tests(std::move(expr));
}

Result<ExprPtr> ExpressionParser::parse_name(bool spaces) {
  const Token& token = take();
  const bool is_yes = token.text == "true" || token.text == "True";
  if (is_yes || token.text == "false" || token.text == "False") {
    TRY_ASSIGN(ExprPtr expr, make_of(ExprKind::constant, token.line));
    expr->value = Value::boolean(is_yes);
    return expr;
  }
  if (token.text == "none" || token.text == "None") {
    TRY_ASSIGN(ExprPtr expr, make_of(ExprKind::constant, token.line));
    expr->value = Value::none();
    return expr;
  }
  TRY_ASSIGN(ExprPtr expr, make_of(ExprKind::name, token.line));
  expr->symbol = symbol_of(token.text);
  if (spaces && skip_op(".")) {
    expr->kind = ExprKind::space_name;
    TRY_ASSIGN(expr->text, expect_name("a name"));
  }
  if (!signatures_.empty()) {
    Signature& signature = *signatures_.back();
    signature.uses_caller |= expr->symbol == kCaller;
    signature.uses_varargs |= expr->symbol == kVarargs;
    signature.uses_kwargs |= expr->symbol == kKwargs;
  }
  return expr;
}

Result<ExprPtr> ExpressionParser::parse_primary(bool spaces) {
  const Token& token = here();
  switch (token.kind) {
    case TokenKind::name: return parse_name(spaces);
    case TokenKind::string: {
      TRY_ASSIGN(ExprPtr expr, make_of(ExprKind::constant, token.line));
      std::string text;
      while (here().kind == TokenKind::string) text += take().text;
      expr->value = Value::string(std::move(text));
      return expr;
    }
    case TokenKind::number: {
      TRY_ASSIGN(ExprPtr expr, make_of(ExprKind::constant, token.line));
      expr->value = take().number;
      return expr;
    }
    default: break;
  }
  if (at_op("[")) return parse_list();
  if (at_op("{")) return parse_dict();
  if (!at_op("(")) return unexpected("an expression");
  take();
  TRY_ASSIGN(ExprPtr expr, parse_tuple({.parenthesised = true}));
  TRY(expect_op(")"));
  return expr;
}

Result<ExprPtr> ExpressionParser::parse_tuple(const TupleRules& rules) {
  const int line = here().line;
  std::vector<ExprPtr> parts;
  bool is_tuple = false;
  while (true) {
    if (!parts.empty()) TRY(expect_op(","));
    const bool ends = here().kind == TokenKind::print_end || here().kind == TokenKind::tag_end || at_op(")") ||
                      (!rules.end_name.empty() && at_name(rules.end_name));
    if (ends) break;
    auto part = [&]() -> Result<ExprPtr> {
      if (!rules.simple) return parse_expression(rules.conditions);
      TRY(enter(here().line));
      auto primary = parse_primary(rules.spaces);
      leave();
      return primary;
    }();
    if (!part.ok()) return part;
    parts.push_back(std::move(*part));
    if (!at_op(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !parts.empty()) return std::move(parts[0]);
  if (!is_tuple && !rules.parenthesised) return unexpected("an expression");
  return make(ExprKind::tuple, line, std::move(parts));
}

Result<ExprPtr> ExpressionParser::parse_target(const TupleRules& rules) {
  TRY_ASSIGN(ExprPtr target, parse_tuple(rules));
  const auto check = [&](const auto& self, const Expr& expr) -> Status {
    if (expr.kind == ExprKind::tuple) {
      for (const ExprPtr& part : expr.parts) TRY(self(self, *part));
      return Done{};
    }
    if (expr.kind == ExprKind::name || expr.kind == ExprKind::space_name) return Done{};
    return error(expr.line, "expected a name to assign to, found another expression");
  };
  TRY(check(check, *target));
  return target;
}

Result<ExprPtr> ExpressionParser::parse_list() {
  const int line = take().line;
  std::vector<ExprPtr> parts;
  while (!at_op("]")) {
    if (!parts.empty()) TRY(expect_op(","));
    if (at_op("]")) break;
    TRY_ASSIGN(ExprPtr part, parse_expression());
    parts.push_back(std::move(part));
  }
  take();
  return make(ExprKind::list, line, std::move(parts));
}

Result<ExprPtr> ExpressionParser::parse_dict() {
  const int line = take().line;
  std::vector<ExprPtr> parts;
  while (!at_op("}")) {
    if (!parts.empty()) TRY(expect_op(","));
    if (at_op("}")) break;
    TRY_ASSIGN(ExprPtr key, parse_expression());
    TRY(expect_op(":"));
    TRY_ASSIGN(ExprPtr value, parse_expression());
    parts.push_back(std::move(key));
    parts.push_back(std::move(value));
  }
  take();
  return make(ExprKind::dict, line, std::move(parts));
}

}  // namespace paceline::jinja
