// One value written by a format specification: fill, alignment, sign, width, grouping, precision, type.
#pragma once

#include <string>
#include <string_view>

#include "jinja/run.h"

namespace paceline::jinja {

struct FormatSpec {
  std::string fill = " ";
  char align = '\0';  // < > ^ =; none: as the value's type has it
  char sign = '-';    // + - or a blank
  bool alternate = false;
  size_t width = 0;
  char grouping = '\0';  // , or _
  int precision = -1;    // none
  char type = '\0';
};

// What stands behind the colon of a replacement field.
Result<FormatSpec> parse_format_spec(std::string_view text);

Result<std::string> format_value(Run& run, const Value& value, const FormatSpec& spec);

// A field wider or more precise than this is an error: no prompt needs it.
inline constexpr size_t kMaxFormatWidth = 100'000;

}  // namespace paceline::jinja
