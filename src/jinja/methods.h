// The methods of Python's strings, lists, tuples and dicts.
#pragma once

#include <string_view>

#include "jinja/run.h"

namespace paceline::jinja {

// refused: it is there and would change the value, which the sandbox does not allow.
enum class MethodAccess : uint8_t { none, allowed, refused };
MethodAccess method_access(const Value& value, std::string_view name);

// value.name, not called yet. The method must be allowed.
Result<Value> bind_method(Run& run, const Value& value, std::string_view name);

using MethodFunction = Result<Value> (*)(Run& run, const Value& self, const Arguments& arguments);

struct NamedMethod {
  std::string_view name;
  MethodFunction function;
};

// Null where strings have no such method.
MethodFunction find_string_method(std::string_view name);

// Pieces that filters want as well. `chars` null: white space.
enum class StripSide : uint8_t { both, left, right };
std::string_view strip_chars(std::string_view text, const std::string_view* chars, StripSide side);
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends);
// count < 0: all of them.
std::string replace_some(std::string_view text, std::string_view from, std::string_view to, int64_t count);
bool has_case_only(std::string_view text, uint8_t wanted_flag);

}  // namespace paceline::jinja
