// What clients may send: every field good and bad, and bodies that are no requests at all.
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "server/api_error.h"
#include "server/api_keys.h"
#include "server/sse.h"
#include "server/wire_chat.h"
#include "server/wire_completions.h"
#include "server/wire_tokens.h"

namespace paceline {
namespace {

namespace json = boost::json;

struct Read {
  ChatAsk chat;
  CompletionAsk text;
  FieldProblem problem;
};

Read read(bool chat, std::string_view body) {
  Read made;
  if (const auto object = parse_body(body, made.problem)) {
    if (chat) {
      made.chat = read_chat(*object, {}, made.problem);
    } else {
      made.text = read_completion(*object, {}, made.problem);
    }
  }
  return made;
}

// A request that is right but for `fields`.
Read chat_with(const std::string& fields) {
  return read(true, R"({"messages":[{"role":"user","content":"Hi"}])" + (fields.empty() ? "" : "," + fields) + "}");
}
Read text_with(const std::string& fields) {
  return read(false, R"({"prompt":"Hi")" + (fields.empty() ? "" : "," + fields) + "}");
}

TEST(Wire, FieldsThatAreRight) {
  const std::string fields =
      R"("model":"m","max_tokens":7,"temperature":0.5,"top_p":0.9,"top_k":40,"min_p":0.1,"seed":-1,"stop":["a","b"],)"
      R"("n":3,"logit_bias":{"5":-100,"6":2.5},"presence_penalty":1,"frequency_penalty":-1,"repetition_penalty":1.1,)"
      R"("stream":true,"stream_options":{"include_usage":true},"user":"u","speculative":{"enabled":true,"max_depth":2},)"
      R"("cache_salt":"s","ignore_eos":true,"stop_token_ids":[4])";
  for (const bool is_chat : {true, false}) {
    const Read read = is_chat ? chat_with(fields) : text_with(fields);
    ASSERT_TRUE(read.problem.none()) << read.problem.first()->message;
    const Ask& ask = is_chat ? static_cast<const Ask&>(read.chat) : read.text;
    EXPECT_EQ(ask.model, "m");
    EXPECT_EQ(ask.max_tokens, 7);
    EXPECT_EQ(ask.wishes.temperature, 0.5f);
    EXPECT_EQ(ask.wishes.top_p, 0.9f);
    EXPECT_EQ(ask.wishes.top_k, 40);
    EXPECT_EQ(ask.wishes.sampling.min_p, 0.1f);
    EXPECT_EQ(ask.wishes.seed, ~uint64_t{0});
    EXPECT_EQ(ask.stop_strings, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(ask.wishes.choices, 3);
    ASSERT_EQ(ask.wishes.sampling.logit_bias.size(), 2u);
    EXPECT_EQ(ask.wishes.sampling.presence_penalty, 1.0f);
    EXPECT_EQ(ask.wishes.sampling.frequency_penalty, -1.0f);
    EXPECT_EQ(ask.wishes.sampling.repetition_penalty, 1.1f);
    EXPECT_TRUE(ask.stream && ask.include_usage);
    EXPECT_EQ(ask.wishes.max_depth, 2);
    EXPECT_EQ(ask.cache_salt, "s");
    EXPECT_TRUE(ask.wishes.ignore_eos);
    EXPECT_EQ(ask.wishes.stop_ids, std::vector<TokenId>{4});
  }
  const Read plain = chat_with("");
  ASSERT_TRUE(plain.problem.none());
  EXPECT_FALSE(plain.chat.max_tokens || plain.chat.wishes.temperature || plain.chat.wishes.seed || plain.chat.stream);
  EXPECT_EQ(chat_with(R"("max_completion_tokens":9,"max_tokens":7)").chat.max_tokens, 9);
  EXPECT_EQ(chat_with(R"("max_tokens":5.0)").chat.max_tokens, 5);
  EXPECT_EQ(chat_with(R"("speculative":{"enabled":false})").chat.wishes.max_depth, 0);
  EXPECT_EQ(chat_with(R"("speculative":{"depth":3})").chat.wishes.depth, 3);
  EXPECT_EQ(plain.chat.picture_tokens, 0);
  EXPECT_EQ(chat_with(R"("mm_processor_kwargs":{"max_soft_tokens":140})").chat.picture_tokens, 140);
  EXPECT_TRUE(chat_with(R"("temperature":null,"stop":null,"tools":null,"seed":null)").problem.none());
}

TEST(Wire, FieldsThatAreWrongAreNamed) {
  const struct {
    const char *fields, *param;
  } cases[] = {
      {R"("model":3)", "model"},
      {R"("max_tokens":0)", "max_tokens"},
      {R"("max_tokens":1.5)", "max_tokens"},
      {R"("max_tokens":"7")", "max_tokens"},
      {R"("max_tokens":99999999999999999999)", "max_tokens"},
      {R"("max_completion_tokens":-1)", "max_completion_tokens"},
      {R"("temperature":-0.1)", "temperature"},
      {R"("temperature":2.1)", "temperature"},
      {R"("temperature":1e999)", "temperature"},
      {R"("top_p":1.01)", "top_p"},
      {R"("top_k":-2)", "top_k"},
      {R"("min_p":2)", "min_p"},
      {R"("seed":"x")", "seed"},
      {R"("seed":1.5)", "seed"},
      {R"("stop":7)", "stop"},
      {R"("stop":"")", "stop"},
      {R"("stop":["a",1])", "stop"},
      {R"("n":0)", "n"},
      {R"("n":17)", "n"},
      {R"("logit_bias":[1])", "logit_bias"},
      {R"("logit_bias":{"x":1})", "logit_bias"},
      {R"("logit_bias":{"5":101})", "logit_bias"},
      {R"("presence_penalty":3)", "presence_penalty"},
      {R"("frequency_penalty":-3)", "frequency_penalty"},
      {R"("repetition_penalty":0)", "repetition_penalty"},
      {R"("stream":"yes")", "stream"},
      {R"("stream_options":{"include_usage":true})", "stream_options"},
      {R"("stream":true,"stream_options":{"include_usage":1})", "stream_options.include_usage"},
      {R"("stream":true,"stream_options":{"x":1})", "stream_options.x"},
      {R"("speculative":{"max_depth":-1})", "speculative.max_depth"},
      {R"("speculative":{"depth":17})", "speculative.depth"},
      {R"("speculative":{"enabled":1})", "speculative.enabled"},
      {R"("speculative":true)", "speculative"},
      {R"("cache_salt":1)", "cache_salt"},
      {R"("ignore_eos":"no")", "ignore_eos"},
      {R"("stop_token_ids":[-1])", "stop_token_ids"},
      {R"("temprature":1)", "temprature"},
  };
  for (const auto& c : cases) {
    for (const bool is_chat : {true, false}) {
      const Read read = is_chat ? chat_with(c.fields) : text_with(c.fields);
      ASSERT_FALSE(read.problem.none()) << c.fields;
      EXPECT_EQ(api_error(*read.problem.first()).status, 400);
      EXPECT_EQ(read.problem.first()->field, c.param) << c.fields;
      EXPECT_NE(read.problem.first()->message.find(c.param), std::string::npos) << read.problem.first()->message;
    }
  }
}

TEST(Wire, ChatFieldsThatAreWrongAreNamed) {
  const struct {
    const char *fields, *param;
  } cases[] = {
      {R"("logprobs":1)", "logprobs"},
      {R"("top_logprobs":3)", "top_logprobs"},
      {R"("logprobs":true,"top_logprobs":21)", "top_logprobs"},
      {R"("tools":{})", "tools"},
      {R"("tools":[1])", "tools[0]"},
      {R"("tools":[{"type":"function"}])", "tools[0].function"},
      {R"("tools":[{"type":"function","function":{}}])", "tools[0].function.name"},
      {R"("tools":[{"type":"retrieval","function":{"name":"f"}}])", "tools[0].type"},
      {R"("tools":[{"type":"function","function":{"name":"f","parameters":[]}}])", "tools[0].function.parameters"},
      {R"("tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"maybe")", "tool_choice"},
      {R"("tool_choice":"required")", "tool_choice"},
      {R"("tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"function","function":{"name":"g"}})",
       "tool_choice.function.name"},
      {R"("response_format":"json")", "response_format"},
      {R"("response_format":{"type":"xml"})", "response_format.type"},
      {R"("response_format":{"type":"json_schema"})", "response_format.json_schema"},
      {R"("response_format":{"type":"json_schema","json_schema":{"name":"x"}})", "response_format.json_schema.schema"},
      {R"("response_format":{"type":"json_object"},"ignore_eos":true)", "ignore_eos"},
      {R"("chat_template_kwargs":{"enable_thinking":1})", "chat_template_kwargs.enable_thinking"},
      {R"("chat_template_kwargs":{"messages":[]})", "chat_template_kwargs.messages"},
      {R"("mm_processor_kwargs":{"max_soft_tokens":71})", "mm_processor_kwargs.max_soft_tokens"},
      {R"("mm_processor_kwargs":{"fps":2})", "mm_processor_kwargs.fps"},
      {R"("functions":[])", "functions"},
      {R"("modalities":["audio"])", "modalities"},
  };
  for (const auto& c : cases) {
    const Read read = chat_with(c.fields);
    ASSERT_FALSE(read.problem.none()) << c.fields;
    EXPECT_EQ(read.problem.first()->field, c.param) << c.fields;
  }
}

TEST(Wire, MessagesThatAreWrongAreNamed) {
  const struct {
    const char *messages, *param;
  } cases[] = {
      {"null", "messages"},
      {"[]", "messages"},
      {"{}", "messages"},
      {"[1]", "messages[0]"},
      {R"([{"content":"x"}])", "messages[0].role"},
      {R"([{"role":"robot","content":"x"}])", "messages[0].role"},
      {R"([{"role":"user"}])", "messages[0].content"},
      {R"([{"role":"user","content":1}])", "messages[0].content"},
      {R"([{"role":"user","content":[1]}])", "messages[0].content[0]"},
      {R"([{"role":"user","content":[{"type":"text"}]}])", "messages[0].content[0].text"},
      {R"([{"role":"user","content":[{"type":"smell"}]}])", "messages[0].content[0].type"},
      {R"([{"role":"user","content":[{"type":"input_audio","input_audio":{}}]}])", "messages[0].content[0].type"},
      {R"([{"role":"user","content":[{"type":"video_url","video_url":{"url":"x"}}]}])",
       "messages[0].content[0].video_url.url"},
      {R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://x/y.png"}}]}])",
       "messages[0].content[0].image_url.url"},
      {R"([{"role":"user","content":"x","mood":"good"}])", "messages[0].mood"},
      {R"([{"role":"tool","content":"x"}])", "messages[0].tool_call_id"},
      {R"([{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":"[1]"}}]}])",
       "messages[0].tool_calls[0].function.arguments"},
      {R"([{"role":"assistant","tool_calls":[{"id":"1"}]}])", "messages[0].tool_calls[0].function"},
  };
  for (const auto& c : cases) {
    const Read read = paceline::read(true, std::string(R"({"messages":)") + c.messages + "}");
    ASSERT_FALSE(read.problem.none()) << c.messages;
    EXPECT_EQ(read.problem.first()->field, c.param) << c.messages;
  }
}

