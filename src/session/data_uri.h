// data: URIs, the form in which a request has its media with it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace paceline {

// The bytes of data:TYPE;base64,... ; none: it is not of this form.
std::optional<std::string> read_data_uri(std::string_view uri);

// Standard and URL-safe letters; padding may be missing. None: other characters, or bits left over.
std::optional<std::string> decode_base64(std::string_view text);

// data:TYPE;base64,...
std::string write_data_uri(std::string_view type, std::string_view bytes);

}  // namespace paceline
