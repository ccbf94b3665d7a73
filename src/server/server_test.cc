// The server as clients meet it, with the default model behind it.
#include "server/server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <span>

#include "base/sanitized.h"
#include "server/server_for_tests.h"
#include "weights/sha256.h"

namespace paceline {
namespace {

namespace json = boost::json;

const json::object& first_choice(const json::value& answer) { return answer.at("choices").at(0).as_object(); }

// A stream put together again.
struct Streamed {
  std::string content, reasoning, finish;
  json::array calls;
  json::value usage;
};
Streamed joined(const TestAnswer& answer, int64_t index = 0) {
  Streamed made;
  for (const json::value& event : answer.events()) {
    if (const auto* usage = event.as_object().if_contains("usage"); usage != nullptr && usage->is_object()) {
      made.usage = *usage;
    }
    for (const json::value& choice : event.at("choices").as_array()) {
      if (choice.at("index").as_int64() != index) continue;
      const json::object* delta = nullptr;
      if (choice.as_object().contains("delta")) delta = &choice.at("delta").as_object();
      if (delta == nullptr) made.content += choice.at("text").as_string();
      if (delta != nullptr && delta->contains("content")) made.content += delta->at("content").as_string();
      if (delta != nullptr && delta->contains("reasoning")) made.reasoning += delta->at("reasoning").as_string();
      if (delta != nullptr && delta->contains("tool_calls")) made.calls.push_back(delta->at("tool_calls").at(0));
      if (choice.at("finish_reason").is_string()) made.finish = choice.at("finish_reason").as_string();
    }
  }
  return made;
}

class ServerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = new TestServer(); }
  static void TearDownTestSuite() {
    delete server_;
    server_ = nullptr;
  }
  static TestServer* server_;
};
TestServer* ServerTest::server_ = nullptr;