TEST(Wire, SchemesOfMediaMayBeCapitals) {
  const Read read = paceline::read(
      true,
      R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"DATA:;BASE64,aGk="}}]}]})");
  ASSERT_TRUE(read.problem.none()) << read.problem.first()->message;
  EXPECT_EQ(read.chat.media.at(0).bytes, "hi");
}

TEST(Wire, ConversationsAreMadeForTemplates) {
  const Read read = paceline::read(
      true,
      R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}},)"
      R"({"type":"text","text":"what?"}]},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function",)"
      R"("function":{"name":"f","arguments":"{\"a\":[1]}"}}]},{"role":"tool","tool_call_id":"c","content":"42"}],)"
      R"("tools":[{"type":"function","function":{"name":"f","parameters":{"properties":{}}}}],)"
      R"("tool_choice":{"type":"function","function":{"name":"f"}},"chat_template_kwargs":{"enable_thinking":true}})");
  ASSERT_TRUE(read.problem.none()) << read.problem.first()->message;
  const ChatAsk& ask = read.chat;
  ASSERT_EQ(ask.media.size(), 1u);
  EXPECT_EQ(ask.media[0].bytes, "hi");
  EXPECT_EQ(
      json::serialize(ask.chat.messages),
      R"([{"role":"user","content":[{"type":"image"},{"type":"text","text":"what?"}]},{"role":"assistant",)"
      R"("content":"","tool_calls":[{"type":"function","id":"c","function":{"name":"f","arguments":{"a":[1]}}}]},)"
      R"({"role":"tool","content":"42","tool_call_id":"c"}])");
  EXPECT_EQ(
      json::serialize(ask.chat.tools),
      R"([{"type":"function","function":{"name":"f","description":"","parameters":{"properties":{},"type":"object"}}}])");
  ASSERT_TRUE(ask.form);
  EXPECT_EQ(ask.form->kind, OutputForm::Kind::tool_calls);
  EXPECT_EQ(ask.form->max_calls, 1);
  EXPECT_EQ(ask.thinks, true);
  EXPECT_TRUE(ask.reads_calls);
  EXPECT_FALSE(ask.tools.empty());
}

