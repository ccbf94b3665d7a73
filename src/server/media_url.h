// Where media may be fetched from: http and https URLs, and the hosts that the operator lists.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace paceline {

struct MediaUrl {
  bool is_secure = false;  // https
  std::string host;        // in lower case; of an IPv6 address without its brackets
  std::string port;        // as a number, the scheme's own where the URL has none
  std::string target;      // path and query, as they were written

  [[nodiscard]] bool has_own_port() const { return port == (is_secure ? "443" : "80"); }
  // As a Host header and messages have it: the port where it is not the scheme's own.
  [[nodiscard]] std::string authority() const;
};

// Other schemes, user names, and whatever two readers might read differently are errors.
Result<MediaUrl> read_media_url(std::string_view url);
// Where a redirect leads: a URL, or what is missing of one is the old one's.
Result<MediaUrl> follow_location(const MediaUrl& from, std::string_view location);

// "example.com": its ports 80 (http) and 443 (https); "example.com:8080": this one alone.
Status check_media_host(std::string_view entry);
// Exactly one of them; letters may be small or capital.
bool is_listed(const MediaUrl& url, std::span<const std::string> hosts);

}  // namespace paceline
