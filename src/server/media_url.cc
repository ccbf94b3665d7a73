#include "server/media_url.h"

#include <fmt/format.h>

#include <algorithm>

#include "server/authority.h"

namespace paceline {
namespace {

constexpr size_t kMostLetters = 8192;  // of a URL; servers take no more either

// Nothing that would end a line of the request, or that must be written with %.
bool is_target_letter(char c) { return c > ' ' && c < '\x7F' && c != '\\' && c != '"' && c != '<' && c != '>'; }

}  // namespace

std::string MediaUrl::authority() const {
  const std::string name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return has_own_port() ? name : name + ":" + port;
}

Result<MediaUrl> read_media_url(std::string_view url) {
  if (url.size() > kMostLetters) return Error{fmt::format("a URL may have at most {} letters", kMostLetters)};
  const size_t colon = url.find("://");
  const std::string scheme = in_lower_case(url.substr(0, colon));
  if (colon == std::string_view::npos || (scheme != "http" && scheme != "https"))
    return Error{"expected http://, https:// or data:...;base64,..."};
  MediaUrl made;
  made.is_secure = scheme == "https";
  std::string_view rest = url.substr(colon + 3);
  rest = rest.substr(0, rest.find('#'));
  const size_t end = std::min(rest.find_first_of("/?\\"), rest.size());
  const std::string_view written = rest.substr(0, end);
  if (written.find('@') != std::string_view::npos) return Error{"a URL with a user's name or password is not taken"};
  TRY_ASSIGN(Authority authority, read_authority(written));
  made.host = std::move(authority.host);
  made.port = !authority.port.empty() ? std::move(authority.port) : made.is_secure ? "443" : "80";
  made.target = rest.substr(end);
  if (!made.target.starts_with('/')) made.target.insert(0, "/");
  if (!std::all_of(made.target.begin(), made.target.end(), is_target_letter))
    return Error{"a letter of the URL's path must be written with %"};
  return made;
}

Result<MediaUrl> follow_location(const MediaUrl& from, std::string_view location) {
  const std::string scheme = from.is_secure ? "https" : "http";
  if (location.starts_with("//")) return read_media_url(scheme + ":" + std::string(location));
  const size_t colon = location.find("://");
  if (colon != std::string_view::npos && location.find_first_of("/?#") > colon) return read_media_url(location);
  std::string target(location);
  if (!location.starts_with('/')) {
    const std::string path = from.target.substr(0, from.target.find('?'));
    target = (location.starts_with('?') ? path : path.substr(0, path.rfind('/') + 1)) + target;
  }
  return read_media_url(scheme + "://" + from.authority() + target);
}

Status check_media_host(std::string_view entry) {
  if (read_authority(entry).ok()) return Done{};
  return Error{fmt::format("{}: expected a host, or HOST:PORT", entry)};
}

bool is_listed(const MediaUrl& url, std::span<const std::string> hosts) {
  return std::any_of(hosts.begin(), hosts.end(), [&](const std::string& entry) {
    const auto listed = read_authority(entry);
    if (!listed.ok() || listed->host != url.host) return false;
    return listed->port.empty() ? url.has_own_port() : listed->port == url.port;
  });
}

}  // namespace paceline
