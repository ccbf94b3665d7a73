// Anthropic's messages: read into the same conversation as a chat, and answered in blocks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "server/messages/messages_error.h"
#include "server/messages/messages_format.h"
#include "server/messages/messages_wire.h"

namespace paceline::messages {
namespace {

namespace json = boost::json;

struct Read {
  explicit Read(std::string_view body) : problem(true), wire(make_wire()) {
    wire->read(json::parse(body).as_object(), {}, problem);
  }
  FieldProblem problem;
  std::unique_ptr<Wire> wire;
};

std::string messages_of(std::string_view body) {
  const Read read(body);
  EXPECT_TRUE(read.problem.none()) << read.problem.first()->message;
  return json::serialize(read.wire->chat()->chat.messages);
}

TEST(MessagesWire, ReadsTheSameConversationAsAChat) {
  FieldProblem problem;
  const auto chat = read_chat(
      json::parse(
          R"({"messages":[{"role":"system","content":"Be brief.\nAnd kind."},{"role":"user","content":"Weather?"},)"
          R"({"role":"assistant","content":"Wait.","reasoning":"I ask.","tool_calls":[{"id":"a","type":"function",)"
          R"("function":{"name":"f","arguments":"{\"city\":\"Rome\"}"}}]},{"role":"tool","content":"sunny",)"
          R"("tool_call_id":"a"},{"role":"user","content":"And now?"}]})")
          .as_object(),
      {}, problem);
  ASSERT_TRUE(problem.none());
  EXPECT_EQ(
      messages_of(
          R"({"system":[{"type":"text","text":"x-anthropic-billing-header: 1"},{"type":"text","text":"Be brief."},)"
          R"({"type":"text","text":"And kind."}],"messages":[{"role":"user","content":[{"type":"text","text":"Weather?",)"
          R"("cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":[{"type":"thinking","thinking":)"
          R"("I ask.","signature":""},{"type":"text","text":"Wait."},{"type":"tool_use","id":"a","name":"f","input":)"
          R"({"city":"Rome"}}]},{"role":"user","content":[{"type":"text","text":"And now?"},{"type":"tool_result",)"
          R"("tool_use_id":"a","content":[{"type":"text","text":"sunny"}],"is_error":false}]}]})"),
      json::serialize(chat.chat.messages));
}

TEST(MessagesWire, NeighboursJoinAndTheLastAnswerGoesOn) {
  EXPECT_EQ(messages_of(R"({"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]})"),
            R"([{"role":"user","content":"a\nb"}])");
  Read open(R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"So"}]})");
  EXPECT_TRUE(open.wire->chat()->chat.continue_final_message);
  EXPECT_FALSE(open.wire->chat()->chat.add_generation_prompt);
  for (const char* nothing : {R"("")", R"(" \n")", R"([{"type":"text","text":" "}])"}) {
    Read begun(fmt::format(R"({{"messages":[{{"role":"user","content":"a"}},{{"role":"assistant","content":{}}}]}})",
                           nothing));
    EXPECT_TRUE(begun.wire->chat()->chat.add_generation_prompt) << nothing;
    EXPECT_EQ(json::serialize(begun.wire->chat()->chat.messages), R"([{"role":"user","content":"a"}])") << nothing;
  }
}

TEST(MessagesWire, WhatIsWrongIsNamed) {
  const struct {
    const char *body, *field;
  } cases[] = {
      {R"({})", "messages"},
      {R"({"messages":[]})", "messages"},
      {R"({"messages":[{"role":"tool","content":"x"}]})", "messages[0].role"},
      {R"({"messages":[{"role":"user","content":[{"type":"video"}]}]})", "messages[0].content[0].type"},
      {R"({"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]})",
       "messages[0].content[0].tool_use_id"},
      {R"({"messages":[{"role":"user","content":"x"}],"system":1})", "system"},
      {R"({"messages":[{"role":"user","content":"x"}],"max_tokens":0})", "max_tokens"},
      {R"({"messages":[{"role":"user","content":"x"}],"container":"c"})", "container"},
      {R"({"messages":[{"role":"user","content":"x"}],"tool_choice":{"type":"any"}})", "tool_choice"},
      {R"({"messages":[{"role":"user","content":"x"}],"thinking":{"type":"maybe"}})", "thinking.type"},
      {R"({"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"?"}}]}]})",
       "messages[0].content[0].source.data"},
  };
  for (const auto& c : cases) {
    const Read read(c.body);
    ASSERT_FALSE(read.problem.none()) << c.body;
    EXPECT_EQ(read.problem.first()->field, c.field) << read.problem.first()->message;
  }
  const Read odd(
      R"({"messages":[{"role":"user","content":"x"}],"novelty":1,"tools":[{"type":"bash_1","name":"bash"}]})");
  EXPECT_TRUE(odd.problem.none());
  EXPECT_EQ(odd.problem.left_out(), (std::vector<std::string>{"tools[0]:bash_1", "novelty"}));
  EXPECT_FALSE(const_cast<Read&>(odd).wire->chat()->reads_calls);
}

std::vector<ChoiceNews> some_news() {
  using Kind = OutputDelta::Kind;
  ChoiceNews news;
  news.deltas = {{.kind = Kind::reasoning, .text = "Hm."},
                 {.kind = Kind::content, .text = "I "},
                 {.kind = Kind::content, .text = "ask."},
                 {.kind = Kind::call, .text = "f"},
                 {.kind = Kind::arguments, .text = "{\"a\""},
                 {.kind = Kind::arguments, .text = ":1}"},
                 {.kind = Kind::call_end}};
  news.end = OutputEnd::tool_calls;
  return {news};
}

TEST(MessagesFormat, EventsAndTheWholeSayTheSame) {
  const auto whole = json::parse(make_format({"m"})->whole(some_news(), {}));
  EXPECT_EQ(whole.at("stop_reason"), "tool_use");
  ASSERT_EQ(whole.at("content").as_array().size(), 3u);
  EXPECT_EQ(whole.at("content").at(0).at("thinking"), "Hm.");
  EXPECT_NE(whole.at("content").at(0).at("signature"), "");
  EXPECT_EQ(whole.at("content").at(1).at("text"), "I ask.");
  EXPECT_EQ(json::serialize(whole.at("content").at(2).at("input")), R"({"a":1})");

  const auto format = make_format({"m"});
  std::string out;
  format->open({}, out);
  format->tell(0, some_news()[0], {}, out);
  format->close({}, std::nullopt, out);
  std::string names;
  for (size_t at = 0; (at = out.find("event: ", at)) != std::string::npos; at += 7)
    names += out.substr(at + 7, out.find('\n', at) - at - 7) + " ";
  const std::string block = "content_block_start content_block_delta ", stop = "content_block_stop ";
  EXPECT_EQ(names, "message_start ping " + block + "content_block_delta " + stop + block + "content_block_delta " +
                       stop + block + "content_block_delta " + stop + "message_delta message_stop ");
}

TEST(MessagesFormat, ErrorsHaveTheirShape) {
  ApiError error{.status = 400, .message = "m"};
  EXPECT_EQ(json::serialize(error_object(error, "r")),
            R"({"type":"error","error":{"type":"invalid_request_error","message":"m"},"request_id":"r"})");
  error.tokens = 9;
  error.most_tokens = 7;
  EXPECT_EQ(error_object(error, "r").at("error").at("message"), "prompt is too long: 9 tokens > 7 maximum");
  EXPECT_EQ(error_object(shutting_down(), "r").at("error").at("type"), "overloaded_error");
}

}  // namespace
}  // namespace paceline::messages
