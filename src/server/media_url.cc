#include "server/media_url.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace paceline {
namespace {

constexpr size_t kMostLetters = 8192;  // of a URL; servers take no more either

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lowered(std::string_view text) {
  std::string made(text);
  std::transform(made.begin(), made.end(), made.begin(), lower);
  return made;
}

bool is_name_letter(char c) {
  c = lower(c);
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}
bool is_address_letter(char c) {
  c = lower(c);
  return (c >= 'a' && c <= 'f') || (c >= '0' && c <= '9') || c == ':' || c == '.';
}
// Nothing that would end a line of the request, or that must be written with %.
bool is_target_letter(char c) { return c > ' ' && c < '\x7F' && c != '\\' && c != '"' && c != '<' && c != '>'; }

template <class Is>
bool all(std::string_view text, const Is& is) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is);
}

bool is_port(std::string_view text) {
  uint16_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failed == std::errc() && end == text.data() + text.size() && number > 0 && text.front() != '0';
}

struct Authority {
  std::string host;  // lower case, without brackets
  std::string port;  // "": none
};

// "host", "host:port", "[::1]", "[::1]:port"
Result<Authority> read_authority(std::string_view text) {
  Authority made;
  std::string_view rest;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos || !all(text.substr(1, end - 1), is_address_letter))
      return Error{"expected an IPv6 address within [ and ]"};
    made.host = lowered(text.substr(1, end - 1));
    rest = text.substr(end + 1);
  } else {
    const size_t colon = std::min(text.find(':'), text.size());
    if (!all(text.substr(0, colon), is_name_letter))
      return Error{"expected a host's name of letters, digits, dots and dashes"};
    made.host = lowered(text.substr(0, colon));
    rest = text.substr(colon);
  }
  if (rest.empty()) return made;
  if (!rest.starts_with(':') || !is_port(rest.substr(1))) return Error{"expected a port from 1 to 65535"};
  made.port = rest.substr(1);
  return made;
}

}  // namespace

std::string MediaUrl::authority() const {
  const std::string name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return has_own_port() ? name : name + ":" + port;
}

Result<MediaUrl> read_media_url(std::string_view url) {
  if (url.size() > kMostLetters) return Error{fmt::format("a URL may have at most {} letters", kMostLetters)};
  const size_t colon = url.find("://");
  const std::string scheme = lowered(url.substr(0, colon));
  if (colon == std::string_view::npos || (scheme != "http" && scheme != "https")) return Error{"expected http://, https:// or data:...;base64,..."};
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
  if (!all(made.target, is_target_letter)) return Error{"a letter of the URL's path must be written with %"};
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
