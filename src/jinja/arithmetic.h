// Python's + - * / // % ** on numbers, strings and lists.
#pragma once

#include "jinja/ast.h"
#include "jinja/run.h"

namespace paceline::jinja {

// Integers beyond 64 bits are an error.
Result<Value> compute(Run& run, BinaryOp op, const Value& a, const Value& b);
Result<Value> negated(const Value& value);

// int % int with the sign of the divisor, which must not be 0.
int64_t floor_modulo(int64_t a, int64_t b);

}  // namespace paceline::jinja
