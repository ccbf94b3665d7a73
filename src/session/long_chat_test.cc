// Conversations of thousands of messages: work that grows with them and not with their square, and an end in time.
#include <boost/json/array.hpp>
#include <chrono>
#include <iostream>

#include "session/chat_request.h"
#include "tokenizer/tokenizers_for_tests.h"

namespace paceline {
namespace {

namespace json = boost::json;

ChatRequest turns(size_t count) {
  ChatRequest request;
  request.variables = {{"bos_token", "<bos>"}};
  for (size_t i = 0; i < count; ++i) {
    const char* role = i % 2 == 0 ? "user" : "assistant";
    request.messages.push_back({{"role", role}, {"content", "Message " + std::to_string(i)}});
  }
  return request;
}

// Every second message is a tool's answer to the one before.
ChatRequest tool_answers(size_t count) {
  ChatRequest request;
  request.variables = {{"bos_token", "<bos>"}};
  request.messages.push_back({{"role", "user"}, {"content", "Go on."}});
  for (size_t i = 0; i < count; ++i) {
    const std::string id = "call_" + std::to_string(i);
    json::object call{{"id", id}, {"type", "function"}, {"function", {{"name", "f"}, {"arguments", {{"n", i}}}}}};
    request.messages.push_back({{"role", "assistant"}, {"tool_calls", json::array{std::move(call)}}});
    request.messages.push_back({{"role", "tool"}, {"tool_call_id", id}, {"content", "12"}});
  }
  return request;
}

size_t times(const std::string& text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

void expect_linear(const std::string& template_path) {
  const auto parsed = jinja::Template::parse(read_or_fail(template_path));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  constexpr int64_t kStepsPerMessage = 300;
  const auto render = [&](const ChatRequest& request) {
    jinja::RenderOptions options;
    options.limits.steps = kStepsPerMessage * static_cast<int64_t>(request.messages.size());
    const auto begin = std::chrono::steady_clock::now();
    const auto rendered = render_chat_request(*parsed, request, options);
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
    std::cout << "  " << request.messages.size() << " messages: " << took.count() << " ms\n";
    EXPECT_TRUE(rendered.ok()) << rendered.error().message;
    return rendered.ok() ? rendered->text : "";
  };
  EXPECT_EQ(times(render(turns(4'000)), "<|turn>user\nMessage "), 2'000u);
  EXPECT_EQ(times(render(turns(20'000)), "<|turn>user\nMessage "), 10'000u);
  EXPECT_EQ(times(render(tool_answers(10'000)), "response:f{"), 10'000u);
}

TEST(LongChat, TheShippedTemplate) { expect_linear(PACELINE_SOURCE_DIR "/models/default/chat_template.jinja"); }

TEST(LongChat, GemmasOwnTemplates) {
  const std::string folder = shared_folder();
  SKIP_WITHOUT_SHARED(folder);
  expect_linear(folder + "/templates/gemma-4-large-it.jinja");
  expect_linear(folder + "/templates/gemma-4-small-it.jinja");
}

TEST(LongChat, EndsInTime) {
  const auto parsed = jinja::Template::parse(
      "{% for a in range(99999) %}{% for b in range(99999) %}{% if b < 0 %}x{% endif %}{% endfor %}{% endfor %}");
  ASSERT_TRUE(parsed.ok());
  ChatRequest request;
  request.render_time = std::chrono::milliseconds(30);
  jinja::RenderOptions options;
  options.limits.steps = int64_t{1} << 60;
  const auto rendered = render_chat_request(*parsed, request, options);
  ASSERT_FALSE(rendered.ok());
  EXPECT_EQ(rendered.error().message, "line 1: rendering took longer than 30 ms");
}

}  // namespace
}  // namespace paceline
