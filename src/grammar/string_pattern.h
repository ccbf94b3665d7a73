// Strings of a form: by a pattern, or by the name of a format.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "grammar/automaton.h"
#include "grammar/regex.h"
#include "grammar/regex_texts.h"

namespace paceline::grammar {

// How the characters of a string are written.
enum class Writing : uint8_t {
  json,  // with escapes
  raw,   // as they are, but for '<', which may begin what ends the text
};

// The characters of the string, from `from` to `to`, without what stands around it. An error where some of them cannot
// be written, or where there are too many ways.
Status add_pattern(AutomatonBuilder& builder, const RegexNode& pattern, Writing writing, StateId from, StateId to);

// The same of what two patterns share.
Status add_texts(AutomatonBuilder& builder, const RegexTexts& texts, Writing writing, StateId from, StateId to);

// A pattern of texts that are of the format, not all of them but enough: each is within bounds, and ends. None: the
// format is not known.
std::optional<std::string_view> pattern_of_format(std::string_view format);

}  // namespace paceline::grammar