TEST_F(ServerTest, SmallRoutes) {
  TestClient client = server_->client();
  EXPECT_EQ(client.get("/health").json().at("status"), json::value("ok"));
  EXPECT_EQ(client.get("/ready").status, 200);
  EXPECT_EQ(client.get("/version").json().at("name"), json::value("paceline"));
  const auto model = client.get("/v1/models").json().at("data").at(0);
  EXPECT_EQ(model.at("id"), json::value("default"));
  EXPECT_EQ(model.at("context_length"), json::value(TestModel::shared().text.loaded.config.context));
  EXPECT_EQ(client.get("/v1/models/default").json().at("object"), json::value("model"));
  EXPECT_EQ(client.get("/v1/models/other").status, 404);
  EXPECT_EQ(client.get("/nothing").error_field("code"), "not_found");
  const TestAnswer wrong = client.get("/v1/chat/completions");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_NE(wrong.head.find("Allow: POST"), std::string::npos);
  client.send("HEAD /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.read_answer(false).status, 200);
  EXPECT_EQ(client.get("/health?x=1").status, 200);
}

// A server of its own: those of other tests may have been asked for them.
TEST(ServerDigests, ComeLater) {
  TestServer server;
  const auto digest = [&] {
    return server.client().get("/v1/models").json().at("data").at(0).at("sha256").at("target");
  };
  EXPECT_TRUE(digest().is_null());
  server.model().start_hashing();
  EXPECT_TRUE(TestServer::soon([&] { return digest().is_string() && digest().as_string().size() == 64; }));
}

TEST_F(ServerTest, TokensAndBack) {
  TestClient client = server_->client();
  const auto tokens = client.post("/tokenize", R"({"prompt":"Hello wörld"})").json();
  EXPECT_EQ(tokens.at("count"), json::value(tokens.at("tokens").as_array().size()));
  const std::string ids = json::serialize(tokens.at("tokens"));
  EXPECT_EQ(client.post("/detokenize", R"({"tokens":)" + ids + "}").json().at("prompt"),
            json::value("<bos>Hello wörld"));
  // Ids that the model does not have are no text.
  const TestAnswer beyond = client.post("/detokenize", R"({"tokens":[2,8192]})");
  EXPECT_EQ(beyond.status, 400) << beyond.body;
  EXPECT_EQ(beyond.error_field("param"), "tokens");
  EXPECT_EQ(beyond.error_field("code"), "invalid_value");
  EXPECT_EQ(beyond.error_field("message"), "tokens holds 8192; the model's ids end at 8191");
  EXPECT_EQ(client.post("/detokenize", R"({"tokens":[8191]})").status, 200);
  const auto chat = client.post("/tokenize", R"({"messages":[{"role":"user","content":"Hi"}]})").json();
  // <bos><|turn>user\n, the text, <turn|>\n<|turn>model\n
  EXPECT_EQ(chat.at("tokens"), json::value({2, 5, 430, 280, 1750, 6, 280, 5, 431, 280}));
}

TEST_F(ServerTest, TokensOfAListOfPrompts) {
  TestClient client = server_->client();
  const auto tokens = [&](const std::string& body) {
    const TestAnswer answer = client.post("/tokenize", body);
    EXPECT_EQ(answer.status, 200) << body << answer.body;
    return answer.status == 200 ? answer.json().at("tokens").as_array() : json::array();
  };
  json::array both = tokens(R"({"prompt":"Hello"})");
  const json::array second = tokens(R"({"prompt":"world"})");
  both.insert(both.end(), second.begin(), second.end());
  EXPECT_EQ(tokens(R"({"prompt":["Hello","world"]})"), both);
  EXPECT_EQ(tokens(R"({"prompt":[7,8,9]})"), json::array({7, 8, 9}));
  EXPECT_EQ(tokens(R"({"prompt":[[7,8],"world"],"add_special_tokens":false})").size(), second.size() + 1);
  EXPECT_EQ(tokens(R"({"prompt":""})").size(), 1u) << "<bos>";
  for (const char* wrong : {R"({"prompt":[]})", R"({"prompt":[""]})", R"({"prompt":[{}]})", R"({"prompt":7})",
                            R"({"prompt":["a"],"messages":[{"role":"user","content":"Hi"}]})"})
    EXPECT_EQ(client.post("/tokenize", wrong).status, 400) << wrong;
}

// A tab stands in no text that is written here: only who says strict hears of it.
TEST_F(ServerTest, APatternThatIsNeverWrittenIsLeftToTheModel) {
  const auto call = [&](const char* strict, const char* choice) {
    return server_->chat(
        fmt::format(R"("max_tokens":24,"temperature":0,"tool_choice":{},"tools":[{{"type":"function","function":)"
                    R"({{"name":"f","strict":{},"parameters":{{"type":"object","required":["a"],)"
                    R"("properties":{{"a":{{"type":"string","pattern":"^x\\ty$","maxLength":4}}}}}}}}}}])",
                    choice, strict));
  };
  for (const char* choice : {R"("required")", R"({"type":"function","function":{"name":"f"}})", R"("auto")"}) {
    const TestAnswer called = call("false", choice);
    EXPECT_EQ(called.status, 200) << choice << called.body;
    EXPECT_EQ(call("true", choice).status, 400) << choice;
  }
}

TEST(ServerProps, NumbersAreAsTheyWereWritten) {
  ServerSettings settings;
  settings.limits.defaults.temperature = 0.7F;
  settings.limits.defaults.top_p = 0.95F;
  TestServer server(settings);
  const auto props = server.client().get("/props").json();
  const auto& params = props.at("default_generation_settings").at("params");
  EXPECT_EQ(params.at("temperature").to_number<double>(), 0.7);
  EXPECT_EQ(params.at("top_p").to_number<double>(), 0.95);
  const auto text = json::value_to<std::string>(props.at("chat_template"));
  EXPECT_EQ(json::value_to<std::string>(props.at("chat_template_digest")),
            "sha256:" + *sha256_hex(std::as_bytes(std::span(text))));
}

// Pages that are only kept for the next request are free for it, as in vLLM.
TEST(ServerMetrics, WhatIsKeptForLaterIsNotInUse) {
  TestServer server;
  const auto metric = [&](const char* name) {
    const std::string text = server.client().get("/metrics").body, begin = std::string("\n") + name + "{";
    const size_t at = text.find(begin);
    return at == std::string::npos ? -1 : std::stod(text.substr(text.find("} ", at) + 2));
  };
  TestClient running = server.client();
  running.send_post("/v1/chat/completions",
                    TestServer::chat_body(R"("max_tokens":3000,"ignore_eos":true,"stream":true)"));
  ASSERT_TRUE(running.read_until("\"delta\":{\"content\":\""));
  EXPECT_TRUE(TestServer::soon([&] { return metric("vllm:kv_cache_usage_perc") > 0; }));
  running.close();
  ASSERT_EQ(server.chat(R"("max_tokens":20,"ignore_eos":true)").status, 200);
  EXPECT_TRUE(TestServer::soon(
      [&] { return metric("vllm:kv_cache_usage_perc") == 0 && metric("paceline:kv_cached_bytes") > 0; }));
}

// One conversation in the words of every wire is one prompt, rendered and in tokens.
TEST_F(ServerTest, BodiesOfAnyWireAreRendered) {
  TestClient client = server_->client();
  const auto prompt = [&](const std::string& body) {
    const TestAnswer answer = client.post("/apply-template", body);
    EXPECT_EQ(answer.status, 200) << body << answer.body;
    return answer.status == 200 ? json::value_to<std::string>(answer.json().at("prompt")) : answer.body;
  };
  const std::string chat =
      R"({"messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"Hi"}],"temperature":1})";
  const std::string others[] = {
      R"({"system":"Be kind.","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}]})",
      R"({"instructions":"Be kind.","input":"Hi"})",
      R"({"options":{"top_k":3},"messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"Hi"}]})",
      R"({"system":"Be kind.","prompt":"Hi","keep_alive":3})",
  };
  const auto tokens = client.post("/tokenize", chat).json();
  EXPECT_GT(tokens.at("count").to_number<int>(), 8);
  EXPECT_EQ(tokens.at("count"), json::value(tokens.at("tokens").as_array().size()));
  for (const std::string& body : others) {
    EXPECT_EQ(prompt(body), prompt(chat)) << body;
    EXPECT_EQ(client.post("/tokenize", body).json(), tokens) << body;
  }
  const std::string used = prompt(
      R"({"messages":[{"role":"user","content":"?"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"x":1}}]},)"
      R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"blue"}]}]})");
  EXPECT_NE(used.find("blue"), std::string::npos) << used;
  EXPECT_EQ(prompt(R"({"prompt":"as it is"})"), "as it is");
  // What only the client's family tells apart: Messages go on with a last turn of the assistant, and count it so.
  const std::string open = R"({"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hel"}]})";
  EXPECT_TRUE(prompt(open).ends_with("Hel<turn|>\n<|turn>model\n")) << prompt(open);
  const TestAnswer rendered = client.post("/apply-template", open, "anthropic-version: 2023-06-01\r\n");
  ASSERT_EQ(rendered.status, 200) << rendered.body;
  EXPECT_TRUE(json::value_to<std::string>(rendered.json().at("prompt")).ends_with("<|turn>model\nHel"));
  EXPECT_EQ(client.post("/tokenize", open, "anthropic-version: 2023-06-01\r\n").json().at("count"),
            client.post("/v1/messages/count_tokens", open).json().at("input_tokens"));
  EXPECT_EQ(client.post("/apply-template", R"({"messages":[{"role":"user","content":"Hi"}],"wat":1})").status, 400);
}

