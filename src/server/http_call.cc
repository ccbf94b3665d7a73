#include "server/http_call.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>

namespace paceline {

HttpAnswer error_answer(const ApiError& error) {
  HttpAnswer answer{.status = error.status, .body = boost::json::serialize(error_object(error)), .headers = {}};
  if (error.retry_after_s > 0) answer.headers.emplace_back("Retry-After", fmt::format("{}", error.retry_after_s));
  if (error.status == 401) answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  return answer;
}

}  // namespace paceline
