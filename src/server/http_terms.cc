#include "server/http_terms.h"

#include <fmt/format.h>

#include <algorithm>

#include "server/authority.h"

namespace paceline {

RequestTarget read_target(std::string_view target) {
  RequestTarget read;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (in_lower_case(target.substr(0, scheme.size())) != scheme) continue;
    target.remove_prefix(scheme.size());
    const size_t end = std::min(target.find_first_of("/?#"), target.size());
    read.authority = std::string(target.substr(0, end));
    target.remove_prefix(end);
    if (!target.starts_with('/')) {
      read.path = "/";
      return read;
    }
    break;
  }
  read.path = std::string(target.substr(0, target.find('?')));
  return read;
}

std::optional<ApiError> refuse_terms(const HttpCall& call) {
  if (!call.transfer_coding.empty() && in_lower_case(call.transfer_coding) != "chunked") {
    return ApiError{.status = 501,
                    .message = fmt::format("the Transfer-Encoding {} is not known here; chunked is",
                                           shortened(call.transfer_coding)),
                    .code = "unsupported"};
  }
  if (!call.content_coding.empty() && in_lower_case(call.content_coding) != "identity") {
    return ApiError{.status = 415,
                    .message = fmt::format("the Content-Encoding {} is not known here; bodies are sent as they are",
                                           shortened(call.content_coding)),
                    .code = "unsupported"};
  }
  if (!call.expectation.empty() && in_lower_case(call.expectation) != "100-continue") {
    return ApiError{
        .status = 417,
        .message = fmt::format("the expectation {} is not known here; 100-continue is", shortened(call.expectation)),
        .code = "unsupported"};
  }
  return std::nullopt;
}

}  // namespace paceline
