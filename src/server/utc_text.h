// A time as RFC 3339 writes it.
#pragma once

#include <ctime>
#include <string>

namespace paceline {

inline std::string utc_text(std::time_t seconds) {
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace paceline
