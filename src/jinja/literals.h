// Numbers and strings as templates write them.
#pragma once

#include <string>
#include <string_view>

#include "jinja/value.h"

namespace paceline::jinja {

// The bytes of the number at the front of `source`; 0 where there is none. Behind a dot there are only integers.
size_t number_bytes(std::string_view source, bool behind_dot);

Result<Value> read_number(std::string_view literal);

// What stands between the quotes, with its escapes resolved.
Result<std::string> unescape(std::string_view contents);

}  // namespace paceline::jinja