TEST_F(ServerTest, ItemsOfAResponseComeInPages) {
  TestClient client = server_->client();
  const auto made =
      client.post("/v1/responses", R"({"max_output_tokens":1,"input":[{"role":"user","content":"a"},)"
                                   R"({"role":"assistant","content":"b"},{"role":"user","content":"c"}]})");
  ASSERT_EQ(made.status, 200) << made.body;
  const std::string path = "/v1/responses/" + json::value_to<std::string>(made.json().at("id")) + "/input_items";
  const auto ids = [&](const std::string& query) {
    std::vector<std::string> found;
    const auto page = client.get(path + query).json();
    for (const auto& item : page.at("data").as_array()) found.push_back(json::value_to<std::string>(item.at("id")));
    return found;
  };
  const std::vector<std::string> oldest = ids("?order=asc"), newest = ids("");
  ASSERT_EQ(oldest.size(), 3u);
  EXPECT_EQ(newest, std::vector<std::string>(oldest.rbegin(), oldest.rend())) << "as OpenAI has it";
  EXPECT_EQ(ids("?order=desc&limit=2"), (std::vector<std::string>{oldest[2], oldest[1]}));
  EXPECT_EQ(ids("?order=asc&limit=5&after=" + oldest[0]), (std::vector<std::string>{oldest[1], oldest[2]}));
  EXPECT_EQ(ids("?order=asc&after=" + oldest[2]).size(), 0u);
  EXPECT_EQ(client.get(path + "?limit=2").json().at("has_more"), json::value(true));
  EXPECT_EQ(client.get(path + "?limit=3").json().at("has_more"), json::value(false));
  for (const char* wrong : {"?limit=0", "?limit=x", "?limit=101", "?order=up", "?after=none"})
    EXPECT_EQ(client.get(path + wrong).status, 400) << wrong;
}

TEST_F(ServerTest, AStreamIsTheSameText) {
  const std::string fields = R"("seed":7,"temperature":1.0,"max_tokens":60)";
  const auto whole = server_->chat(fields).json();
  const TestAnswer stream = server_->chat(fields + R"(,"stream":true,"stream_options":{"include_usage":true})");
  EXPECT_EQ(stream.status, 200);
  EXPECT_NE(stream.head.find("text/event-stream"), std::string::npos);
  EXPECT_TRUE(stream.whole && stream.done());
  const Streamed read = joined(stream);
  EXPECT_EQ(first_choice(whole).at("message").at("content"), json::value(read.content));
  EXPECT_EQ(first_choice(whole).at("finish_reason"), json::value(read.finish));
  EXPECT_FALSE(read.content.empty());
  for (const char* name : {"prompt_tokens", "completion_tokens", "total_tokens"}) {
    EXPECT_EQ(read.usage.at(name), whole.at("usage").at(name)) << name;
  }
  EXPECT_GE(read.usage.at("speculative").at("rounds").as_int64(), 1);
  // In the very last piece, where llama.cpp's clients look.
  EXPECT_EQ(stream.events().back().at("timings").at("predicted_n"), read.usage.at("completion_tokens"));
  const auto first = stream.events().front();
  EXPECT_EQ(first.at("object"), json::value("chat.completion.chunk"));
  EXPECT_EQ(first.at("choices").at(0).at("delta").at("role"), json::value("assistant"));
  EXPECT_TRUE(first.at("usage").is_null());
}

TEST_F(ServerTest, CompletionsOfTextAndOfTokens) {
  TestClient client = server_->client();
  const std::string settings = R"(,"seed":3,"max_tokens":20,"ignore_eos":true})";
  const auto text = client.post("/v1/completions", R"({"prompt":"Once upon a time")" + settings).json();
  EXPECT_EQ(text.at("object"), json::value("text_completion"));
  EXPECT_EQ(first_choice(text).at("finish_reason"), json::value("length"));
  EXPECT_EQ(text.at("usage").at("completion_tokens"), json::value(20));
  const auto ids = client.post("/tokenize", R"({"prompt":"Once upon a time"})").json().at("tokens");
  const auto same = client.post("/v1/completions", R"({"prompt":)" + json::serialize(ids) + settings).json();
  EXPECT_EQ(first_choice(same).at("text"), first_choice(text).at("text"));
  const auto both = client.post("/v1/completions", R"({"prompt":["Once upon a time","Then"],"n":2)" + settings).json();
  ASSERT_EQ(both.at("choices").as_array().size(), 4u);
  EXPECT_EQ(first_choice(both).at("text"), first_choice(text).at("text"));
  EXPECT_NE(both.at("choices").at(1).at("text"), first_choice(text).at("text"));
  EXPECT_EQ(both.at("usage").at("completion_tokens"), json::value(80));
  const Streamed streamed =
      joined(client.post("/v1/completions", R"({"prompt":"Once upon a time","stream":true)" + settings));
  EXPECT_EQ(streamed.content, std::string(first_choice(text).at("text").as_string()));
}

