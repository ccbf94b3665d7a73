#include "jinja/parser.h"

#include <fmt/format.h>

#include "jinja/expression_parser.h"

namespace paceline::jinja {
namespace {

using Names = std::initializer_list<std::string_view>;

class Parser : private ExpressionParser {
 public:
  explicit Parser(std::vector<Token> tokens) : ExpressionParser(std::move(tokens)) {}

  Result<Tree> run();

 private:
  // Statements up to one of the tags `ends`, which is left to be read; without any, to the end of the template.
  Result<Body> parse_body(Names ends);
  // What follows a tag's own part: its end, statements, and the closing tag's name.
  Result<Body> parse_block(Names ends);
  Result<Stmt> parse_statement();
  Result<Stmt> parse_tag(const std::string& tag, int line);
  Result<Stmt> parse_if(int line);
  Result<Stmt> parse_for(int line);
  Result<Stmt> parse_set(int line);
  Result<Stmt> parse_macro(int line);
  Result<Stmt> parse_call_block(int line);
  Result<Stmt> parse_generation(int line);
  Result<Stmt> parse_filter_block(int line);
  Result<Stmt> parse_with(int line);
  Result<Stmt> parse_print(int line);
  Result<Stmt> parse_autoescape(int line);
  Result<Stmt> parse_named_block(int line);
  Result<Stmt> parse_missing(const std::string& tag, int line);
  Status parse_parameters(Signature& signature);
  // A body that is a function of its own: loops outside it are out of its reach.
  Result<std::shared_ptr<const Signature>> parse_function(std::shared_ptr<Signature> signature, std::string_view end);

