// The form that a schema's pattern, its format, and bounds of its length beside them give to a string.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "base/result.h"
#include "grammar/string_pattern.h"

namespace paceline::grammar {

bool has_known_format(const boost::json::object& schema);
// By a pattern or a format that is known.
bool has_string_form(const boost::json::object& schema);
// Why its pattern cannot be followed, beside the format if there is one; "": it can.
std::string why_no_pattern(const boost::json::object& schema);
// Whether all characters of its pattern can be written, in JSON and as text between tags.
bool can_be_written(const boost::json::object& schema);
// Why minLength and maxLength beside either cannot be followed.
std::string why_no_lengths(const boost::json::object& schema);

// The characters of such a string, from `from` to `to`. The keywords have been checked.
Status add_string_form(AutomatonBuilder& builder, const boost::json::object& schema, Writing writing, StateId from,
                       StateId to);

}  // namespace paceline::grammar
