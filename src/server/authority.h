// HOST or HOST:PORT, as URLs, Host headers and settings have it.
#pragma once

#include <string>
#include <string_view>

#include "base/ascii.h"
#include "base/result.h"

namespace paceline {

struct Authority {
  std::string host;  // lower case, without brackets
  std::string port;  // "": none
};

// "host", "host:port", "[::1]", "[::1]:port"
Result<Authority> read_authority(std::string_view text);

}  // namespace paceline