// Whether a call is demanded or not: templates write names as they are.
TEST(Wire, NamesOfToolsArePlain) {
  for (const char* choice : {"auto", "required"}) {
    const auto field = [&](const std::string& name) {
      const Read read = chat_with(R"("tools":[{"type":"function","function":{"name":")" + name +
                                  R"("}}],"tool_choice":")" + choice + "\"");
      return read.problem.none() ? "" : read.problem.first()->field.value_or("?");
    };
    EXPECT_EQ(field("get_the-weather.2"), "");
    for (const char* name : {"a{}<tool|>\\n", "two words", "\u00e9"}) EXPECT_EQ(field(name), "tools[0].function.name");
  }
}

TEST(Wire, ToolsThatMayNotBeCalledAreNotShown) {
  const Read none = chat_with(R"("tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"none")");
  ASSERT_TRUE(none.problem.none());
  EXPECT_FALSE(none.chat.reads_calls || none.chat.form);
  EXPECT_TRUE(none.chat.chat.tools.is_null());
  const Read any = chat_with(R"("tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"required")");
  EXPECT_GT(any.chat.form->max_calls, 1);
  const Read one = chat_with(
      R"("tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"required","parallel_tool_calls":false)");
  EXPECT_EQ(one.chat.form->max_calls, 1);
}

