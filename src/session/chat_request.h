// A conversation as clients send it, rendered by a template as Hugging Face's apply_chat_template does.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <string>

#include "base/result.h"
#include "jinja/template.h"

namespace paceline {

struct ChatRequest {
  boost::json::array messages;
  boost::json::value tools;      // null: none
  boost::json::value documents;  // null: none
  bool add_generation_prompt = true;
  bool continue_final_message = false;  // leave the last message open; without a generation prompt
  boost::json::object variables;        // bos_token and the like, enable_thinking and what else a template asks for
  std::chrono::milliseconds render_time = jinja::Limits().time;  // what takes longer is an error
};

// `defaults`: variables where the request has none of the name. The request's render_time holds, not that of the
// options.
Result<jinja::Rendering> render_chat_request(const jinja::Template& chat_template, const ChatRequest& request,
                                             const jinja::RenderOptions& options = {},
                                             const boost::json::object& defaults = {});

}  // namespace paceline
