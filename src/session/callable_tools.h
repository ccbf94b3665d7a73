// The tools that a conversation offers, as far as reading calls of them asks for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/documents.h"

namespace paceline {

// What a parameter's schema lets it be, as bits. Of a schema that says nothing: a string.
enum JsonTypes : uint8_t {
  kStringType = 1,
  kNumberType = 2,
  kBooleanType = 4,
  kNullType = 8,
  kStructuredType = 16,  // an object or an array
};

struct CallableTool {
  struct Parameter {
    std::string name;
    uint8_t types = kStringType;
  };
  std::string name;
  std::vector<Parameter> parameters = {};

  [[nodiscard]] uint8_t types_of(std::string_view parameter) const;
};

using CallableTools = std::vector<CallableTool>;

CallableTool callable_tool(const grammar::ToolSchema& tool);
// Null where there is none of the name.
const CallableTool* find_tool(const CallableTools& tools, std::string_view name);
// What they hold beyond themselves.
size_t bytes_of(const CallableTools& tools);

}  // namespace paceline
