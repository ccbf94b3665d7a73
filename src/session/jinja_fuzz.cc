// Any bytes as a chat template: an error, or a text; in bounded time and memory either way.
#include <boost/json/parse.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/utf8.h"
#include "session/chat_request.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace paceline;
  static const boost::json::array kMessages = boost::json::parse(R"([
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Köln?"}, {"type": "image"}]},
    {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function":
      {"name": "f", "arguments": {"days": 2, "x": [1.5, null, true]}}}]},
    {"role": "tool", "content": "12"}, {"role": "user", "content": "And?"}])")
                                                  .as_array();
  const auto parsed = jinja::Template::parse(std::string_view(reinterpret_cast<const char*>(bytes), size));
  if (!parsed.ok()) {
    CHECK(!parsed.error().message.empty());
    return 0;
  }
  ChatRequest request;
  request.messages = kMessages;
  request.variables = {{"bos_token", "<bos>"}, {"enable_thinking", true}};
  jinja::RenderOptions options;
  options.limits = {.steps = 20'000, .depth = 600, .bytes = 1 << 20, .output_bytes = 1 << 16};
  const auto rendered = render_chat_request(*parsed, request, options);
  if (rendered.ok()) {
    CHECK(rendered->text.size() <= options.limits.output_bytes);
    CHECK(is_valid_utf8(rendered->text));
  } else {
    CHECK(!rendered.error().message.empty());
  }
  return 0;
}
