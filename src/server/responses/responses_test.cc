// Responses: read into the same conversation as a chat, answered in items, and kept.
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "server/responses/responses_ask.h"
#include "server/responses/responses_format.h"
#include "server/responses/responses_wire.h"

namespace paceline::responses {
namespace {

namespace json = boost::json;

class ResponsesTest : public testing::Test {
 protected:
  ResponsesAsk read(std::string_view body) {
    problem_ = FieldProblem(true);
    return read_ask(json::parse(body).as_object(), {}, {&store_, 1}, problem_);
  }

  ResponseStore store_{1 << 20};
  FieldProblem problem_;
};

TEST_F(ResponsesTest, ReadsTheSameConversationAsAChat) {
  FieldProblem problem;
  const auto chat = read_chat(
      json::parse(
          R"({"messages":[{"role":"system","content":"Be brief.\nAnd kind."},{"role":"user","content":"Weather?"},)"
          R"({"role":"assistant","content":"Wait.","reasoning":"I ask.","tool_calls":[{"id":"a","type":"function",)"
          R"("function":{"name":"f","arguments":"{\"city\":\"Rome\"}"}}]},{"role":"tool","content":"sunny",)"
          R"("tool_call_id":"a"}]})")
          .as_object(),
      {}, problem);
  ASSERT_TRUE(problem.none());
  const auto ask = read(
      R"({"instructions":"Be brief.","input":[{"type":"message","role":"developer","content":"And kind."},)"
      R"({"role":"user","content":[{"type":"input_text","text":"Weather?"}]},{"type":"reasoning","id":"rs_1","summary":)"
      R"([],"content":[{"type":"reasoning_text","text":"I ask."}],"encrypted_content":null},{"type":"message","id":)"
      R"("msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Wait.",)"
      R"("annotations":[]}]},{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":)"
      R"("{\"city\":\"Rome\"}","status":"completed"},{"type":"function_call_output","call_id":"a","output":"sunny"}]})");
  ASSERT_TRUE(problem_.none()) << problem_.first()->message;
  EXPECT_EQ(json::serialize(ask.chat.messages), json::serialize(chat.chat.messages));
}

TEST_F(ResponsesTest, ToolsOfEveryType) {
  const auto ask = read(
      R"({"input":"x","tools":[{"type":"function","name":"f","parameters":{"type":"object"}},{"type":"web_search"},)"
      R"({"type":"namespace","name":"mcp","description":"d","tools":[{"type":"function","name":"g"}]},)"
      R"({"type":"custom","name":"patch","format":{"type":"grammar","syntax":"lark","definition":"start: X"}}]})");
  ASSERT_TRUE(problem_.none()) << problem_.first()->message;
  EXPECT_EQ(problem_.left_out(), std::vector<std::string>{"tools[1]:web_search"});
  ASSERT_EQ(ask.names.size(), 3u);
  EXPECT_EQ(ask.names.at("mcp__g").space, "mcp");
  EXPECT_TRUE(ask.names.at("patch").is_custom);
  const auto& shown = ask.chat.tools.at(2).at("function");
  EXPECT_NE(std::string(shown.at("description").as_string()).find("start: X"), std::string::npos);
  const auto one =
      read(R"({"input":"x","tools":[{"type":"function","name":"f"},{"type":"function","name":"g"}],"tool_choice":)"
           R"({"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"g"}]}})");
  ASSERT_TRUE(problem_.none());
  ASSERT_EQ(one.form->tools.size(), 1u);
  EXPECT_EQ(one.form->tools[0].name, "g");
  EXPECT_EQ(one.chat.tools.as_array().size(), 2u);
}

