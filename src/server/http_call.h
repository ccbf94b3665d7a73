// A request and an answer as routes see them: no sockets, no HTTP library.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/request.h"
#include "server/api_error.h"

namespace paceline {

struct HttpCall {
  std::string method, path;   // the path without what is behind '?'
  std::string authorization;  // headers
  std::string cache_scope;
  std::string body;
  EngineClock::time_point arrived;
};

struct HttpAnswer {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

HttpAnswer error_answer(const ApiError& error);

}  // namespace paceline