// How a text is cut into parts is not seen; and what is wrong with a list is said of it.
TEST(Wire, PartsOfTextAreOneText) {
  const auto of = [](const std::string& content) {
    return json::serialize(
        read(true, R"({"messages":[{"role":"user","content":)" + content + "}]}").chat.chat.messages);
  };
  EXPECT_EQ(of(R"([{"type":"text","text":"Once "},{"type":"text","text":"more"}])"), of(R"("Once more")"));
  EXPECT_EQ(read(true, R"({"messages":[]})").problem.first()->message,
            "messages is empty: it must have at least one message");
  EXPECT_EQ(chat_with(R"("temperature":3)").problem.first()->message,
            "temperature must be a number from 0 to 2, not 3");
}

TEST(Wire, ToolsTogetherWithAForm) {
  const std::string tools = R"("tools":[{"type":"function","function":{"name":"f"}}],)";
  const Read either = chat_with(tools + R"("response_format":{"type":"json_object"})");
  ASSERT_TRUE(either.problem.none());
  EXPECT_EQ(either.chat.form->kind, OutputForm::Kind::json_object);
  EXPECT_EQ(either.chat.form->tools.size(), 1u);
  const Read demanded = chat_with(tools + R"("tool_choice":"required","response_format":{"type":"json_object"})");
  EXPECT_EQ(demanded.chat.form->kind, OutputForm::Kind::tool_calls);
  const Read odd = chat_with(
      R"("tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","$schema":"x","properties":)"
      R"({"p":{"type":"string","pattern":"\\bx","contentEncoding":"x"}}}}}],"tool_choice":"required")");
  ASSERT_TRUE(odd.problem.none());
  EXPECT_EQ(json::serialize(odd.chat.form->tools[0].parameters.at("properties").at("p")), R"({"type":"string"})");
  EXPECT_TRUE(odd.chat.chat.tools.at(0)
                  .at("function")
                  .at("parameters")
                  .at("properties")
                  .at("p")
                  .as_object()
                  .contains("pattern"))
      << "the model is shown all of it";
}