TEST_F(ServerTest, ChoicesDifferAndAreCounted) {
  const auto answer = server_->chat(R"("n":3,"seed":1,"temperature":1.0,"max_tokens":30)").json();
  ASSERT_EQ(answer.at("choices").as_array().size(), 3u);
  EXPECT_NE(answer.at("choices").at(0).at("message"), answer.at("choices").at(1).at("message"));
  const TestAnswer stream = server_->chat(R"("n":3,"seed":1,"temperature":1.0,"max_tokens":30,"stream":true)");
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(answer.at("choices").at(static_cast<size_t>(i)).at("message").at("content"),
              json::value(joined(stream, i).content));
  }
}

TEST_F(ServerTest, StopStringsAndLogprobs) {
  const std::string base = R"("temperature":0,"max_tokens":40,"logprobs":true,"top_logprobs":2)";
  const auto plain = server_->chat(base).json();
  const auto& choice = first_choice(plain);
  const std::string content(choice.at("message").at("content").as_string());
  std::string tokens;
  for (const json::value& token : choice.at("logprobs").at("content").as_array()) {
    tokens += token.at("token").as_string();
    EXPECT_LE(token.at("logprob").to_number<double>(), 0);
    ASSERT_EQ(token.at("top_logprobs").as_array().size(), 2u);
    // Greedy: what was chosen is the likeliest.
    EXPECT_EQ(token.at("top_logprobs").at(0).at("token"), token.at("token"));
  }
  EXPECT_EQ(tokens, content);

  const std::string stop = content.substr(content.size() / 2, 5);
  const std::string quoted = json::serialize(json::value(stop));
  const auto cut = server_->chat(base + R"(,"stop":)" + quoted).json();
  EXPECT_EQ(first_choice(cut).at("message").at("content"), json::value(content.substr(0, content.find(stop))));
  EXPECT_EQ(first_choice(cut).at("finish_reason"), json::value("stop"));
  const Streamed streamed = joined(server_->chat(base + R"(,"stream":true,"stop":[)" + quoted + "]"));
  EXPECT_EQ(streamed.content, content.substr(0, content.find(stop)));
}

// Long ones are written by a lane: the thread that serves everybody's bytes has better to do.
TEST_F(ServerTest, LongAnswersAreWrittenAside) {
  const auto written = [&] {
    const std::string metrics = server_->client().get("/metrics").body;
    int64_t count = 0;
    for (const char* lane : {"middle", "large"}) {
      const std::string line = fmt::format("paceline:prepared_total{{model_name=\"default\",lane=\"{}\"}} ", lane);
      const size_t at = metrics.find(line);
      if (at != std::string::npos) count += std::stoll(metrics.substr(at + line.size()));
    }
    return count;
  };
  const std::string base = R"("max_tokens":40,"ignore_eos":true,"n":4)";
  const int64_t before = written();
  ASSERT_EQ(server_->chat(base).status, 200);
  EXPECT_EQ(written(), before);
  const auto answer = server_->chat(base + R"(,"logprobs":true,"top_logprobs":20)").json();
  EXPECT_EQ(answer.at("choices").as_array().size(), 4u);
  EXPECT_EQ(answer.at("choices").at(3).at("logprobs").at("content").at(0).at("top_logprobs").as_array().size(), 20u);
  EXPECT_EQ(written(), before + 1);
}

TEST_F(ServerTest, OutputsOfAGivenForm) {
  const char* schema =
      R"("response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object","properties":)"
      R"({"name":{"type":"string","maxLength":10},"age":{"type":"integer","minimum":0,"maximum":150}},)"
      R"("required":["name","age"]}}},"max_tokens":100,"temperature":1.0,"seed":5)";
  for (int i = 0; i < 2; ++i) {
    const auto answer = server_->chat(schema, "Who are you?").json();
    const auto value = json::parse(std::string(first_choice(answer).at("message").at("content").as_string()));
    EXPECT_TRUE(value.at("name").is_string());
    EXPECT_TRUE(value.at("age").is_int64());
  }
  const TestAnswer odd = server_->chat(
      R"("response_format":{"type":"json_schema","json_schema":{"schema":{"type":"string","pattern":"\\bx"}}})");
  EXPECT_EQ(odd.status, 400);
  EXPECT_EQ(odd.error_field("code"), "unsupported");
  EXPECT_NE(odd.error_field("message").find("pattern"), std::string::npos);
}

constexpr const char* kTools =
    R"("tools":[{"type":"function","function":{"name":"get_weather","description":"Weather of a city",)"
    R"("parameters":{"type":"object","properties":{"city":{"type":"string","maxLength":20}},"required":["city"]}}}])";

// Wherever its tokens end: what was not told as a call is not told at all.
TEST_F(ServerTest, ACallThatIsCutLeavesNoMarks) {
  for (int most = 1; most <= 8; ++most) {
    const std::string fields =
        std::string(kTools) + R"(,"tool_choice":"required","temperature":0,"max_tokens":)" + std::to_string(most);
    const auto choice = first_choice(server_->chat(fields, "What is the weather in Paris?").json());
    EXPECT_EQ(choice.at("finish_reason"), json::value("length"));
    const json::value& content = choice.at("message").at("content");
    EXPECT_TRUE(content.is_null() || content == json::value("")) << json::serialize(choice);
  }
  const auto messages = server_->client().post(
      "/v1/messages",
      R"({"max_tokens":4,"temperature":0,"messages":[{"role":"user","content":"What is the weather in Paris?"}],)"
      R"("tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":{"type":"any"}})");
  EXPECT_EQ(messages.status, 200);
  EXPECT_EQ(messages.body.find("call:"), std::string::npos) << messages.body;
  const auto response = server_->client().post(
      "/v1/responses",
      R"({"max_output_tokens":4,"temperature":0,"input":"What is the weather in Paris?",)"
      R"("tools":[{"type":"function","name":"f","parameters":{"type":"object"}}],"tool_choice":"required"})");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body.find("call:"), std::string::npos) << response.body;
}

