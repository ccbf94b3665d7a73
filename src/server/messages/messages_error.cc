#include "server/messages/messages_error.h"

#include <fmt/format.h>

#include <string>

#include "base/utf8.h"

namespace paceline::messages {
namespace {

const char* type_of(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 408: return "timeout_error";
    case 413: return "request_too_large";
    case 429: return "rate_limit_error";
    case 503: return "overloaded_error";
    default: return status >= 500 ? "api_error" : "invalid_request_error";
  }
}

}  // namespace

bool is_route(std::string_view path) { return path == "/v1/messages" || path.starts_with("/v1/messages/"); }

boost::json::object error_object(const ApiError& error, std::string_view request_id) {
  std::string message = with_invalid_utf8_replaced(error.message);
  // Clients read both numbers from exactly this, and shorten the conversation.
  if (error.most_tokens > 0)
    message = fmt::format("prompt is too long: {} tokens > {} maximum", error.tokens, error.most_tokens);
  boost::json::object inner{{"type", type_of(error.status)}, {"message", std::move(message)}};
  return {{"type", "error"}, {"error", std::move(inner)}, {"request_id", request_id}};
}

}  // namespace paceline::messages
