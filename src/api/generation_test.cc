// What comes out through the C interface is what the session's own functions make, however it is asked for.
#include <gmock/gmock.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cstring>

#include "api/model_for_tests.h"
#include "media/encoders_for_tests.h"
#include "session/generate.h"
#include "session/opened_model.h"

namespace paceline::api {
namespace {

using ::testing::HasSubstr;

// The same through session/generate, on an engine of its own.
std::string text_by_session(const std::string& prompt, uint64_t seed, int32_t max_tokens) {
  static const std::unique_ptr<OpenedModel> opened = [] {
    OpenOptions options;
    options.run = {.model = default_model_folder(), .threads = 1, .device = Device::cpu};
    options.draft.draft = "none";
    return std::move(*OpenedModel::open(options));
  }();
  const ModelConfig& config = opened->text().loaded.config;
  GenerateRequest request;
  request.prompt = prompt;
  request.max_tokens = max_tokens;
  request.sampling.temperature = config.temperature;
  request.sampling.top_k = config.top_k;
  request.sampling.top_p = config.top_p;
  request.sampling.seed = seed;
  const auto prepared = prepare(opened->text(), request);
  EXPECT_TRUE(prepared.ok());
  return generate(opened->text(), opened->engine(), *prepared, {})->text;
}

TEST(CGeneration, IsWhatTheSessionMakes) {
  for (const uint64_t seed : {1, 2, 3}) {
    const TestAsk ask("Tell a story about a small boat.", seed);
    const TestAnswer answer = answer_to(ask);
    ASSERT_EQ(answer.result, PACELINE_OK) << answer.problem;
    EXPECT_EQ(answer.text, text_by_session(ask.said, seed, 40));
    EXPECT_FALSE(answer.text.empty());
    EXPECT_EQ(answer.usage.completion_tokens, static_cast<int64_t>(answer.ids.size()));
  }
}

TEST(CGeneration, GuessesChangeTheTimeOnly) {
  TestAsk ask("Tell a story about a small boat.");
  const TestAnswer drafted = answer_to(ask);
  ask.request.max_depth = 0;
  const TestAnswer plain = answer_to(ask);
  EXPECT_EQ(drafted.text, plain.text);
  EXPECT_EQ(drafted.ids, plain.ids);
  EXPECT_EQ(plain.usage.drafted, 0);
  EXPECT_EQ(plain.usage.rounds, plain.usage.completion_tokens);
  EXPECT_GT(drafted.usage.drafted, 0);
  EXPECT_LT(drafted.usage.rounds, plain.usage.rounds);
}

TEST(CGeneration, GuessesAsManyAsAreAskedFor) {
  TestAsk ask("Tell a story about a small boat.");
  const TestAnswer otherwise = answer_to(ask);
  for (const int32_t depth : {0, 1, 3}) {
    ask.request.depth = depth;
    const TestAnswer answer = answer_to(ask);
    EXPECT_EQ(answer.ids, otherwise.ids);
    // The first round has the prompt's end, and the last ones no room for as many.
    EXPECT_LE(answer.usage.drafted, depth * answer.usage.rounds);
    EXPECT_GE(answer.usage.drafted, depth * (answer.usage.rounds - 3));
  }
  ask.request.max_depth = 0;
  EXPECT_EQ(answer_to(ask).usage.drafted, 0);
}

TEST(CGeneration, ThoughtsEndWhereTheyMust) {
  const auto id_of = [](const char* mark) {
    int32_t* ids = nullptr;
    size_t count = 0;
    EXPECT_EQ(paceline_tokenize(shared_model(), mark, SIZE_MAX, 0, &ids, &count, nullptr), PACELINE_OK);
    EXPECT_EQ(count, 1u);
    const int32_t id = ids[0];
    paceline_free(ids);
    return id;
  };
  // One that would begin a thought at once, and never end it, nor say anything twice.
  const paceline_logit_bias biases[] = {{id_of("<|channel>"), 90}, {id_of("<channel|>"), -1000}};
  TestAsk ask("Why is the sky blue?");
  ask.chat.thinking = 1;
  ask.request.logit_bias = biases;
  ask.request.logit_bias_count = 2;
  ask.request.presence_penalty = 100;
  ask.request.ignore_eos = 1;
  ask.request.max_tokens = 12;
  const TestAnswer endless = answer_to(ask);
  ASSERT_FALSE(endless.ids.empty());
  EXPECT_EQ(endless.ids.front(), biases[0].id);
  EXPECT_THAT(endless.ids, testing::Not(testing::Contains(biases[1].id)));
  ask.request.thought_tokens = 5;
  const TestAnswer ended = answer_to(ask);
  ASSERT_EQ(ended.result, PACELINE_OK) << ended.problem;
  ASSERT_GT(ended.ids.size(), 6u);
  EXPECT_EQ(ended.ids[6], biases[1].id) << "its begin, five tokens, its end";
}

TEST(CGeneration, PiecesMakeUpTheText) {
  TestAsk ask("Tell a story about a small boat.");
  std::string text;
  std::vector<int32_t> kinds;
  int32_t prompt_done = 0;
  paceline_usage usage{};
  usage.size = sizeof(usage);
  ask.hear([&](const paceline_event& event) {
    if (kinds.empty() || kinds.back() != event.kind) kinds.push_back(event.kind);
    if (event.kind == PACELINE_EVENT_PROMPT) prompt_done = event.prompt_done;
    if (event.kind == PACELINE_EVENT_TEXT) text.append(event.text, event.text_bytes);
    if (event.kind == PACELINE_EVENT_FINISH) {
      EXPECT_EQ(event.finish, PACELINE_FINISH_LENGTH);
    }
    if (event.kind == PACELINE_EVENT_END) {
      EXPECT_EQ(paceline_usage_of(event.generation, &usage, nullptr), PACELINE_OK);
    }
    return 0;
  });
  const TestAnswer answer = answer_to(ask);
  EXPECT_EQ(answer.text, text);
  EXPECT_EQ(kinds, (std::vector<int32_t>{PACELINE_EVENT_PROMPT, PACELINE_EVENT_TEXT, PACELINE_EVENT_FINISH,
                                         PACELINE_EVENT_END}));
  EXPECT_EQ(prompt_done, answer.usage.prompt_tokens);
  EXPECT_EQ(usage.completion_tokens, answer.usage.completion_tokens);
}

TEST(CGeneration, TokensAndTextsInAllForms) {
  TestAsk ask("Hello you.");
  char* rendered = nullptr;
  ASSERT_EQ(paceline_render(shared_model(), &ask.chat, &rendered, nullptr), PACELINE_OK);
  TestAsk as_json("");
  as_json.chat.messages = nullptr;
  as_json.chat.messages_json = R"([{"role":"user","content":[{"type":"text","text":"Hello you."}]}])";
  char* again = nullptr;
  ASSERT_EQ(paceline_render(shared_model(), &as_json.chat, &again, nullptr), PACELINE_OK);
  EXPECT_STREQ(rendered, again);
  EXPECT_THAT(rendered, HasSubstr("Hello you."));

  int32_t* ids = nullptr;
  size_t count = 0;
  ASSERT_EQ(paceline_tokenize(shared_model(), rendered, SIZE_MAX, 0, &ids, &count, nullptr), PACELINE_OK);
  char* back = nullptr;
  size_t bytes = 0;
  ASSERT_EQ(paceline_detokenize(shared_model(), ids, count, 0, &back, &bytes, nullptr), PACELINE_OK);
  EXPECT_EQ(std::string(back, bytes), rendered);

  // A conversation, its text (before which <bos> is put) and its tokens ask for the same.
  const TestAnswer by_chat = answer_to(ask), by_json = answer_to(as_json);
  ask.request.chat = nullptr;
  ask.request.prompt_ids = ids;
  ask.request.prompt_id_count = count;
  const TestAnswer by_ids = answer_to(ask);
  EXPECT_EQ(by_chat.usage.prompt_tokens, static_cast<int64_t>(count));
  EXPECT_EQ(by_ids.ids, by_chat.ids);
  EXPECT_EQ(by_json.ids, by_chat.ids);
  ask.request.prompt_ids = nullptr;
  paceline_facts facts{};
  facts.size = sizeof(facts);
  ASSERT_EQ(paceline_model_facts(shared_model(), &facts, nullptr), PACELINE_OK);
  char* bos = nullptr;
  ASSERT_EQ(paceline_detokenize(shared_model(), &facts.bos, 1, 0, &bos, nullptr, nullptr), PACELINE_OK);
  const std::string without_bos = std::string(rendered).substr(std::strlen(bos));
  ask.request.prompt = without_bos.c_str();
  EXPECT_EQ(answer_to(ask).ids, by_chat.ids);
  for (void* text : {static_cast<void*>(rendered), static_cast<void*>(again), static_cast<void*>(ids),
                     static_cast<void*>(back), static_cast<void*>(bos)}) {
    paceline_free(text);
  }
}

TEST(CGeneration, ChoicesAreThoseOfTheirSeeds) {
  TestAsk ask("Tell a story about a small boat.", 5);
  ask.request.choices = 3;
  paceline_generation* generation = nullptr;
  ASSERT_EQ(paceline_generate(shared_model(), &ask.request, &generation, nullptr), PACELINE_OK);
  for (int32_t i = 0; i < 3; ++i) {
    TestAnswer choice;
    read_answer(generation, choice, i);
    EXPECT_EQ(choice.ids, answer_to(TestAsk(ask.said, 5 + static_cast<uint64_t>(i))).ids) << i;
  }
  paceline_choice none{};
  none.size = sizeof(none);
  EXPECT_EQ(paceline_choice_of(generation, 3, &none, nullptr), PACELINE_INVALID);
  EXPECT_EQ(paceline_choice_of(generation, -1, &none, nullptr), PACELINE_INVALID);
  paceline_release(generation);
}

TEST(CGeneration, LogProbabilitiesOfEachToken) {
  TestAsk ask("Tell a story about a small boat.");
  ask.request.temperature = 0;
  ask.request.top_logprobs = 3;
  std::vector<int32_t> streamed;
  ask.hear([&](const paceline_event& event) {
    for (size_t i = 0; i < event.token_count; ++i) streamed.push_back(event.tokens[i].token.id);
    return 0;
  });
  paceline_generation* generation = nullptr;
  ASSERT_EQ(paceline_generate(shared_model(), &ask.request, &generation, nullptr), PACELINE_OK);
  paceline_choice choice{};
  choice.size = sizeof(choice);
  ASSERT_EQ(paceline_choice_of(generation, 0, &choice, nullptr), PACELINE_OK);
  ASSERT_EQ(choice.token_count, choice.id_count);
  std::string text;
  for (size_t i = 0; i < choice.token_count; ++i) {
    const paceline_token& token = choice.tokens[i];
    EXPECT_EQ(token.token.id, choice.ids[i]);
    ASSERT_EQ(token.top_count, 3u);
    // Greedy: the likeliest is the one that was taken.
    EXPECT_EQ(token.top[0].id, token.token.id);
    EXPECT_EQ(token.top[0].logprob, token.token.logprob);
    EXPECT_LE(token.token.logprob, 0);
    EXPECT_GE(token.top[1].logprob, token.top[2].logprob);
    text.append(token.token.text, token.token.text_bytes);
  }
  EXPECT_EQ(streamed, std::vector<int32_t>(choice.ids, choice.ids + choice.id_count));
  EXPECT_THAT(text, HasSubstr(std::string(choice.text, choice.text_bytes)));
  paceline_release(generation);
}

TEST(CGeneration, FormsAndCalls) {
  TestAsk form("How are you?");
  form.request.max_tokens = 200;
  form.request.response_format_json =
      R"({"type":"json_schema","json_schema":{"schema":{"type":"object","properties":{"well":{"type":"boolean"}},)"
      R"("required":["well"],"additionalProperties":false}}})";
  const TestAnswer formed = answer_to(form);
  ASSERT_EQ(formed.result, PACELINE_OK) << formed.problem;
  EXPECT_TRUE(boost::json::parse(formed.text).at("well").is_bool()) << formed.text;

  TestAsk call("How is the weather?");
  call.request.max_tokens = 200;
  call.chat.tools_json =
      R"([{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":)"
      R"({"now":{"type":"boolean"}},"required":["now"],"additionalProperties":false}}}])";
  call.request.tool_choice = "weather";
  call.request.one_call = 1;
  std::string heard;
  call.hear([&](const paceline_event& event) {
    if (event.kind == PACELINE_EVENT_CALL) heard = event.call.name;
    return 0;
  });
  paceline_generation* generation = nullptr;
  Problem problem;
  ASSERT_EQ(paceline_generate(shared_model(), &call.request, &generation, &problem.text), PACELINE_OK)
      << problem.said();
  paceline_choice choice{};
  choice.size = sizeof(choice);
  ASSERT_EQ(paceline_choice_of(generation, 0, &choice, nullptr), PACELINE_OK);
  EXPECT_EQ(choice.finish, PACELINE_FINISH_TOOL_CALLS);
  ASSERT_EQ(choice.call_count, 1u);
  EXPECT_STREQ(choice.calls[0].name, "weather");
  EXPECT_TRUE(boost::json::parse(choice.calls[0].arguments).at("now").is_bool());
  EXPECT_EQ(heard, "weather");
  paceline_release(generation);
}

TEST(CGeneration, EndsWhereItIsTold) {
  const TestAnswer whole = answer_to(TestAsk("Tell a story about a small boat."));
  ASSERT_GT(whole.text.size(), 30u);
  const std::string stop = whole.text.substr(20, 5);
  const char* const stops[] = {stop.c_str()};
  TestAsk ask("Tell a story about a small boat.");
  ask.request.stop_strings = stops;
  ask.request.stop_string_count = 1;
  const TestAnswer stopped = answer_to(ask);
  EXPECT_EQ(stopped.text, whole.text.substr(0, whole.text.find(stop)));
  EXPECT_EQ(stopped.finish, PACELINE_FINISH_STOP);

  TestAsk by_id("Tell a story about a small boat.");
  by_id.request.stop_ids = &whole.ids[7];
  by_id.request.stop_id_count = 1;
  const auto first = std::find(whole.ids.begin(), whole.ids.end(), whole.ids[7]);
  EXPECT_EQ(answer_to(by_id).ids, std::vector<int32_t>(whole.ids.begin(), first));
}

// A picture's place in the messages, or before them; as a file's bytes, or by its path: the same prompt.
TEST(CGeneration, Pictures) {
  const Bytes file = encode_jpeg(test_picture(60, 40));
  const std::string path = ::testing::TempDir() + "paceline_picture.jpg";
  std::FILE* out = std::fopen(path.c_str(), "wb");
  ASSERT_NE(out, nullptr);
  std::fwrite(file.data(), 1, file.size(), out);
  std::fclose(out);
  paceline_medium medium;
  paceline_medium_init(&medium, sizeof(medium));
  medium.bytes = file.data();
  medium.byte_count = file.size();
  TestAsk ask("What is this?");
  ask.request.media = &medium;
  ask.request.media_count = 1;
  const TestAnswer by_bytes = answer_to(ask);
  ASSERT_EQ(by_bytes.result, PACELINE_OK) << by_bytes.problem;
  EXPECT_GT(by_bytes.usage.prompt_tokens, answer_to(TestAsk("What is this?")).usage.prompt_tokens + 20);
  medium.bytes = nullptr;
  medium.path = path.c_str();
  ask.chat.messages = nullptr;
  ask.chat.messages_json = R"([{"role":"user","content":[{"type":"image"},{"type":"text","text":"What is this?"}]}])";
  const TestAnswer by_path = answer_to(ask);
  EXPECT_EQ(by_path.ids, by_bytes.ids) << by_path.problem;
  // A place without a picture, and the other way round.
  ask.request.media_count = 0;
  EXPECT_THAT(answer_to(ask).problem, HasSubstr("more places for pictures"));
  ask.request.media_count = 1;
  medium.is_clip = 0;
  ask.chat.messages_json = R"([{"role":"user","content":[{"type":"image"},{"type":"image"}]}])";
  EXPECT_THAT(answer_to(ask).problem, HasSubstr("more places for pictures"));
  std::remove(path.c_str());
}

TEST(CGeneration, WhatWasKeptIsSharedWithinAScope) {
  TestAsk ask("A long question that nobody else asks, so that there is a beginning of it that can be kept. " +
              std::string(600, 'a'));
  EXPECT_EQ(answer_to(ask).usage.cached_tokens, 0);
  const TestAnswer again = answer_to(ask);
  EXPECT_GT(again.usage.cached_tokens, 0);
  ask.request.fresh = 1;
  EXPECT_EQ(answer_to(ask).usage.cached_tokens, 0);
  ask.request.fresh = 0;
  ask.request.scope = "somebody";
  const TestAnswer other = answer_to(ask);
  EXPECT_EQ(other.usage.cached_tokens, 0);
  EXPECT_EQ(other.ids, again.ids);
}

struct Closing {
  void operator()(paceline_model* model) const { paceline_close(model); }
};
using OwnModel = std::unique_ptr<paceline_model, Closing>;

OwnModel open_with(const std::function<void(paceline_open_options&)>& change) {
  return OwnModel(open_default_model(change));
}

std::string kv_of(const OwnModel& model) {
  paceline_facts facts{};
  facts.size = sizeof(facts);
  EXPECT_EQ(paceline_model_facts(model.get(), &facts, nullptr), PACELINE_OK);
  return facts.kv;
}

TEST(CSettings, FormatsOfKeysAndValues) {
  EXPECT_EQ(kv_of(open_with({})), "bf16");
  EXPECT_EQ(kv_of(open_with([](auto& options) { options.precision = PACELINE_PRECISION_F32; })), "f32");
  const auto model = open_with([](auto& options) { options.kv = PACELINE_KV_Q8; });
  EXPECT_EQ(kv_of(model), "q8, sliding bf16");
  const TestAsk ask("Tell a story about a small boat.");
  EXPECT_EQ(answer_to(ask, model.get()).result, PACELINE_OK);
  EXPECT_EQ(kv_of(open_with([](auto& options) { options.kv = options.kv_sliding = PACELINE_KV_Q8; })), "q8");
}

// What a request holds beside keys and values: with next to nothing for it, one at a time.
TEST(CSettings, BytesOfRequestsThatWait) {
  const auto model = open_with([](auto& options) { options.queue_bytes = 1; });
  TestAsk first("Tell a story about a small boat."), second("Hello");
  first.request.ignore_eos = 1;
  first.request.max_tokens = 0;
  paceline_generation *runs = nullptr, *waits = nullptr;
  ASSERT_EQ(paceline_submit(model.get(), &first.request, &runs, nullptr), PACELINE_OK);
  EXPECT_EQ(paceline_submit(model.get(), &second.request, &waits, nullptr), PACELINE_BUSY);
  paceline_release(runs);
}

TEST(CSettings, NoGuessesBeyondAPartOfTheMemory) {
  const TestAsk ask("Tell a story about a small boat.");
  const auto capped = open_with([](auto& options) { options.draft_up_to_kv = 1e-9; });
  const TestAnswer plain = answer_to(ask, capped.get());
  EXPECT_EQ(plain.usage.drafted, 0);
  EXPECT_EQ(plain.ids, answer_to(ask).ids);
}

// Whatever it is told about times and when memory is taken, texts are the same.
TEST(CSettings, OfTimesAndRoomChangeNoText) {
  const TestAsk ask("Tell a story about a small boat.");
  const auto model = open_with([](auto& options) {
    options.latency_ms = 20;
    options.reserve_tokens = 0;
    options.lazy_drafter = 1;
  });
  const TestAnswer answer = answer_to(ask, model.get());
  EXPECT_EQ(answer.ids, answer_to(ask).ids);
  EXPECT_GT(answer.usage.drafted, 0);
}

TEST(CGeneration, TimeIsOver) {
  TestAsk ask("Tell a story about a small boat.");
  ask.request.max_tokens = 0;
  ask.request.ignore_eos = 1;
  ask.request.deadline_ms = 30;
  const TestAnswer answer = answer_to(ask);
  EXPECT_EQ(answer.result, PACELINE_DEADLINE);
  EXPECT_EQ(answer.finish, PACELINE_FINISH_DEADLINE);
}

}  // namespace
}  // namespace paceline::api
