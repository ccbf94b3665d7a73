// What a request's header says about how it is to be read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/api_error.h"
#include "server/http_call.h"

namespace paceline {

// How a client names what it wants: "/path?query", or all of "http://host/path?query" (RFC 9112, 3.2.2), as clients of
// a proxy do.
struct RequestTarget {
  std::string path;                      // without what is behind '?'
  std::string query;                     // which is here
  std::optional<std::string> authority;  // of the whole form
};
RequestTarget read_target(std::string_view target);

// "org%2Fname" as "org/name".
std::string without_codes(std::string_view text);

// What a query like "model=org%2Fname&x" gives for a name; "": nothing.
std::string query_value(std::string_view query, std::string_view name);

// Codings and expectations that are not known here: a body must not be read as what it is not.
std::optional<ApiError> refuse_terms(const HttpCall& call);

}  // namespace paceline