// While it runs it is there for who asks; and who cancels it is told all of it.
TEST_F(ServerTest, AResponseThatRunsIsToldAndCancelled) {
  TestClient running = server_->client();
  running.send_post("/v1/responses",
                    R"({"input":"Tell me a story.","stream":true,"ignore_eos":true,"metadata":{"a":"b"}})");
  ASSERT_TRUE(running.read_until("response.in_progress"));
  const std::string& seen = running.buffered();
  const size_t at = seen.find("\"resp_") + 1;
  ASSERT_GT(at, 0u);
  const std::string path = "/v1/responses/" + seen.substr(at, seen.find('"', at) - at);
  const TestAnswer look = server_->client().get(path);
  EXPECT_EQ(look.status, 200) << look.body;
  EXPECT_EQ(look.json().at("status"), json::value("in_progress"));
  const TestAnswer cancelled = server_->client().post(path + "/cancel", "");
  ASSERT_EQ(cancelled.status, 200) << cancelled.body;
  EXPECT_EQ(cancelled.json().at("status"), json::value("cancelled"));
  for (const char* field :
       {"created_at", "model", "usage", "tools", "error", "metadata", "output", "parallel_tool_calls"})
    EXPECT_TRUE(cancelled.json().as_object().contains(field)) << field;
  EXPECT_EQ(cancelled.json().at("metadata").at("a"), json::value("b"));
  running.read_answer();
}

// Whether a call must be made or may be.
TEST_F(ServerTest, AStrictToolWhoseSchemaCannotBeFollowedIsRefused) {
  const auto ask = [&](bool strict, const char* choice, const char* schema) {
    return server_->chat(
        fmt::format(R"("tools":[{{"type":"function","function":{{"name":"f","strict":{},"parameters":)"
                    R"({{"type":"object","required":["a"],"properties":{{"a":{}}}}}}}}}],"tool_choice":"{}",)"
                    R"("max_tokens":4)",
                    strict, schema, choice));
  };
  for (const auto& [schema, named] : std::vector<std::pair<const char*, const char*>>{
           {R"({"type":"string","pattern":"(?<=a)b"})", ": pattern"},
           {R"({"enum":[]})", "/enum: expected a value or more"},
           {R"({"type":"string","enum":[]})", "/enum: expected a value or more"},
           // Nothing that could be written.
           {R"({"type":"string","enum":[1,2]})", ""},
           {R"({"$ref":"#"})", ""}}) {
    for (const char* choice : {"auto", "required"}) {
      const TestAnswer refused = ask(true, choice, schema);
      EXPECT_EQ(refused.status, 400) << choice << schema;
      EXPECT_EQ(refused.error_field("code"), "unsupported");
      const std::string says =
          *named == 0 ? "tool f: the schema allows no finite document" : std::string("tool f: #/properties/a") + named;
      EXPECT_NE(refused.error_field("message").find(says), std::string::npos) << refused.error_field("message");
      // Where a call must be made, one must be possible.
      if (*named == 0 && std::string_view(choice) == "required") continue;
      EXPECT_EQ(ask(false, choice, schema).status, 200) << choice << schema;
    }
  }
}

// As most readers of JSON have it.
TEST_F(ServerTest, OfKeysThatStandTwiceTheLastCounts) {
  const TestAnswer answer = server_->chat(R"("max_tokens":"x","max_tokens":3,"ignore_eos":true)");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.json().at("usage").at("completion_tokens"), json::value(3));
  EXPECT_EQ(server_->chat(R"("max_tokens":3,"max_tokens":"x")").error_field("param"), "max_tokens");
}

TEST_F(ServerTest, ToolCalls) {
  const std::string fields = std::string(kTools) + R"(,"tool_choice":"required","temperature":0,"max_tokens":100)"
                                                   R"(,"parallel_tool_calls":false)";
  const auto answer = server_->chat(fields, "What is the weather in Paris?").json();
  const auto& choice = first_choice(answer);
  EXPECT_EQ(choice.at("finish_reason"), json::value("tool_calls"));
  EXPECT_TRUE(choice.at("message").at("content").is_null());
  const auto& call = choice.at("message").at("tool_calls").at(0);
  EXPECT_EQ(call.at("function").at("name"), json::value("get_weather"));
  const auto arguments = json::parse(std::string(call.at("function").at("arguments").as_string()));
  EXPECT_TRUE(arguments.at("city").is_string());

  const Streamed streamed = joined(server_->chat(fields + R"(,"stream":true)", "What is the weather in Paris?"));
  EXPECT_EQ(streamed.finish, "tool_calls");
  ASSERT_GT(streamed.calls.size(), 2u) << "arguments leave while they are written";
  EXPECT_EQ(streamed.calls[0].at("function").at("name"), json::value("get_weather"));
  std::string written;
  for (const json::value& piece : streamed.calls) written += piece.at("function").at("arguments").as_string();
  EXPECT_EQ(json::value(written), call.at("function").at("arguments"));

  // And the answer of the tool goes on.
  const std::string messages =
      R"({"messages":[{"role":"user","content":"What is the weather in Paris?"},{"role":"assistant","tool_calls":[)" +
      json::serialize(call) + R"(]},{"role":"tool","tool_call_id":)" + json::serialize(call.at("id")) +
      R"(,"content":"sunny"}],"max_tokens":20,)" + kTools + "}";
  EXPECT_EQ(server_->client().post("/v1/chat/completions", messages).status, 200);
}

// A red square, 96 × 96.
constexpr const char* kPng =
    "iVBORw0KGgoAAAANSUhEUgAAAGAAAABgCAIAAABt+uBvAAAAjklEQVR42u3QMQ0AAAgDsImYf2WIwQEnV5MqaKblEAWCBAkSJEiQ"
    "IEEIEiRIkCBBggQhSJAgQYIECRKEIEGCBAkSJEiQIAQJEiRIkCBBghAkSJAgQYIECUKQIEGCBAkSJEgQggQJEiRIkCBBCBIkSJAg"
    "QYIEIUiQIEGCBAkSJAhBggQJEiRIkCAECRL0ZwGrRZIdZg5OJQAAAABJRU5ErkJggg==";

TEST_F(ServerTest, PicturesAreSeen) {
  const auto ask = [&](const std::string& url) {
    return server_->client().post(
        "/v1/chat/completions",
        R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":")" + url +
            R"("}},{"type":"text","text":"What colour is it?"}]}],"max_tokens":8,"temperature":0})");
  };
  const auto answer = ask(std::string("data:image/png;base64,") + kPng).json();
  // Besides the text: the picture's soft tokens, and what stands before and behind them.
  EXPECT_EQ(answer.at("usage").at("prompt_tokens").as_int64(), server_->tokens_of_chat("What colour is it?") + 64 + 2);
  EXPECT_FALSE(first_choice(answer).at("message").at("content").as_string().empty());
  EXPECT_EQ(ask("data:image/png;base64,aGVsbG8=").error_field("param"), "messages");
  EXPECT_EQ(ask("https://example.com/cat.png").error_field("code"), "unsupported");
  // A place for a picture that is not there.
  EXPECT_EQ(server_->chat("", "<|image|>").error_field("param"), "messages");
}

