// What stands behind a value: attributes, items, calls, filters, tests.
#include <fmt/format.h>

#include <algorithm>

#include "jinja/expression_parser.h"

namespace paceline::jinja {

Result<ExprPtr> ExpressionParser::parse_postfix(ExprPtr expr) {
  while (true) {
    if (at_op(".")) {
      TRY_ASSIGN(expr, parse_attribute(std::move(expr)));
    } else if (at_op("[")) {
      TRY_ASSIGN(expr, parse_item(std::move(expr)));
    } else if (at_op("(")) {
      TRY_ASSIGN(expr, parse_call(std::move(expr)));
    } else {
      return expr;
    }
  }
}

Result<ExprPtr> ExpressionParser::parse_filters_and_tests(ExprPtr expr) {
  while (true) {
    if (at_op("|")) {
      TRY_ASSIGN(expr, parse_filters(std::move(expr)));
    } else if (at_name("is")) {
      TRY_ASSIGN(expr, parse_test(std::move(expr)));
    } else if (at_op("(")) {
      TRY_ASSIGN(expr, parse_call(std::move(expr)));
    } else {
      return expr;
    }
  }
}

Result<ExprPtr> ExpressionParser::parse_attribute(ExprPtr expr) {
  const int line = take().line;
  if (here().kind == TokenKind::name) {
    TRY_ASSIGN(ExprPtr made, make_of(ExprKind::attribute, line, std::move(expr)));
    made->text = take().text;
    return made;
  }
  if (here().kind != TokenKind::number || !here().number.is(Kind::integer)) return unexpected("a name or a number");
  TRY_ASSIGN(ExprPtr number, parse_primary());
  return make_of(ExprKind::item, line, std::move(expr), std::move(number));
}

Result<ExprPtr> ExpressionParser::parse_item(ExprPtr expr) {
  const int line = take().line;
  std::vector<ExprPtr> subscripts;
  while (!at_op("]")) {
    if (!subscripts.empty()) TRY(expect_op(","));
    TRY_ASSIGN(ExprPtr subscript, parse_subscript());
    subscripts.push_back(std::move(subscript));
  }
  take();
  if (subscripts.size() == 1 && subscripts[0]->kind == ExprKind::slice) {
    ExprPtr slice = std::move(subscripts[0]);
    return make_of(ExprKind::slice, line, std::move(expr), std::move(slice->parts[1]), std::move(slice->parts[2]),
                   std::move(slice->parts[3]));
  }
  for (const ExprPtr& subscript : subscripts) {
    if (subscript->kind == ExprKind::slice && !subscript->parts[0])
      return error(line, "expected one slice or indices, found both");
  }
  if (subscripts.size() == 1) return make_of(ExprKind::item, line, std::move(expr), std::move(subscripts[0]));
  TRY_ASSIGN(ExprPtr tuple, make(ExprKind::tuple, line, std::move(subscripts)));
  return make_of(ExprKind::item, line, std::move(expr), std::move(tuple));
}

// An expression, or a slice whose first part is still missing.
Result<ExprPtr> ExpressionParser::parse_subscript() {
  const int line = here().line;
  ExprPtr begin, end, step;
  if (!at_op(":")) {
    TRY_ASSIGN(begin, parse_expression());
    if (!at_op(":")) return begin;
  }
  take();
  const auto at_border = [&] { return at_op(":") || at_op("]") || at_op(","); };
  if (!at_border()) {
    TRY_ASSIGN(end, parse_expression());
  }
  if (skip_op(":") && !at_op("]") && !at_op(",")) {
    TRY_ASSIGN(step, parse_expression());
  }
  return make_of(ExprKind::slice, line, ExprPtr(), std::move(begin), std::move(end), std::move(step));
}

Status ExpressionParser::parse_argument(CallArguments& arguments) {
  const int line = here().line;
  const bool is_plain = !arguments.all_positional && !arguments.all_named;
  const Error misplaced = error(line, "expected arguments in the order plain, named, *, **");
  if (at_op("*")) {
    if (!is_plain) return misplaced;
    take();
    TRY_ASSIGN(arguments.all_positional, parse_expression());
  } else if (at_op("**")) {
    if (arguments.all_named) return misplaced;
    take();
    TRY_ASSIGN(arguments.all_named, parse_expression());
  } else if (here().kind == TokenKind::name && is_op(behind(), "=")) {
    if (arguments.all_named) return misplaced;
    std::string name = take().text;
    take();
    TRY_ASSIGN(ExprPtr value, parse_expression());
    arguments.named.emplace_back(std::move(name), std::move(value));
  } else {
    if (!is_plain || !arguments.named.empty()) return misplaced;
    TRY_ASSIGN(ExprPtr value, parse_expression());
    arguments.positional.push_back(std::move(value));
  }
  return Done{};
}

Result<std::unique_ptr<CallArguments>> ExpressionParser::parse_arguments() {
  TRY(expect_op("("));
  auto arguments = std::make_unique<CallArguments>();
  bool is_first = true;
  while (!at_op(")")) {
    if (!is_first) {
      TRY(expect_op(","));
      if (at_op(")")) break;
    }
    is_first = false;
    TRY(parse_argument(*arguments));
  }
  take();
  return arguments;
}

Result<ExprPtr> ExpressionParser::parse_call(ExprPtr expr) {
  const int line = here().line;
  TRY_ASSIGN(auto arguments, parse_arguments());
  std::vector<ExprPtr> parts;
  parts.push_back(std::move(expr));
  return make(ExprKind::call, line, std::move(parts), std::move(arguments));
}

Result<std::string> ExpressionParser::parse_dotted_name(std::string_view what) {
  TRY_ASSIGN(std::string name, expect_name(what));
  while (skip_op(".")) {
    TRY_ASSIGN(const std::string more, expect_name(what));
    name += "." + more;
  }
  return name;
}

Result<ExprPtr> ExpressionParser::parse_filters(ExprPtr input, bool first_is_bare) {
  while (at_op("|") || first_is_bare) {
    if (!first_is_bare) take();
    first_is_bare = false;
    const int line = here().line;
    TRY_ASSIGN(std::string name, parse_dotted_name("a filter's name"));
    auto arguments = std::make_unique<CallArguments>();
    if (at_op("(")) {
      TRY_ASSIGN(arguments, parse_arguments());
    }
    std::vector<ExprPtr> parts;
    parts.push_back(std::move(input));
    TRY_ASSIGN(input, make(ExprKind::filter, line, std::move(parts), std::move(arguments)));
    input->filter = find_filter(name);
    if (input->filter == nullptr && !lenient_)
      unknown_.push_back(error(line, fmt::format("no filter named '{}'", name)));
    input->text = std::move(name);
  }
  return input;
}

Result<ExprPtr> ExpressionParser::parse_test(ExprPtr expr) {
  const int line = take().line;
  const bool is_negated = skip_name("not");
  TRY_ASSIGN(std::string name, parse_dotted_name("a test's name"));
  auto arguments = std::make_unique<CallArguments>();
  const TokenKind next = here().kind;
  if (at_op("(")) {
    TRY_ASSIGN(arguments, parse_arguments());
  } else if ((next == TokenKind::name || next == TokenKind::string || next == TokenKind::number || at_op("[") ||
              at_op("{")) &&
             !at_any_name({"else", "or", "and"})) {
    if (at_name("is")) return error(line, "tests cannot be chained with is");
    TRY_ASSIGN(ExprPtr argument, parse_primary());
    TRY_ASSIGN(argument, parse_postfix(std::move(argument)));
    arguments->positional.push_back(std::move(argument));
  }
  std::vector<ExprPtr> parts;
  parts.push_back(std::move(expr));
  TRY_ASSIGN(ExprPtr made, make(ExprKind::test, line, std::move(parts), std::move(arguments)));
  made->test = find_test(name);
  if (made->test == nullptr && !lenient_) unknown_.push_back(error(line, fmt::format("no test named '{}'", name)));
  made->text = std::move(name);
  if (!is_negated) return made;
  return make_of(ExprKind::negate, line, std::move(made));
}

}  // namespace paceline::jinja
