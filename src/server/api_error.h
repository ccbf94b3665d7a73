// What a client is told when it cannot have what it asked for, in the shape that OpenAI's clients read.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "session/field_problem.h"

namespace paceline {

struct ApiError {
  int status = 400;
  std::string message;
  std::string type = "invalid_request_error";
  std::optional<std::string> param = {};
  std::optional<std::string> code = {};
  int retry_after_s = 0;  // 0: nothing is said about it
  // Of a prompt that is too long: how many there are, at least, and how many may be.
  size_t tokens = 0, most_tokens = 0;
};

// What is wrong with a field of the request.
ApiError api_error(const FieldError& error);
ApiError no_such_route(std::string_view path);
ApiError wrong_method(std::string_view method, std::string_view path);
ApiError no_such_model(std::string_view name);
ApiError no_key();
ApiError too_busy(std::string message);
// A key has used up what it has for a minute.
ApiError over_allowance(double wait_s);
ApiError not_for_all();
ApiError shutting_down();
// why: what the engine said, if anything.
ApiError engine_failed(std::string_view why = {});
ApiError out_of_time();
// Nobody reads this one; metrics count it.
ApiError client_gone();

// {"error": {"message", "type", "param", "code"}}
boost::json::object error_object(const ApiError& error);

}  // namespace paceline
