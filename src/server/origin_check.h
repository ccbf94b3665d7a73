// Whether a request is meant for this server, and whether a web page may make it.
//
// A browser sends what any page asks it to. A page of another site can post to this machine, and one whose name is
// rebound to this machine's address could read the answers. So the Host that a browser says must be one that we listen
// on (421), and the Origin, where there is one, must be our own or one of the operator's list (403).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "server/authority.h"
#include "server/http_call.h"
#include "server/settings.h"

namespace paceline {

class OriginCheck {
 public:
  explicit OriginCheck(const ServerSettings& settings);

  // Whatever the route and the method: what is wrong with the request's Host or Origin.
  [[nodiscard]] std::optional<ApiError> refuse(const HttpCall& call) const;
  // A browser's question before it sends what a page of a listed origin asks for, already through refuse().
  [[nodiscard]] static bool is_preflight(const HttpCall& call);
  [[nodiscard]] static HttpAnswer preflight(const HttpCall& call);
  // What lets such a page read an answer; none for others.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> answer_headers(const HttpCall& call) const;

 private:
  [[nodiscard]] std::optional<ApiError> read_host(std::string_view text, Authority& host) const;
  [[nodiscard]] bool is_ours(std::string_view host) const;
  [[nodiscard]] bool is_listed(std::string_view origin) const;

  std::vector<std::string> hosts_;    // names in lower case, without ports; "*": any
  std::vector<std::string> origins_;  // in lower case; "*": any
  bool on_loopback_ = false;
};

// An entry of --allowed-hosts: a name or an address without a port, or *.
Status check_allowed_host(std::string_view entry);
// An entry of --cors-origins: SCHEME://HOST or SCHEME://HOST:PORT, or *.
Status check_cors_origin(std::string_view entry);

}  // namespace paceline
