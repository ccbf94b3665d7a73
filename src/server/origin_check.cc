#include "server/origin_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>

#include "base/one_line.h"
#include "server/authority.h"

namespace paceline {
namespace {

constexpr std::string_view kAny = "*";

std::optional<boost::asio::ip::address> address_of(std::string_view host) {
  boost::system::error_code failed;
  const auto address = boost::asio::ip::make_address(std::string(host), failed);
  return failed ? std::nullopt : std::optional(address);
}

bool is_loopback(const boost::asio::ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6()).is_loopback();
  return address.is_loopback();
}

bool has(const std::vector<std::string>& list, std::string_view entry) {
  return std::any_of(list.begin(), list.end(), [&](const std::string& one) { return one == entry || one == kAny; });
}

// The name that a resolver takes it for: "localhost." is localhost.
std::string without_last_dot(std::string host) {
  if (host.size() > 1 && host.ends_with('.')) host.pop_back();
  return host;
}

struct Origin {
  std::string scheme;
  Authority authority;
};

// None: "null", which files and sandboxed frames are, or no origin at all.
std::optional<Origin> read_origin(std::string_view text) {
  const size_t colon = text.find("://");
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  auto authority = read_authority(text.substr(colon + 3));
  if (!authority.ok()) return std::nullopt;
  return Origin{in_lower_case(text.substr(0, colon)), std::move(*authority)};
}

// A page of this very server: a browser leaves a scheme's own port out of both.
bool is_same(const Origin& origin, const Authority& host) {
  if (origin.scheme != "http" && origin.scheme != "https") return false;
  const std::string own = origin.scheme == "https" ? "443" : "80";
  const auto port = [&](const Authority& a) { return a.port.empty() ? own : a.port; };
  return origin.authority.host == host.host && port(origin.authority) == port(host);
}

ApiError bad_host(std::string message) { return {.message = std::move(message), .code = "bad_host"}; }

ApiError wrong_host(std::string_view host) {
  return {.status = 421,
          .message =
              fmt::format("this server does not answer for the host {} (its option --allowed-hosts)", shortened(host)),
          .code = "misdirected_request"};
}

ApiError wrong_origin(std::string_view origin) {
  return {.status = 403,
          .message = fmt::format("pages of {} may not use this server (its option --cors-origins)", shortened(origin)),
          .code = "origin_not_allowed"};
}

}  // namespace

OriginCheck::OriginCheck(const ServerSettings& settings) {
  const auto address = address_of(settings.host);
  on_loopback_ = address ? is_loopback(*address) : true;  // localhost
  for (const std::string& host : settings.allowed_hosts) {
    const auto read = read_authority(host);
    hosts_.push_back(read.ok() ? without_last_dot(read->host) : host);
  }
  for (const std::string& origin : settings.cors_origins) origins_.push_back(in_lower_case(origin));
}

// An address cannot be rebound, only a name can. So where all the network may come, by whichever of this machine's
// addresses (also one that is translated on the way), any address will do.
bool OriginCheck::is_ours(std::string_view host) const {
  if (host == "localhost" || has(hosts_, host)) return true;
  const auto address = address_of(host);
  return address && (!on_loopback_ || is_loopback(*address));
}

bool OriginCheck::is_listed(std::string_view origin) const { return has(origins_, in_lower_case(origin)); }

std::optional<ApiError> OriginCheck::read_host(std::string_view text, Authority& host) const {
  auto read = read_authority(text);
  if (!read.ok()) return bad_host(fmt::format("Host: {}", read.error().message));
  host = {without_last_dot(std::move(read->host)), std::move(read->port)};
  if (!is_ours(host.host)) return wrong_host(text);
  return std::nullopt;
}

std::optional<ApiError> OriginCheck::refuse(const HttpCall& call) const {
  if (call.hosts > 1) return bad_host("a request has one Host header, not several");
  // No browser is so old that it sends none.
  if (call.hosts == 0 && call.version >= 11) return bad_host("a request of HTTP/1.1 needs a Host header");
  Authority host;
  if (call.hosts == 1) {
    if (auto error = read_host(call.host, host)) return error;
  }
  // Where both say it, this is what is meant (RFC 9112, 3.2.2); but neither may be another's.
  if (call.authority) {
    if (auto error = read_host(*call.authority, host)) return error;
  }
  if (!call.origin) return std::nullopt;
  if (const auto origin = read_origin(*call.origin); origin && call.hosts == 1 && is_same(*origin, host))
    return std::nullopt;
  if (is_listed(*call.origin)) return std::nullopt;
  return wrong_origin(*call.origin);
}

bool OriginCheck::is_preflight(const HttpCall& call) {
  return call.method == "OPTIONS" && call.origin && !call.asked_method.empty();
}

// Which headers a page sends is its own matter: keys, and whatever its client adds. Credentials (cookies) are never
// let in.
HttpAnswer OriginCheck::preflight(const HttpCall& call) {
  HttpAnswer answer{.status = 204, .content_type = "", .body = "", .headers = {}};
  answer.headers.emplace_back("Access-Control-Allow-Methods", "GET, POST");
  if (!call.asked_headers.empty()) answer.headers.emplace_back("Access-Control-Allow-Headers", call.asked_headers);
  if (call.asks_private_network) answer.headers.emplace_back("Access-Control-Allow-Private-Network", "true");
  answer.headers.emplace_back("Access-Control-Max-Age", "600");
  return answer;
}

std::vector<std::pair<std::string, std::string>> OriginCheck::answer_headers(const HttpCall& call) const {
  std::vector<std::pair<std::string, std::string>> headers;
  // Whoever keeps answers must know that they differ.
  if (!origins_.empty()) headers.emplace_back("Vary", "Origin");
  if (!call.origin || !is_listed(*call.origin)) return headers;
  headers.emplace_back("Access-Control-Allow-Origin", *call.origin);
  headers.emplace_back("Access-Control-Expose-Headers", "x-request-id, Retry-After");
  return headers;
}

Status check_allowed_host(std::string_view entry) {
  const auto read = read_authority(entry);
  if (entry == kAny || (read.ok() && read->port.empty())) return Done{};
  return Error{fmt::format("{}: expected a host's name or address, without a port, or *", entry)};
}

Status check_cors_origin(std::string_view entry) {
  if (entry == kAny || read_origin(entry)) return Done{};
  return Error{fmt::format("{}: expected an origin, as https://page.example or http://localhost:3000, or *", entry)};
}

}  // namespace paceline
