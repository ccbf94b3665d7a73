#include "server/http_call.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>

#include "server/messages/messages_error.h"

namespace paceline {

HttpAnswer error_answer(const HttpCall& call, const ApiError& error) {
  const auto object = messages::is_route(call.path) ? messages::error_object(error, call.id) : error_object(error);
  HttpAnswer answer{.status = error.status, .body = boost::json::serialize(object), .headers = {}};
  if (error.retry_after_s > 0) answer.headers.emplace_back("Retry-After", fmt::format("{}", error.retry_after_s));
  if (error.status == 401) answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  return answer;
}

}  // namespace paceline
