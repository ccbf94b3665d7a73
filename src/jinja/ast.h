// A template as it was read: statements and expressions. Immutable; many renderings may read it at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jinja/filters.h"
#include "jinja/tests.h"
#include "jinja/value.h"

namespace paceline::jinja {

// Names are numbered as the parser meets them.
using Symbol = uint32_t;

struct Expr;
struct Stmt;
using ExprPtr = std::unique_ptr<Expr>;
using Body = std::vector<Stmt>;

enum class ExprKind : uint8_t {
  constant,    // value
  name,        // symbol
  list,        // parts
  tuple,       // parts
  dict,        // parts: key, value, key, value, ...
  attribute,   // parts[0].text
  item,        // parts[0][parts[1]]
  slice,       // parts[0][parts[1]:parts[2]:parts[3]]; each of the three may be null
  call,        // parts[0](arguments)
  filter,      // parts[0] | text(arguments); parts[0] null: what the block around it gives
  test,        // parts[0] is text(arguments)
  negate,      // not parts[0]
  minus,       // -parts[0]
  plus,        // +parts[0]
  binary,      // parts[0] op parts[1]
  concat,      // parts[0] ~ parts[1] ~ ...
  compare,     // parts[0] compares[0] parts[1] compares[1] parts[2] ...
  both,        // parts[0] and parts[1]
  either,      // parts[0] or parts[1]
  condition,   // parts[1] if parts[0] else parts[2]; parts[2] may be null
  space_name,  // symbol.text, as a target of set
};

enum class BinaryOp : uint8_t { add, subtract, multiply, divide, floor_divide, modulo, power };
enum class CompareOp : uint8_t { equal, unequal, less, less_equal, greater, greater_equal, in, not_in };

struct CallArguments {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr all_positional;  // *list
  ExprPtr all_named;       // **dict
};

struct Expr {
  ExprKind kind = ExprKind::constant;
  BinaryOp op = BinaryOp::add;
  int line = 0;
  int height = 1;  // of the tree below and with it
  Symbol symbol = 0;
  std::string text;
  Value value;
  std::vector<ExprPtr> parts;
  std::vector<CompareOp> compares;
  std::unique_ptr<CallArguments> arguments;
  FilterFunction filter = nullptr;  // null: unknown, an error when it is reached
  TestFunction test = nullptr;
};

enum class StmtKind : uint8_t {
  output,        // text
  print,         // expr
  if_else,       // branches; other
  for_loop,      // target in expr if condition; body; other
  set,           // target = expr
  set_block,     // target = expr (filters, may be null) of body
  macro,         // signature, body
  call_block,    // expr (a call) with signature and body
  generation,    // body
  filter_block,  // expr of body
  with,          // assignments; body
  scope,         // body
  break_loop,
  continue_loop,
  missing,  // text: what this needs is not there (include, import, extends)
};

struct Branch {
  ExprPtr condition;
  Body body;
};

struct Signature {
  std::string name;
  Symbol symbol = 0;
  std::vector<Symbol> parameters;
  std::vector<std::string> parameter_names;
  std::vector<ExprPtr> defaults;  // of the last parameters
  Body body;
  // Whether the body asks for what no parameter takes.
  bool uses_varargs = false, uses_kwargs = false, uses_caller = false;
};

struct Stmt {
  StmtKind kind = StmtKind::output;
  int line = 0;
  bool recursive = false;  // for_loop
  std::string text;
  ExprPtr target, expr, condition;
  Body body, other;
  std::vector<Branch> branches;
  std::vector<std::pair<ExprPtr, ExprPtr>> assignments;
  std::shared_ptr<const Signature> signature;
};

// The names that the interpreter itself knows by number; the parser numbers these first.
enum KnownSymbol : Symbol { kLoop, kCaller, kVarargs, kKwargs, kKnownSymbols };

struct Tree {
  Body body;
  std::vector<std::string> symbols;  // their names
};

}  // namespace paceline::jinja
