// A request and an answer as routes see them: no sockets, no HTTP library.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/request.h"
#include "server/api_error.h"
#include "server/console/console_sessions.h"
#include "server/early_stream.h"

namespace paceline {

struct HttpCall {
  std::string method, path;   // the path without what is behind '?'
  std::string query;          // which is here
  unsigned version = 11;      // 10: HTTP/1.0
  std::string authorization;  // headers
  bool is_anthropic = false;  // it says which version of Anthropic's API it speaks
  std::string api_key;
  std::string address;        // where it comes from
  bool is_from_here = false;  // from this machine
  std::string cache_scope;
  size_t hosts = 0;  // Host headers; one is right
  std::string host;
  std::optional<std::string> authority;  // where the target says it, too
  std::string transfer_coding, content_coding, expectation;
  std::optional<std::string> origin;        // of the page that makes a browser send this
  std::string asked_method, asked_headers;  // Access-Control-Request-…: what a page wants to send
  bool asks_private_network = false;
  std::string accepted_types, accepted_codings;  // of the answer
  std::string known_tag;                         // If-None-Match: what the client has already
  std::string cookies;
  bool is_console = false;              // it has the header that pages of ours send
  std::optional<SessionOwner> session;  // whose cookie it is
  std::string id;                       // ours, for whoever looks for it in the log
  std::string body;
  std::shared_ptr<SaidEarly> said_early = std::make_shared<SaidEarly>();
  EngineClock::time_point arrived = EngineClock::now();
};

struct HttpAnswer {
  int status = 200;
  std::string content_type = "application/json";  // "": there is no body
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  double delay_s = 0;  // until it is written
};

// In the shape that the clients of the call's route read.
HttpAnswer error_answer(const HttpCall& call, const ApiError& error);

}  // namespace paceline
