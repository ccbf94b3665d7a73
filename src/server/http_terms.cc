#include "server/http_terms.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/one_line.h"
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
  const size_t mark = std::min(target.find('?'), target.size());
  read.path = std::string(target.substr(0, mark));
  read.query = std::string(target.substr(std::min(mark + 1, target.size())));
  return read;
}

std::string without_codes(std::string_view text) {
  const auto hex = [](char c) { return std::string_view("0123456789abcdef").find(in_lower_case({&c, 1})); };
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_code = text[i] == '%' && i + 2 < text.size() && hex(text[i + 1]) < 16 && hex(text[i + 2]) < 16;
    plain += is_code ? static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2])) : text[i];
    if (is_code) i += 2;
  }
  return plain;
}

std::string query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    if (!pair.starts_with(name) || pair.substr(name.size(), 1) != "=") continue;
    std::string value(pair.substr(name.size() + 1));
    std::replace(value.begin(), value.end(), '+', ' ');
    return without_codes(value);
  }
  return "";
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
