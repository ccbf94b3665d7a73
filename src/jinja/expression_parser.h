// Tokens to expressions, with Jinja's precedences: or, and, not, comparisons, + and -, ~, * / // %, **, signs, then
// what stands behind a value (attributes, items, calls, filters, tests).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "jinja/ast.h"
#include "jinja/token_reader.h"

namespace paceline::jinja {

class ExpressionParser : protected TokenReader {
 public:
  explicit ExpressionParser(std::vector<Token> tokens);

 protected:
  struct TupleRules {
    bool simple = false;  // names and literals alone: a target
    bool conditions = true;
    bool parenthesised = false;      // may be empty
    bool spaces = false;             // name.attribute is a target too
    std::string_view end_name = {};  // a name that ends it
  };

  Result<ExprPtr> parse_expression(bool conditions = true);
  Result<ExprPtr> parse_tuple(const TupleRules& rules);
  Result<ExprPtr> parse_filters(ExprPtr input, bool first_is_bare = false);
  Result<ExprPtr> parse_target(const TupleRules& rules);
  Symbol symbol_of(const std::string& name);

  // How deep tags and brackets are nested; a template has no say over our stack.
  [[nodiscard]] Status enter(int line);
  void leave() { --nesting_; }

  std::vector<std::string> symbols_;
  std::map<std::string, Symbol> numbers_;
  std::vector<Signature*> signatures_;  // of the macros that are being read
  // Filters and tests that are not known. Under an `if`, of either kind, one is an error only when it is reached, as in
  // Jinja; the inline kind is known by then, and takes back what was noted.
  std::vector<Error> unknown_;
  bool lenient_ = false;

 private:
  Result<ExprPtr> parse_condition();
  Result<ExprPtr> parse_or();
  Result<ExprPtr> parse_and();
  Result<ExprPtr> parse_not();
  Result<ExprPtr> parse_compare();
  Result<ExprPtr> parse_sum();
  Result<ExprPtr> parse_concat();
  Result<ExprPtr> parse_product();
  Result<ExprPtr> parse_power();
  Result<ExprPtr> parse_unary(bool with_filters = true);
  Result<ExprPtr> parse_primary(bool spaces = false);
  Result<ExprPtr> parse_name(bool spaces);
  Result<ExprPtr> parse_list();
  Result<ExprPtr> parse_dict();
  Result<ExprPtr> parse_postfix(ExprPtr expr);
  Result<ExprPtr> parse_filters_and_tests(ExprPtr expr);
  Result<ExprPtr> parse_attribute(ExprPtr expr);
  Result<ExprPtr> parse_item(ExprPtr expr);
  Result<ExprPtr> parse_subscript();
  Result<ExprPtr> parse_call(ExprPtr expr);
  Result<ExprPtr> parse_test(ExprPtr expr);
  Result<std::unique_ptr<CallArguments>> parse_arguments();
  Result<std::string> parse_dotted_name(std::string_view what);
  Status parse_argument(CallArguments& arguments);

  // An expression over parts; refuses one that is too high to be run on a stack.
  Result<ExprPtr> make(ExprKind kind, int line, std::vector<ExprPtr> parts,
                       std::unique_ptr<CallArguments> arguments = {});
  template <class... Parts>
  Result<ExprPtr> make_of(ExprKind kind, int line, Parts... parts) {
    std::vector<ExprPtr> list;
    (list.push_back(std::move(parts)), ...);
    return make(kind, line, std::move(list));
  }

  int nesting_ = 0;
};

}  // namespace paceline::jinja