// The same picture with another budget is another number of soft tokens.
TEST_F(ServerTest, PicturesHaveTheBudgetThatWasAskedFor) {
  const auto tokens = [&](int32_t budget) {
    const std::string body =
        std::string(
            R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,)") +
        kPng + R"("}},{"type":"text","text":"What?"}]}],"max_tokens":1,"mm_processor_kwargs":{"max_soft_tokens":)" +
        std::to_string(budget) + "}}";
    const auto answer = server_->client().post("/v1/chat/completions", body).json();
    return answer.at("usage").at("prompt_tokens").as_int64();
  };
  EXPECT_EQ(tokens(70), server_->tokens_of_chat("What?") + 8 * 8 + 2);
  EXPECT_EQ(tokens(280), server_->tokens_of_chat("What?") + 16 * 16 + 2);
}

// Some frames of colours, VP9 in WebM.
constexpr const char* kClip =
    "GkXfo59ChoEBQveBAULygQRC84EIQoKEd2VibUKHgQJChYECGFOAZwEAAAAAAAJvEU2bdLpNu4tTq4QVSalmU6yBoU27i1OrhBZUrmtT"
    "rIHYTbuMU6uEElTDZ1OsggEbTbuMU6uEHFO7a1OsggJH7AEAAAAAAABZAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAVSalmsirXsYMPQkBNgI1MYXZmNTkuMjcu"
    "MTAwV0GNTGF2ZjU5LjI3LjEwMESJiECSwAAAAAAAFlSua76uAQAAAAAAADXXgQFzxYiOiaE9qfGNtJyBACK1nIN1bmSIgQCGhVZfVlA5"
    "g4EBI+ODhAvrwgDghrCBILqBIBJUw2fZc3OgY8CAZ8iaRaOHRU5DT0RFUkSHjUxhdmY1OS4yNy4xMDBzc7NjwItjxYiOiaE9qfGNtGfI"
    "okWjiERVUkFUSU9ORIeUMDA6MDA6MDEuMjAwMDAwMDAwAAAfQ7Z1QMjngQCjoYEAAICCSYNCAAHwAfYAOCQcGEoAADBgAAAQ3//9WRWA"
    "AKObgQDIAIYAQJKcAFAAAANgAAAZv///RZ/uL/RAo5yBAZAAhgBAkpwATuAAA2AAABm////k3n/YvugAo6aBAliAgkmDQgAB8AH2ADgk"
    "HBhKAAAwYAAAGL//+Yav////93yAAKOggQMgAIYAQJKcAE1AAANgAAABA///PMD//9OH//0pAACjm4ED6ACGAECSnABQAAADYAAAGb//"
    "/0Wf7i/0QBxTu2uju4+zgQC3iveBAfGCAXnwgQO7kLOCAli3iveBAfGCAXnwgWE=";

TEST_F(ServerTest, ClipsAreSeen) {
  const std::string body =
      std::string(
          R"({"messages":[{"role":"user","content":[{"type":"video_url","video_url":{"url":"data:video/webm;base64,)") +
      kClip + R"("}},{"type":"text","text":"What is it?"}]}],"max_tokens":8,"temperature":0})";
  const auto answer = server_->client().post("/v1/chat/completions", body).json();
  // Six frames as pictures, each behind its time and a space, and spaces between them: "00:00 <frame> 00:00 <frame> …".
  constexpr int64_t kFrames = 6, kFrame = 6 + 64 + 2;
  EXPECT_EQ(answer.at("usage").at("prompt_tokens").as_int64(),
            server_->tokens_of_chat("What is it?") + kFrames * kFrame + kFrames - 1);
}

