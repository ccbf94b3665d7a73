// Values as Python's str() and repr() write them.
#pragma once

#include "jinja/run.h"

namespace paceline::jinja {

// What {{ value }} writes: a string as it is, undefined as nothing, all else as repr() has it.
Result<std::string> to_text(Run& run, const Value& value);

Result<std::string> to_repr(Run& run, const Value& value);

// The shortest digits that read back as the same number, laid out as Python does.
std::string real_text(double value);

// Quoted, and with what cannot be printed escaped.
std::string quoted_text(std::string_view text);

}  // namespace paceline::jinja