TEST_F(ResponsesTest, WhatIsWrongIsNamed) {
  const struct {
    const char *body, *field;
  } cases[] = {
      {R"({})", "input"},
      {R"({"input":[]})", "input"},
      {R"({"input":[1]})", "input[0]"},
      {R"({"input":[{"role":"judge","content":"x"}]})", "input[0].role"},
      {R"({"input":[{"type":"web_search_call"}]})", "input[0].type"},
      {R"({"input":[{"type":"function_call_output","call_id":"a","output":""}]})", "input[0].call_id"},
      {R"({"input":[{"type":"function_call","call_id":"a","name":"f","arguments":"{"}]})", "input[0].arguments"},
      {R"({"input":[{"type":"item_reference","id":"a"}]})", "input[0].id"},
      {R"({"input":"x","previous_response_id":"resp_no"})", "previous_response_id"},
      {R"({"input":"x","max_output_tokens":0})", "max_output_tokens"},
      {R"({"input":"x","background":true})", "background"},
      {R"({"input":"x","truncation":"auto"})", "truncation"},
      {R"({"input":"x","conversation":"c"})", "conversation"},
      {R"({"input":"x","tool_choice":{"type":"web_search"}})", "tool_choice.type"},
      {R"({"input":"x","text":{"format":{"type":"json_schema"}}})", "text.format.schema"},
      {R"({"input":"x","reasoning":{"summary":"long"}})", "reasoning.summary"},
  };
  for (const auto& c : cases) {
    (void)read(c.body);
    ASSERT_FALSE(problem_.none()) << c.body;
    EXPECT_EQ(problem_.first()->field, c.field) << problem_.first()->message;
  }
  (void)read(R"({"input":"x","text":{},"background":false,"truncation":"disabled","include":["x"],"novelty":1})");
  EXPECT_TRUE(problem_.none());
}

std::vector<ChoiceNews> some_news(OutputEnd end) {
  using Kind = OutputDelta::Kind;
  ChoiceNews news;
  news.deltas = {{.kind = Kind::reasoning, .text = "Hm."},
                 {.kind = Kind::content, .text = "I ask."},
                 {.kind = Kind::call, .text = "mcp__f"},
                 {.kind = Kind::arguments, .text = "{}"}};
  if (end == OutputEnd::tool_calls) news.deltas.push_back({.kind = Kind::call_end});
  news.end = end;
  return {news};
}

TEST_F(ResponsesTest, EventsAndTheWholeSayTheSame) {
  FormatTerms terms;
  terms.given = {{"instructions", nullptr}};
  terms.names = {{"mcp__f", {"mcp", "f", false}}};
  for (const bool in_summary : {false, true}) {
    terms.thinks_in_summary = in_summary;
    const auto whole = json::parse(make_format({"m"}, terms)->whole(some_news(OutputEnd::tool_calls), {}));
    EXPECT_EQ(whole.at("status"), "completed");
    ASSERT_EQ(whole.at("output").as_array().size(), 3u);
    EXPECT_EQ(whole.at("output").at(0).at(in_summary ? "summary" : "content").at(0).at("text"), "Hm.");
    EXPECT_EQ(whole.at("output").at(2).at("name"), "f");
    EXPECT_EQ(whole.at("output").at(2).at("namespace"), "mcp");

    const auto format = make_format({"m"}, terms);
    std::string out;
    format->open({}, out);
    format->show_life(out);
    format->tell(0, some_news(OutputEnd::length)[0], {}, out);
    format->close({}, std::nullopt, out);
    EXPECT_NE(out.find("event: response.incomplete\n"), std::string::npos);
    EXPECT_NE(out.find(in_summary ? "response.reasoning_summary_text.delta" : "response.reasoning_text.delta"),
              std::string::npos);
    int64_t next = 0;
    for (size_t at = 0; (at = out.find("data: ", at)) != std::string::npos; at += 6) {
      const auto event = json::parse(out.substr(at + 6, out.find("\n\n", at) - at - 6));
      EXPECT_EQ(event.at("sequence_number").as_int64(), next++);
    }
    EXPECT_GT(next, 10);
  }
}

TEST_F(ResponsesTest, KeptForTheirOwnersWithinBytes) {
  const json::object response{{"id", "r1"}, {"output", json::array{{{"id", "msg_1"}, {"type", "message"}}}}};
  store_.put("r1", {1, response, {{{"role", "user"}, {"content", "x"}}}});
  EXPECT_TRUE(store_.find("r1", 1));
  EXPECT_FALSE(store_.find("r1", 2)) << "another's";
  EXPECT_FALSE(store_.find("r1", std::nullopt));
  EXPECT_EQ(conversation_of(*store_.find("r1", 1)).size(), 2u);
  EXPECT_TRUE(store_.find_item("msg_1", 1));
  EXPECT_FALSE(store_.find_item("msg_1", 2));
  EXPECT_FALSE(store_.erase("r1", 2));
  const std::string filler(400 << 10, 'x');
  for (const char* id : {"r2", "r3", "r4"}) store_.put(id, {1, {{"text", filler}}, {}});
  EXPECT_FALSE(store_.find("r1", 1)) << "the oldest";
  EXPECT_TRUE(store_.find("r4", 1));
  EXPECT_LE(store_.bytes(), size_t{1} << 20);
  EXPECT_TRUE(store_.erase("r4", 1));
  EXPECT_FALSE(store_.find("r4", 1));
}

}  // namespace
}  // namespace paceline::responses