// A word for programs for each reason; the message is for people, and may be said otherwise tomorrow.
TEST_F(ServerTest, MediaThatAreNotTakenHaveACode) {
  ServerSettings settings;
  settings.limits.max_pixels = 96 * 96 - 1;
  settings.limits.max_images = 1;
  TestServer server(settings);
  const auto part = [](const std::string& type, const std::string& base64) {
    return R"({"type":")" + type + R"(",")" + type + R"(":{"url":"data:;base64,)" + base64 + R"("}})";
  };
  const auto code_of = [&](const std::string& parts) {
    const TestAnswer answer =
        server.client().post("/v1/chat/completions", R"({"messages":[{"role":"user","content":[)" + parts + "]}]}");
    EXPECT_EQ(answer.status, 400) << answer.body;
    return answer.error_field("code");
  };
  const std::string picture = kPng;
  std::string longer = kClip;
  longer.replace(longer.find("SJiECS"), 6, "SJiEGS");  // 1.2 s × 2^16
  EXPECT_EQ(code_of(part("image_url", "aGVsbG8=")), "media_unknown_format");
  EXPECT_EQ(code_of(part("video_url", "aGVsbG8=")), "media_unknown_format");
  EXPECT_EQ(code_of(part("image_url", picture.substr(0, 32))), "media_broken");
  EXPECT_EQ(code_of(part("image_url", picture)), "media_too_large");
  EXPECT_EQ(code_of(part("video_url", longer)), "media_too_long");
  EXPECT_EQ(code_of(part("image_url", picture) + "," + part("image_url", picture)), "media_too_many");
}

TEST_F(ServerTest, ErrorsNameWhatIsWrong) {
  TestClient client = server_->client();
  const auto post = [&](std::string_view body) { return client.post("/v1/chat/completions", body); };
  EXPECT_EQ(post(TestServer::chat_body(R"("model":"gpt-4")")).status, 404);
  EXPECT_EQ(post(TestServer::chat_body(R"("model":"gpt-4")")).error_field("code"), "model_not_found");
  EXPECT_EQ(post(TestServer::chat_body(R"("temperature":9)")).error_field("param"), "temperature");
  EXPECT_EQ(post("{").error_field("code"), "invalid_json");
  EXPECT_EQ(post(TestServer::chat_body(R"("logit_bias":{"8192":1})")).error_field("param"), "logit_bias");
  const auto context = static_cast<size_t>(TestModel::shared().text.loaded.config.context);
  const TestAnswer over = post(TestServer::chat_body("", std::string(2 * context, 'x') + " y z"));
  EXPECT_EQ(over.status, 400);
  EXPECT_EQ(over.error_field("code"), "context_length_exceeded");
  EXPECT_NE(over.error_field("message").find(std::to_string(context)), std::string::npos);
  // So long that it is not even encoded.
  const TestAnswer far_over = post(TestServer::chat_body("", std::string(3'000'000, 'x')));
  EXPECT_EQ(far_over.error_field("code"), "context_length_exceeded");
  EXPECT_NE(far_over.error_field("message").find("at least"), std::string::npos);
  EXPECT_EQ(client.post("/v1/completions", R"({"prompt":[8192]})").error_field("param"), "prompt");
  const TestAnswer video = post(
      R"({"messages":[{"role":"user","content":[{"type":"video_url","video_url":{"url":"data:video/mp4;base64,aGk="}}]}]})");
  EXPECT_EQ(video.error_field("param"), "messages");
  const TestAnswer sound = post(R"({"messages":[{"role":"user","content":[{"type":"input_audio"}]}]})");
  EXPECT_EQ(sound.error_field("code"), "unsupported");
}

// What a client wrote outside of JSON is in the answer's JSON all the same.
TEST_F(ServerTest, ErrorsAreUtf8WhateverTheRequestWas) {
  for (const std::string& path :
       {std::string("/v1/models/\xff\xfe"), std::string("/\xc3("),
        "/v1/models/" + std::string(99, 'x') + "\xf0\x9f\x98\x80\xf0\x9f", "/" + std::string(300, '\x80')}) {
    const TestAnswer answer = server_->client().get(path);
    EXPECT_EQ(answer.status, 404);
    EXPECT_NE(answer.error_field("message"), "no error");  // which parses it, strictly
  }
  EXPECT_EQ(server_->client().get("/v1/models/\xff").error_field("message"),
            "the model \xEF\xBF\xBD is not served here; GET /v1/models says which is");
}

