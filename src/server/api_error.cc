#include "server/api_error.h"

#include <fmt/format.h>

#include "base/one_line.h"
#include "base/utf8.h"

namespace paceline {

ApiError api_error(const FieldError& error) {
  return {.message = error.message,
          .param = error.field,
          .code = error.code,
          .tokens = error.tokens,
          .most_tokens = error.most_tokens};
}

ApiError no_such_route(std::string_view path) {
  return {.status = 404, .message = fmt::format("there is nothing at {}", shortened(path)), .code = "not_found"};
}

ApiError wrong_method(std::string_view method, std::string_view path) {
  return {.status = 405,
          .message = fmt::format("{} is not for {}", shortened(method), shortened(path)),
          .code = "method_not_allowed"};
}

ApiError no_such_model(std::string_view name) {
  return {.status = 404,
          .message = fmt::format("the model {} is not served here; GET /v1/models says which is", shortened(name)),
          .param = "model",
          .code = "model_not_found"};
}

ApiError no_key() {
  return {.status = 401,
          .message = "a valid API key is needed, as \"Authorization: Bearer KEY\" or \"x-api-key: KEY\"",
          .type = "authentication_error",
          .code = "invalid_api_key"};
}

ApiError too_busy(std::string message) {
  return {.status = 429,
          .message = std::move(message),
          .type = "rate_limit_error",
          .code = "over_capacity",
          .retry_after_s = 1};
}

ApiError over_allowance(double wait_s) {
  const int seconds = static_cast<int>(wait_s) + 1;
  return {.status = 429,
          .message = fmt::format("this key has used up what it has for a minute; try again in {}s", seconds),
          .type = "rate_limit_error",
          .code = "rate_limit_exceeded",
          .retry_after_s = seconds};
}

ApiError not_for_all() {
  return {.status = 403,
          .message = "this needs an admin key (the server's option --admin-key-file)",
          .type = "permission_error",
          .code = "admin_key_needed"};
}

ApiError shutting_down() {
  return {.status = 503,
          .message = "the server is shutting down",
          .type = "server_error",
          .code = "shutting_down",
          .retry_after_s = 5};
}

ApiError engine_failed(std::string_view why) {
  return {.status = 500,
          .message = why.empty() ? "the engine failed" : fmt::format("the engine failed: {}", why),
          .type = "server_error",
          .code = "engine_failed"};
}

ApiError out_of_time() {
  return {.status = 408,
          .message = "the request took longer than this server allows",
          .type = "timeout_error",
          .code = "request_timeout"};
}

ApiError client_gone() {
  return {.status = 499, .message = "the client has gone", .type = "cancelled", .code = "client_closed_request"};
}

boost::json::object error_object(const ApiError& error) {
  // Of what a client wrote outside of JSON, a path say, any byte may be in it; JSON is UTF-8.
  boost::json::object object;
  object["message"] = with_invalid_utf8_replaced(error.message);
  object["type"] = error.type;
  object["param"] =
      error.param ? boost::json::value(with_invalid_utf8_replaced(*error.param)) : boost::json::value(nullptr);
  object["code"] = error.code ? boost::json::value(*error.code) : boost::json::value(nullptr);
  return {{"error", std::move(object)}};
}

}  // namespace paceline