  int loops_ = 0;
};

Stmt statement(StmtKind kind, int line) {
  Stmt stmt;
  stmt.kind = kind;
  stmt.line = line;
  return stmt;
}

Result<Body> Parser::parse_body(Names ends) {
  Body body;
  while (here().kind != TokenKind::end) {
    const int line = here().line;
    if (here().kind == TokenKind::text) {
      Stmt stmt = statement(StmtKind::output, line);
      stmt.text = take().text;
      body.push_back(std::move(stmt));
    } else if (here().kind == TokenKind::print_begin) {
      take();
      Stmt stmt = statement(StmtKind::print, line);
      TRY_ASSIGN(stmt.expr, parse_tuple({}));
      TRY(expect(TokenKind::print_end, "'}}'"));
      body.push_back(std::move(stmt));
    } else {
      TRY(expect(TokenKind::tag_begin, "a tag"));
      if (at_any_name(ends)) return body;
      TRY_ASSIGN(Stmt stmt, parse_statement());
      body.push_back(std::move(stmt));
      TRY(expect(TokenKind::tag_end, "'%}'"));
    }
  }
  if (ends.size() > 0) return unexpected(fmt::format("{{% {} %}}", *(ends.end() - 1)));
  return body;
}

Result<Body> Parser::parse_block(Names ends) {
  skip_op(":");
  TRY(expect(TokenKind::tag_end, "'%}'"));
  return parse_body(ends);
}

Result<Stmt> Parser::parse_statement() {
  const int line = here().line;
  TRY_ASSIGN(const std::string tag, expect_name("a tag's name"));
  TRY(enter(line));
  // Only what stands directly under an `if` is under it.
  const bool was_lenient = std::exchange(lenient_, lenient_ && (tag == "if" || tag == "set" || tag == "print"));
  auto parsed = parse_tag(tag, line);
  lenient_ = was_lenient;
  leave();
  return parsed;
}

Result<Stmt> Parser::parse_tag(const std::string& tag, int line) {
  if (tag == "if") return parse_if(line);
  if (tag == "for") return parse_for(line);
  if (tag == "set") return parse_set(line);
  if (tag == "macro") return parse_macro(line);
  if (tag == "call") return parse_call_block(line);
  if (tag == "generation") return parse_generation(line);
  if (tag == "filter") return parse_filter_block(line);
  if (tag == "with") return parse_with(line);
  if (tag == "print") return parse_print(line);
  if (tag == "autoescape") return parse_autoescape(line);
  if (tag == "block") return parse_named_block(line);
  if (tag == "include" || tag == "import" || tag == "from" || tag == "extends") return parse_missing(tag, line);
  if (tag == "break" || tag == "continue") {
    if (loops_ == 0) return error(line, fmt::format("expected '{}' within a loop, found it outside", tag));
    return statement(tag == "break" ? StmtKind::break_loop : StmtKind::continue_loop, line);
  }
  return error(line, fmt::format("unknown tag '{}'", tag));
}

Result<Stmt> Parser::parse_if(int line) {
  const bool was_lenient = std::exchange(lenient_, true);
  Stmt stmt = statement(StmtKind::if_else, line);
  while (true) {
    Branch branch;
    TRY_ASSIGN(branch.condition, parse_tuple({.conditions = false}));
    TRY_ASSIGN(branch.body, parse_block({"elif", "else", "endif"}));
    stmt.branches.push_back(std::move(branch));
    const std::string next = take().text;
    if (next == "elif") continue;
    if (next == "else") {
      TRY_ASSIGN(stmt.other, parse_block({"endif"}));
      take();
    }
    break;
  }
  lenient_ = was_lenient;
  return stmt;
}

Result<Stmt> Parser::parse_for(int line) {
  Stmt stmt = statement(StmtKind::for_loop, line);
  TRY_ASSIGN(stmt.target, parse_target({.simple = true, .end_name = "in"}));
  if (!skip_name("in")) return unexpected("'in'");
  TRY_ASSIGN(stmt.expr, parse_tuple({.conditions = false, .end_name = "recursive"}));
  if (skip_name("if")) {
    TRY_ASSIGN(stmt.condition, parse_expression());
  }
  stmt.recursive = skip_name("recursive");
  ++loops_;
  TRY_ASSIGN(stmt.body, parse_block({"endfor", "else"}));
  --loops_;
  if (take().text == "else") {
    TRY_ASSIGN(stmt.other, parse_block({"endfor"}));
    take();
  }
  return stmt;
}

Result<Stmt> Parser::parse_set(int line) {
  Stmt stmt = statement(StmtKind::set, line);
  TRY_ASSIGN(stmt.target, parse_target({.simple = true, .spaces = true}));
  if (skip_op("=")) {
    TRY_ASSIGN(stmt.expr, parse_tuple({}));
    return stmt;
  }
  stmt.kind = StmtKind::set_block;
  TRY_ASSIGN(stmt.expr, parse_filters(nullptr));
  const bool was_lenient = std::exchange(lenient_, false);
  TRY_ASSIGN(stmt.body, parse_block({"endset"}));
  lenient_ = was_lenient;
  take();
  return stmt;
}

Status Parser::parse_parameters(Signature& signature) {
  TRY(expect_op("("));
  while (!at_op(")")) {
    if (!signature.parameters.empty()) TRY(expect_op(","));
    const int line = here().line;
    TRY_ASSIGN(std::string name, expect_name("a parameter's name"));
    if (std::find(signature.parameter_names.begin(), signature.parameter_names.end(), name) !=
        signature.parameter_names.end())
      return error(line, fmt::format("two parameters are named '{}'", name));
    signature.parameters.push_back(symbol_of(name));
    signature.parameter_names.push_back(std::move(name));
    if (skip_op("=")) {
      TRY_ASSIGN(ExprPtr value, parse_expression());
      signature.defaults.push_back(std::move(value));
    } else if (!signature.defaults.empty()) {
      return error(line, "a parameter without a default follows one that has it");
    }
  }
  take();
  return Done{};
}

Result<std::shared_ptr<const Signature>> Parser::parse_function(std::shared_ptr<Signature> signature,
                                                                std::string_view end) {
  const int loops_outside = std::exchange(loops_, 0);
  signatures_.push_back(signature.get());
  TRY_ASSIGN(signature->body, parse_block({end}));
  take();
  signatures_.pop_back();
  loops_ = loops_outside;
  return std::shared_ptr<const Signature>(std::move(signature));
}

Result<Stmt> Parser::parse_macro(int line) {
  Stmt stmt = statement(StmtKind::macro, line);
  auto signature = std::make_shared<Signature>();
  TRY_ASSIGN(signature->name, expect_name("a macro's name"));
  signature->symbol = symbol_of(signature->name);
  TRY(parse_parameters(*signature));
  TRY_ASSIGN(stmt.signature, parse_function(std::move(signature), "endmacro"));
  return stmt;
}

Result<Stmt> Parser::parse_call_block(int line) {
  Stmt stmt = statement(StmtKind::call_block, line);
  auto signature = std::make_shared<Signature>();
  signature->name = "caller";
  if (at_op("(")) TRY(parse_parameters(*signature));
  TRY_ASSIGN(stmt.expr, parse_expression());
  if (stmt.expr->kind != ExprKind::call) return error(line, "expected a call behind 'call', found another expression");
  TRY_ASSIGN(stmt.signature, parse_function(std::move(signature), "endcall"));
  return stmt;
}

Result<Stmt> Parser::parse_generation(int line) {
  Stmt stmt = statement(StmtKind::generation, line);
  auto signature = std::make_shared<Signature>();
  signature->name = "caller";
  TRY_ASSIGN(stmt.signature, parse_function(std::move(signature), "endgeneration"));
  return stmt;
}

Result<Stmt> Parser::parse_filter_block(int line) {
  Stmt stmt = statement(StmtKind::filter_block, line);
  TRY_ASSIGN(stmt.expr, parse_filters(nullptr, true));
  TRY_ASSIGN(stmt.body, parse_block({"endfilter"}));
  take();
  return stmt;
}

Result<Stmt> Parser::parse_with(int line) {
  Stmt stmt = statement(StmtKind::with, line);
  while (here().kind != TokenKind::tag_end && here().kind != TokenKind::end) {
    if (!stmt.assignments.empty()) TRY(expect_op(","));
    TRY_ASSIGN(ExprPtr target, parse_target({.simple = true}));
    TRY(expect_op("="));
    TRY_ASSIGN(ExprPtr value, parse_expression());
    stmt.assignments.emplace_back(std::move(target), std::move(value));
  }
  TRY_ASSIGN(stmt.body, parse_block({"endwith"}));
  take();
  return stmt;
}

// Nothing is escaped in a chat template; only what says so again is known.
Result<Stmt> Parser::parse_autoescape(int line) {
  Stmt stmt = statement(StmtKind::with, line);
  if (!skip_name("false") && !skip_name("False")) return error(line, "autoescape is not known, except as false");
  TRY_ASSIGN(stmt.body, parse_block({"endautoescape"}));
  take();
  return stmt;
}

Result<Stmt> Parser::parse_print(int line) {
  Stmt all = statement(StmtKind::if_else, line);
  while (here().kind != TokenKind::tag_end && here().kind != TokenKind::end) {
    if (!all.other.empty()) TRY(expect_op(","));
    Stmt stmt = statement(StmtKind::print, line);
    TRY_ASSIGN(stmt.expr, parse_expression());
    all.other.push_back(std::move(stmt));
  }
  return all;
}

// Without inheritance a block stands for what is in it.
Result<Stmt> Parser::parse_named_block(int line) {
  Stmt stmt = statement(StmtKind::scope, line);
  TRY_ASSIGN(const std::string name, expect_name("a block's name"));
  skip_name("scoped");
  if (at_name("required")) return error(line, "required blocks are not known: there is no template to fill them");
  const int loops_outside = std::exchange(loops_, 0);
  TRY_ASSIGN(stmt.body, parse_block({"endblock"}));
  loops_ = loops_outside;
  take();
  skip_name(name);
  return stmt;
}

Result<Stmt> Parser::parse_missing(const std::string& tag, int line) {
  Stmt stmt = statement(StmtKind::missing, line);
  stmt.text = fmt::format("'{}': a chat template has no other templates beside it", tag);
  while (here().kind != TokenKind::tag_end && here().kind != TokenKind::end) take();
  return stmt;
}

Result<Tree> Parser::run() {
  Tree tree;
  TRY_ASSIGN(tree.body, parse_body({}));
  if (!unknown_.empty()) return unknown_.front();
  tree.symbols = std::move(symbols_);
  return tree;
}

}  // namespace

Result<Tree> parse(std::string_view source) {
  TRY_ASSIGN(std::vector<Token> tokens, tokenize(source));
  return Parser(std::move(tokens)).run();
}

}  // namespace paceline::jinja