TEST_F(ServerTest, RequestsOfOneConnection) {
  TestClient client = server_->client();
  const std::string body = TestServer::chat_body(R"("max_tokens":2)");
  // Three at once, before any answer.
  for (int i = 0; i < 3; ++i) client.send_post("/v1/chat/completions", body);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.read_answer().status, 200);
  // Slowly, byte by byte; in chunks; with a question first.
  const std::string request =
      "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
      "\r\n\r\n" + body;
  for (const char c : request) client.send(std::string(1, c));
  EXPECT_EQ(client.read_answer().status, 200);
  client.send(
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
      "chunked\r\n\r\n8\r\n{\"prompt\r\n6\r\n\":\"a\"}\r\n0\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 200);
  client.send("POST /tokenize HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 14\r\n\r\n");
  EXPECT_TRUE(client.read_until("100 Continue"));
  client.send(R"({"prompt":"a"})");
  EXPECT_EQ(client.read_answer().status, 200);
  // An old client, and one that says goodbye.
  client.send("GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 200);
  EXPECT_TRUE(client.is_closed());
  TestClient old = server_->client();
  const std::string streamed = TestServer::chat_body(R"("max_tokens":2,"stream":true)");
  old.send("POST /v1/chat/completions HTTP/1.0\r\nContent-Length: " + std::to_string(streamed.size()) + "\r\n\r\n" +
           streamed);
  EXPECT_TRUE(old.read_until("[DONE]"));
  EXPECT_EQ(old.buffered().find("chunked"), std::string::npos);
}

TEST_F(ServerTest, PrefixesAreSharedWithinAScopeOnly) {
  const std::string text(kSanitized ? 200 : 600, 'q');
  const auto cached = [&](const std::string& fields) {
    const auto answer = server_->chat(R"("max_tokens":1)" + fields, text).json();
    return answer.at("usage").at("prompt_tokens_details").at("cached_tokens").as_int64();
  };
  EXPECT_EQ(cached(R"(,"cache_salt":"a")"), 0);
  // All but the last token.
  const int64_t tokens = server_->tokens_of_chat(text);
  EXPECT_EQ(cached(R"(,"cache_salt":"a")"), tokens - 1);
  EXPECT_EQ(cached(R"(,"cache_salt":"b")"), 0);
}

TEST_F(ServerTest, MetricsHaveTheNamesThatRoutersRead) {
  (void)server_->chat(R"("max_tokens":5)");
  const TestAnswer answer = server_->client().get("/metrics");
  for (const char* name : {"vllm:num_requests_running",
                           "vllm:num_requests_waiting",
                           "vllm:kv_cache_usage_perc",
                           "vllm:cache_config_info",
                           "vllm:prompt_tokens_total",
                           "vllm:generation_tokens_total",
                           "vllm:time_to_first_token_seconds_bucket",
                           "vllm:inter_token_latency_seconds_bucket",
                           "vllm:e2e_request_latency_seconds_bucket",
                           "vllm:prefix_cache_queries_total",
                           "vllm:prefix_cache_hits_total",
                           "vllm:spec_decode_num_drafts_total",
                           "vllm:spec_decode_num_draft_tokens_total",
                           "vllm:spec_decode_num_accepted_tokens_total",
                           "vllm:spec_decode_num_accepted_tokens_per_pos_total",
                           "paceline:step_seconds_bucket",
                           "paceline:acceptance_ratio",
                           "vllm:num_preemptions_total",
                           "paceline:kv_reserved_bytes",
                           "paceline:kv_used_bytes"}) {
    EXPECT_NE(answer.body.find(std::string("\n") + name + "{"), std::string::npos) << name;
  }
}

// Also of what could not be read as a request: it took as long as it took.
TEST(ServerLogTest, LinesHaveTheTimeThatRequestsTook) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ServerSettings settings;
  settings.max_body_bytes = 100;
  TestHooks hooks;
  hooks.log_level = LogLevel::info;
  hooks.log_fd = ends[1];
  {
    TestServer server(settings, {}, hooks);
    TestClient broken = server.client(), large = server.client(), long_header = server.client();
    broken.send("no HTTP at all\r\n\r\n");
    EXPECT_EQ(broken.read_answer().status, 400);
    large.send_post("/tokenize", std::string(200, 'x'));
    EXPECT_EQ(large.read_answer().status, 413);
    long_header.send("GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n");
    EXPECT_EQ(long_header.read_answer().status, 431);
    // By now the others' lines are written.
    EXPECT_EQ(server.client().get("/version").status, 200);
  }
  ::close(ends[1]);
  std::string log(1 << 16, '\0');
  log.resize(static_cast<size_t>(std::max<ssize_t>(0, ::read(ends[0], log.data(), log.size()))));
  ::close(ends[0]);
  for (const char* status : {" 400 ", " 413 ", " 431 "}) {
    const size_t at = log.find(status);
    ASSERT_NE(at, std::string::npos) << log;
    EXPECT_LT(std::stod(log.substr(at + 5)), 20'000) << log;
  }
  EXPECT_NE(log.find("POST /tokenize 413 "), std::string::npos) << log;
}

TEST(ServerKeysTest, OnlyHoldersOfAKeyMayAsk) {
  ServerSettings settings;
  settings.api_keys = {"secret"};
  TestServer server(settings);
  EXPECT_EQ(server.client().get("/v1/models").status, 401);
  EXPECT_EQ(server.client().get("/v1/models", "Authorization: Bearer wrong\r\n").status, 401);
  for (const char* written : {"Bearer secret", "bearer secret", "BEARER  secret"}) {
    const std::string header = "Authorization: " + std::string(written) + "\r\n";
    EXPECT_EQ(server.client().get("/v1/models", header).status, 200) << written;
  }
  for (const char* written : {"secret", "Basic secret", "Bearersecret", "Bearer", "Bearer "}) {
    const std::string header = "Authorization: " + std::string(written) + "\r\n";
    EXPECT_EQ(server.client().get("/v1/models", header).status, 401) << written;
  }
  EXPECT_EQ(server.chat("").error_field("code"), "invalid_api_key");
  EXPECT_EQ(server.client().get("/health").status, 200);
}

}  // namespace
}  // namespace paceline