TEST(Wire, PromptsOfEveryKind) {
  EXPECT_EQ(read(false, R"({"prompt":"x"})").text.prompts.at(0).text, "x");
  EXPECT_EQ(read(false, R"({"prompt":[1,2]})").text.prompts.at(0).ids, (std::vector<TokenId>{1, 2}));
  EXPECT_EQ(read(false, R"({"prompt":["x","y"]})").text.prompts.at(1).text, "y");
  EXPECT_EQ(read(false, R"({"prompt":[[1],[2,3]]})").text.prompts.at(1).ids, (std::vector<TokenId>{2, 3}));
  for (const char* prompt :
       {"null", "\"\"", "[]", "[\"\"]", "[[]]", "[1,\"x\"]", "[1.5]", "[-1]", "{}", "3", "[[[1]]]"}) {
    EXPECT_EQ(read(false, std::string(R"({"prompt":)") + prompt + "}").problem.first().value().field, "prompt")
        << prompt;
  }
  for (const char* field : {"\"echo\":true", "\"suffix\":\"x\"", "\"best_of\":2"}) {
    EXPECT_EQ(text_with(field).problem.first().value().code, "unsupported") << field;
  }
  EXPECT_TRUE(text_with(R"("echo":false,"best_of":1,"logprobs":3)").problem.none());
}

TEST(Wire, BodiesThatAreNoRequests) {
  std::vector<std::string> bodies{"", "{", "[]", "null", "{}x", "{\"prompt\":\"\xFF\"}", "{\"\xC3\":1}"};
  bodies.emplace_back(2, '\0');
  bodies.emplace_back(100'000, '[');
  bodies.push_back("{\"a\":");
  bodies.back().append(100'000, '[');
  for (const std::string& body : bodies) {
    for (const bool is_chat : {true, false}) {
      const Read made = read(is_chat, body);
      ASSERT_FALSE(made.problem.none());
      EXPECT_EQ(api_error(*made.problem.first()).status, 400);
    }
  }
  for (const bool is_chat : {true, false}) {
    EXPECT_EQ(read(is_chat, "{\"prompt\":\"\xFF\"}").problem.first()->message,
              "the body must be UTF-8: it has bytes that are no characters");
  }
  const auto object = error_object(api_error(*read(true, "[]").problem.first()));
  EXPECT_EQ(json::serialize(object),
            R"({"error":{"message":"the body must be a JSON object, not an array","type":"invalid_request_error",)"
            R"("param":null,"code":"invalid_json"}})");
}

TEST(Wire, Tokens) {
  FieldProblem problem;
  EXPECT_EQ(read_tokenize(*parse_body(R"({"prompt":"x","add_special_tokens":false})", problem), {}, problem)
                .prompts.at(0)
                .text,
            "x");
  EXPECT_EQ(read_detokenize(*parse_body(R"({"tokens":[1,2]})", problem), problem).ids, (std::vector<TokenId>{1, 2}));
  EXPECT_TRUE(problem.none());
  (void)read_detokenize(*parse_body(R"({"tokens":[1,-2]})", problem), problem);
  EXPECT_EQ(problem.first().value().field, "tokens");
}

TEST(Wire, EventsAreOneLineEach) {
  std::string out;
  add_event({{"text", "a\nb\r\n\n\u2028"}}, out);
  EXPECT_EQ(out.substr(0, 6), "data: ");
  EXPECT_EQ(out.find('\n'), out.size() - 2);
  EXPECT_EQ(out.find('\r'), std::string::npos);
}

TEST(ApiKeysTest, OnlyTheRightOnesPass) {
  const std::vector<std::string> keys{"first", "second"};
  const ApiKeys api_keys(keys);
  EXPECT_TRUE(api_keys.needed());
  EXPECT_EQ(api_keys.check("Bearer second"), 1u);
  EXPECT_EQ(api_keys.check("bearer second"), 1u);  // RFC 9110: in any case
  for (const char* header :
       {"", "second", "Bearer ", "Bearer secon", "Bearer second ", "Bearers second", "Basic second"}) {
    EXPECT_FALSE(api_keys.check(header)) << header;
  }
  EXPECT_EQ(api_keys.check("", "first"), 0u);
  EXPECT_EQ(api_keys.check("Bearer wrong", "second"), 1u);
  EXPECT_FALSE(api_keys.check("Bearer wrong", "Bearer second"));
  EXPECT_FALSE(ApiKeys({}).needed());
  EXPECT_EQ(split_keys(" a,b\nc "), (std::vector<std::string>{"a", "b", "c"}));
}

TEST(ApiKeysTest, ScopesAreApart) {
  EXPECT_EQ(cache_scope({}, "", ""), Fingerprint{});
  EXPECT_NE(cache_scope(0, "", ""), cache_scope(1, "", ""));
  EXPECT_NE(cache_scope({}, "ab", "c"), cache_scope({}, "a", "bc"));
  EXPECT_EQ(cache_scope(1, "a", "b"), cache_scope(1, "a", "b"));
}

}  // namespace
}  // namespace paceline
