// Server-sent events: one line of JSON each.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

namespace paceline {

inline constexpr std::string_view kSseType = "text/event-stream; charset=utf-8";
inline constexpr std::string_view kSseDone = "data: [DONE]\n\n";

// JSON has no line breaks outside strings, and in strings they are escaped: one line is always enough.
void add_event(const boost::json::object& object, std::string& out);
// With a line before it that names it.
void add_event(std::string_view name, const boost::json::object& object, std::string& out);

}  // namespace paceline
