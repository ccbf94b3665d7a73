#include "server/authority.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace paceline {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_name_letter(char c) {
  c = lower(c);
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}
bool is_address_letter(char c) {
  c = lower(c);
  return (c >= 'a' && c <= 'f') || (c >= '0' && c <= '9') || c == ':' || c == '.';
}
template <class Is>
bool all(std::string_view text, const Is& is) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is);
}

bool is_port(std::string_view text) {
  uint16_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failed == std::errc() && end == text.data() + text.size() && number > 0 && text.front() != '0';
}

}  // namespace

Result<Authority> read_authority(std::string_view text) {
  Authority made;
  std::string_view rest;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos || !all(text.substr(1, end - 1), is_address_letter))
      return Error{"expected an IPv6 address within [ and ]"};
    made.host = in_lower_case(text.substr(1, end - 1));
    rest = text.substr(end + 1);
  } else {
    const size_t colon = std::min(text.find(':'), text.size());
    if (!all(text.substr(0, colon), is_name_letter))
      return Error{"expected a host's name of letters, digits, dots and dashes"};
    made.host = in_lower_case(text.substr(0, colon));
    rest = text.substr(colon);
  }
  if (rest.empty()) return made;
  if (!rest.starts_with(':') || !is_port(rest.substr(1))) return Error{"expected a port from 1 to 65535"};
  made.port = rest.substr(1);
  return made;
}

}  // namespace paceline
