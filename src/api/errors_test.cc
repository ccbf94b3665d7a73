// What callers and files can get wrong: said in words, and nothing ends by it.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>

#include "api/model_for_tests.h"
#include "base/sanitized.h"
#include "base/utf8.h"
#include "kernels/cuda_device.h"

namespace paceline::api {
namespace {

using ::testing::HasSubstr;

TEST(CErrors, NamesOfWhatHappened) {
  EXPECT_STREQ(paceline_result_name(PACELINE_OK), "ok");
  EXPECT_STREQ(paceline_result_name(PACELINE_BUSY), "busy");
  EXPECT_STREQ(paceline_result_name(99), "unknown");
  EXPECT_STREQ(paceline_finish_name(PACELINE_FINISH_LENGTH), "length");
  EXPECT_EQ(paceline_abi_version(), PACELINE_ABI_VERSION);
  EXPECT_GT(std::strlen(paceline_version()), 4u);
}

TEST(CErrors, OpeningWhatCannotBeOpened) {
  struct Case {
    std::function<void(paceline_open_options&)> change;
    paceline_result result;
    const char* words;
  };
  const std::vector<Case> cases = {
      {[](auto& options) { options.model = "/no/such/folder"; }, PACELINE_NO_MODEL, "/no/such/folder"},
      {[](auto& options) { options.model = PACELINE_SOURCE_DIR; }, PACELINE_NO_MODEL, "config.json"},
      {[](auto& options) { options.draft = "/no/such/drafter"; }, PACELINE_NO_MODEL, "/no/such/drafter"},
      {[](auto& options) { options.draft = ""; }, PACELINE_INVALID, "draft"},
      {[](auto& options) { options.draft_kind = "magic"; }, PACELINE_INVALID, "draft_kind"},
      {[](auto& options) { options.depth = -2; }, PACELINE_INVALID, "depth"},
      {[](auto& options) { options.depth = 1000; }, PACELINE_INVALID, "depth"},
      {[](auto& options) { options.device = 17; }, PACELINE_INVALID, "device"},
      {[](auto& options) { options.precision = 17; }, PACELINE_INVALID, "precision"},
      {[](auto& options) { options.vision = -1; }, PACELINE_INVALID, "vision"},
      {[](auto& options) { options.threads = -1; }, PACELINE_INVALID, "threads"},
      {[](auto& options) { options.batch_rows = 0; }, PACELINE_INVALID, "batch_rows"},
      {[](auto& options) { options.chunk_rows = 100000; }, PACELINE_INVALID, "chunk_rows"},
      {[](auto& options) { options.chunk_rows_beside = 0; }, PACELINE_INVALID, "chunk_rows_beside"},
      {[](auto& options) { options.max_running = 0; }, PACELINE_INVALID, "max_running"},
      {[](auto& options) { options.queue_length = -5; }, PACELINE_INVALID, "queue_length"},
      {[](auto& options) { options.kv = 17; }, PACELINE_INVALID, "kv must be"},
      {[](auto& options) { options.kv_sliding = -1; }, PACELINE_INVALID, "kv_sliding must be"},
      {[](auto& options) { options.latency_ms = -2; }, PACELINE_INVALID, "latency_ms"},
      {[](auto& options) { options.latency_ms = std::nan(""); }, PACELINE_INVALID, "latency_ms"},
      {[](auto& options) { options.latency_ms = HUGE_VAL; }, PACELINE_INVALID, "latency_ms"},
      {[](auto& options) { options.draft_up_to_running = -1; }, PACELINE_INVALID, "draft_up_to_running"},
      {[](auto& options) { options.draft_up_to_context = -1; }, PACELINE_INVALID, "draft_up_to_context"},
      {[](auto& options) { options.draft_up_to_kv = 1.5; }, PACELINE_INVALID, "draft_up_to_kv"},
      {[](auto& options) { options.draft_up_to_kv = std::nan(""); }, PACELINE_INVALID, "draft_up_to_kv"},
      {[](auto& options) { options.reserve_tokens = -1; }, PACELINE_INVALID, "reserve_tokens"},
      {[](auto& options) { options.kv_bytes = 1; }, PACELINE_INVALID, "kv_bytes"},
      {[](auto& options) { options.kv_bytes = uint64_t{1} << 45; }, PACELINE_INVALID,
       "all the memory that this process may have"},
      {[](auto& options) { options.size = 0; }, PACELINE_INVALID, "options.size"},
  };
  const std::string folder = default_model_folder();
  for (const Case& c : cases) {
    paceline_open_options options;
    paceline_open_options_init(&options, sizeof(options));
    options.model = folder.c_str();
    c.change(options);
    auto* model = reinterpret_cast<paceline_model*>(&options);  // must be overwritten
    Problem problem;
    EXPECT_EQ(paceline_open(&options, &model, &problem.text), c.result) << c.words;
    EXPECT_EQ(model, nullptr) << c.words;
    EXPECT_THAT(problem.said(), HasSubstr(c.words));
    // Whoever does not want to know is not told.
    EXPECT_EQ(paceline_open(&options, &model, nullptr), c.result);
  }
  EXPECT_EQ(paceline_open(nullptr, nullptr, nullptr), PACELINE_INVALID);
}

TEST(CErrors, ADeviceThatIsNotThere) {
  if (kernels::find_cuda_device().ok()) GTEST_SKIP() << "there is one";
  const std::string folder = default_model_folder();
  paceline_open_options options;
  paceline_open_options_init(&options, sizeof(options));
  options.model = folder.c_str();
  options.device = PACELINE_DEVICE_CUDA;
  paceline_model* model = nullptr;
  Problem problem;
  EXPECT_EQ(paceline_open(&options, &model, &problem.text), PACELINE_INVALID);
  EXPECT_THAT(problem.said(), HasSubstr("CUDA"));
}

// One line of UTF-8, whatever was asked for.
TEST(CErrors, WordsAreOneLineOfText) {
  for (const char* const model : {"nobody/has-this", "/no/such\nfolder/\xff\xfe", "no\x1b[31m/such"}) {
    paceline_open_options options;
    paceline_open_options_init(&options, sizeof(options));
    options.model = model;
    paceline_model* opened = nullptr;
    Problem problem;
    EXPECT_EQ(paceline_open(&options, &opened, &problem.text), PACELINE_NO_MODEL);
    EXPECT_GT(problem.said().size(), 20u);
    EXPECT_TRUE(is_valid_utf8(problem.said())) << problem.said();
    for (const char c : problem.said()) EXPECT_GE(static_cast<unsigned char>(c), ' ') << problem.said();
  }
}

// The model can be opened, for texts; whoever wants a chat hears what is wrong with it.
TEST(CErrors, AChatTemplateThatCannotBeRead) {
  const std::filesystem::path scratch = std::filesystem::path(testing::TempDir()) / "unreadable_template";
  std::filesystem::remove_all(scratch);
  std::filesystem::create_directories(scratch);
  for (const auto& entry : std::filesystem::directory_iterator(default_model_folder()))
    if (entry.path().filename() != "chat_template.jinja")
      std::filesystem::create_symlink(entry.path(), scratch / entry.path().filename());
  std::ofstream(scratch / "chat_template.jinja") << "{{ 9223372036854775808 }}";
  const std::string folder = scratch;
  paceline_model* model = open_default_model([&](auto& options) { options.model = folder.c_str(); });
  const TestAnswer answer = answer_to(TestAsk("Hello"), model);
  EXPECT_EQ(answer.result, PACELINE_INVALID);
  EXPECT_THAT(answer.problem, HasSubstr("9223372036854775808 is out of range"));
  EXPECT_EQ(paceline_close(model), PACELINE_OK);
  std::filesystem::remove_all(scratch);
}

// A pipe that nobody writes into, in each place that has a file's name: who waits for one hangs here.
TEST(CErrors, PipesInThePlaceOfFiles) {
  const std::filesystem::path scratch = std::filesystem::path(testing::TempDir()) / "pipes_for_files";
  const std::filesystem::path model = default_model_folder();
  const auto open = [&](const std::filesystem::path& path) {
    paceline_open_options options;
    paceline_open_options_init(&options, sizeof(options));
    options.model = path.c_str();
    options.threads = 1;
    paceline_model* opened = nullptr;
    Problem problem;
    EXPECT_EQ(paceline_open(&options, &opened, &problem.text), PACELINE_NO_MODEL) << path;
    return problem.said();
  };
  for (const char* const name : {"config.json", "tokenizer.json", "model.safetensors", "chat_template.jinja"}) {
    std::filesystem::remove_all(scratch);
    std::filesystem::create_directories(scratch);
    for (const auto& entry : std::filesystem::directory_iterator(model))
      if (entry.path().filename() != name)
        std::filesystem::create_symlink(entry.path(), scratch / entry.path().filename());
    ASSERT_EQ(::mkfifo((scratch / name).c_str(), 0600), 0);
    EXPECT_THAT(open(scratch), HasSubstr(std::string(name) + ": expected a regular file"));
  }
  ASSERT_EQ(::mkfifo((scratch / "m.gguf").c_str(), 0600), 0);
  EXPECT_THAT(open(scratch / "m.gguf"), HasSubstr("m.gguf"));
  for (const int32_t is_clip : {0, 1}) {
    paceline_medium medium;
    paceline_medium_init(&medium, sizeof(medium));
    const std::string path = scratch / "m.gguf";
    medium.path = path.c_str();
    medium.is_clip = is_clip;
    TestAsk ask("Hello");
    ask.request.media = &medium;
    ask.request.media_count = 1;
    Problem problem;
    EXPECT_EQ(paceline_generate(shared_model(), &ask.request, nullptr, &problem.text), PACELINE_INVALID);
    EXPECT_THAT(problem.said(), HasSubstr("m.gguf: expected a regular file"));
  }
  std::filesystem::remove_all(scratch);
}

// What this process may take is little: the size that nobody asks for follows it, and one that is asked for is named.
TEST(CErrors, LimitsOnMemoryOfTheProcess) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory counts among what is limited";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto open = [](uint64_t kv_bytes) {
    const rlimit memory{rlim_t{3} << 30, rlim_t{3} << 30};
    if (::setrlimit(RLIMIT_AS, &memory) != 0) std::_Exit(100);
    paceline_model* model = nullptr;
    Problem problem;
    const paceline_result result = try_to_open([&](auto& options) { options.kv_bytes = kv_bytes; }, &model, problem);
    std::cerr << problem.said();
    std::_Exit(result);
  };
  EXPECT_EXIT(open(0), testing::ExitedWithCode(PACELINE_OK), "");
  EXPECT_EXIT(open(uint64_t{8} << 30), testing::ExitedWithCode(PACELINE_FAILED),
              "the 8589934592 bytes that are wanted for keys and values; the limits of this process .ulimit -v.*bytes");
}

// Memory that ends in the midst of a request: whichever piece it is that there is none for, that is said, and the
// process goes on. Each time another one that has so much more than it needed to open.
TEST(CErrors, MemoryThatEndsWhileTextsAreWritten) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory counts among what is limited";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto generate = [](rlim_t more) {
    paceline_model* model = open_default_model([](auto& options) { options.kv_bytes = uint64_t{64} << 20; });
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const auto limit = static_cast<rlim_t>(pages * ::getpagesize()) + more;
    const rlimit memory{limit, limit};
    if (::setrlimit(RLIMIT_AS, &memory) != 0) std::_Exit(100);
    int failed = 0;
    for (int i = 0; i < 3; ++i) {
      TestAsk ask("Tell a story about a small boat.");
      ask.request.choices = i == 2 ? 64 : 8;
      ask.request.top_logprobs = 5;
      ask.request.temperature = 1;
      Problem problem;
      const paceline_result result = paceline_generate(model, &ask.request, nullptr, &problem.text);
      if (result != PACELINE_OK && result != PACELINE_FAILED) std::_Exit(101);
      if (result == PACELINE_FAILED && problem.said().find("memory") == std::string::npos) std::_Exit(102);
      failed += result == PACELINE_FAILED ? 1 : 0;
    }
    if (paceline_close(model) != PACELINE_OK) std::_Exit(103);
    std::_Exit(failed > 0 ? 1 : 0);
  };
  for (const rlim_t kilobytes : {0, 512, 1024, 2048, 3072, 4096, 6144}) {
    EXPECT_EXIT(generate(kilobytes << 10), testing::ExitedWithCode(1), "") << kilobytes;
  }
}

// Of a thousand threads the memory has room for the stacks of some. It is another process that has so little.
TEST(CErrors, ThreadsThatTheSystemDoesNotStart) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory counts among what is limited";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto open = [] {
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const auto limit = static_cast<rlim_t>(pages * ::getpagesize()) + (rlim_t{1} << 30);
    const rlimit memory{limit, limit}, stack{rlim_t{8} << 20, rlim_t{8} << 20};
    if (::setrlimit(RLIMIT_STACK, &stack) != 0 || ::setrlimit(RLIMIT_AS, &memory) != 0) std::_Exit(100);
    const std::string folder = default_model_folder();
    paceline_open_options options;
    paceline_open_options_init(&options, sizeof(options));
    options.model = folder.c_str();
    options.threads = 1000;
    paceline_model* model = nullptr;
    Problem problem;
    const paceline_result result = paceline_open(&options, &model, &problem.text);
    std::cerr << problem.said();
    std::_Exit(model == nullptr ? result : 100);
  };
  EXPECT_EXIT(open(), testing::ExitedWithCode(PACELINE_FAILED),
              "expected to start 999 threads .* the system started [0-9]+: ");
}

// Said by its length alone: of these bytes none can be read.
TEST(CErrors, TextsThatAreTooLongToEncode) {
  constexpr size_t kBytes = size_t{1} << 30;
  void* const nowhere = ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(nowhere, MAP_FAILED);
  const auto* text = static_cast<const char*>(nowhere);
  int32_t* ids = nullptr;
  size_t count = 0;
  Problem problem;
  EXPECT_EQ(paceline_tokenize(shared_model(), text, kBytes, 0, &ids, &count, &problem.text), PACELINE_INVALID);
  EXPECT_THAT(problem.said(), HasSubstr("found 1073741824"));
  EXPECT_EQ(ids, nullptr);
  ::munmap(nowhere, kBytes);
}

// A text in C ends at a zero byte: half a conversation is none.
TEST(CErrors, ConversationsThatNoTextInCCanHold) {
  paceline_chat chat;
  paceline_chat_init(&chat, sizeof(chat));
  chat.messages_json = R"([{"role": "user", "content": "a\u0000b"}])";
  char* text = nullptr;
  Problem problem;
  EXPECT_EQ(paceline_render(shared_model(), &chat, &text, &problem.text), PACELINE_INVALID);
  EXPECT_THAT(problem.said(), HasSubstr("zero byte"));
  EXPECT_EQ(text, nullptr);
}

TEST(CErrors, TokensThatTheModelHasNot) {
  for (const int32_t odd : {-1, 1 << 30}) {
    const int32_t ids[] = {5, odd};
    char* text = nullptr;
    Problem problem;
    EXPECT_EQ(paceline_detokenize(shared_model(), ids, 2, 0, &text, nullptr, &problem.text), PACELINE_INVALID);
    EXPECT_THAT(problem.said(), HasSubstr("ids[1] must be from 0 to "));
    EXPECT_EQ(text, nullptr);
  }
}

TEST(CErrors, HandlesThatAreNone) {
  Problem problem;
  paceline_request request;
  paceline_request_init(&request, sizeof(request));
  paceline_generation* generation = nullptr;
  EXPECT_EQ(paceline_submit(nullptr, &request, &generation, nullptr), PACELINE_INVALID);
  EXPECT_EQ(paceline_submit(shared_model(), nullptr, &generation, &problem.text), PACELINE_INVALID);
  EXPECT_THAT(problem.said(), HasSubstr("request is NULL"));
  EXPECT_EQ(paceline_submit(shared_model(), &request, nullptr, nullptr), PACELINE_INVALID);
  EXPECT_EQ(paceline_generate(nullptr, &request, nullptr, nullptr), PACELINE_INVALID);
  EXPECT_EQ(paceline_wait(nullptr, nullptr), PACELINE_INVALID);
  EXPECT_EQ(paceline_usage_of(nullptr, nullptr, nullptr), PACELINE_INVALID);
  EXPECT_EQ(paceline_choice_of(nullptr, 0, nullptr, nullptr), PACELINE_INVALID);
  EXPECT_EQ(paceline_model_facts(nullptr, nullptr, nullptr), PACELINE_INVALID);
  EXPECT_EQ(paceline_model_facts(shared_model(), nullptr, nullptr), PACELINE_INVALID);
  EXPECT_EQ(paceline_model_load(nullptr, nullptr, nullptr), PACELINE_INVALID);
  EXPECT_EQ(paceline_render(shared_model(), nullptr, nullptr, nullptr), PACELINE_INVALID);
  EXPECT_EQ(paceline_tokenize(shared_model(), nullptr, 0, 0, nullptr, nullptr, nullptr), PACELINE_INVALID);
  EXPECT_EQ(paceline_detokenize(shared_model(), nullptr, 3, 0, nullptr, nullptr, nullptr), PACELINE_INVALID);
  EXPECT_EQ(paceline_close(nullptr), PACELINE_OK);
  paceline_cancel(nullptr);
  paceline_release(nullptr);
  paceline_free(nullptr);
  paceline_request_init(nullptr, 100);
}

// A request that is right but for one thing.
paceline_result submit_changed(const std::function<void(TestAsk&)>& change, std::string& said) {
  TestAsk ask("Hello");
  change(ask);
  Problem problem;
  paceline_generation* generation = nullptr;
  const paceline_result result = paceline_submit(shared_model(), &ask.request, &generation, &problem.text);
  said = problem.said();
  EXPECT_EQ(generation == nullptr, result != PACELINE_OK);
  paceline_release(generation);
  return result;
}

TEST(CErrors, RequestsThatMakeNoSense) {
  static const int32_t ids[] = {5, 1 << 30};
  static const char* const empty[] = {""};
  static const paceline_logit_bias bias = {1 << 30, 1};
  static const std::string long_text(3 << 20, 'x');
  struct Case {
    std::function<void(TestAsk&)> change;
    const char* words;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Case> cases = {
      {[](auto& ask) { ask.request.chat = nullptr; }, "a chat, a prompt or prompt_ids"},
      {[](auto& ask) { ask.request.prompt = "x"; }, "one of them; found 2"},
      {[](auto& ask) { ask.request.max_tokens = -1; }, "max_tokens"},
      {[](auto& ask) { ask.request.context = -1; }, "context"},
      {[](auto& ask) { ask.request.context = 1 << 30; }, "context"},
      {[](auto& ask) { ask.request.temperature = -0.5f; }, "temperature"},
      {[nan](auto& ask) { ask.request.temperature = nan; }, "temperature"},
      {[](auto& ask) { ask.request.top_p = 2; }, "top_p"},
      {[](auto& ask) { ask.request.top_k = -2; }, "top_k"},
      {[nan](auto& ask) { ask.request.min_p = nan; }, "min_p"},
      {[](auto& ask) { ask.request.repetition_penalty = 0; }, "repetition_penalty"},
      {[nan](auto& ask) { ask.request.presence_penalty = nan; }, "presence_penalty"},
      {[](auto& ask) { ask.request.choices = 0; }, "choices"},
      {[](auto& ask) { ask.request.choices = std::numeric_limits<int32_t>::max(); }, "choices"},
      {[](auto& ask) { ask.request.top_logprobs = 21; }, "top_logprobs"},
      {[](auto& ask) { ask.request.max_depth = 1000; }, "max_depth"},
      {[](auto& ask) { ask.request.depth = 1000; }, "depth"},
      {[](auto& ask) { ask.request.depth = -2; }, "depth"},
      {[](auto& ask) { ask.request.thought_tokens = -1; }, "thought_tokens"},
      {[](auto& ask) { ask.request.deadline_ms = -1; }, "deadline_ms"},
      {[](auto& ask) { ask.request.stop_string_count = 2; }, "stop_strings is NULL"},
      {[](auto& ask) { ask.request.stop_strings = empty, ask.request.stop_string_count = 1; }, "stop string"},
      {[](auto& ask) { ask.request.stop_ids = ids, ask.request.stop_id_count = 2; }, "stop_ids"},
      {[](auto& ask) { ask.chat.thinking = 77; }, "thinking must be"},
      {[](auto& ask) { ask.request.logit_bias = &bias, ask.request.logit_bias_count = 1; }, "logit_bias"},
      {[](auto& ask) { ask.request.media_count = 1; }, "media"},
      {[](auto& ask) { ask.request.picture_tokens = 3; }, "picture_tokens must be 70"},
      {[](auto& ask) { ask.request.tool_choice = "required"; }, "no tools"},
      {[](auto& ask) { ask.request.response_format_json = "{"; }, "response_format_json must be JSON"},
      {[](auto& ask) { ask.request.response_format_json = R"({"type":"poem"})"; }, "response_format.type"},
      {[](auto& ask) { ask.request.response_format_json = R"({"type":"json_object"})", ask.request.ignore_eos = 1; },
       "ignore_eos"},
      {[](auto& ask) { ask.chat.size = 3; }, "chat.size"},
      {[](auto& ask) { ask.chat.messages = nullptr; }, "messages is missing"},
      {[](auto& ask) { ask.message.role = "king"; }, "messages[0].role"},
      {[](auto& ask) { ask.message.content = nullptr; }, "messages[0]"},
      {[](auto& ask) { ask.chat.messages = nullptr, ask.chat.messages_json = "[{]"; }, "messages_json must be JSON"},
      {[](auto& ask) { ask.chat.messages_json = "[]"; }, "not both"},
      {[](auto& ask) { ask.chat.messages = nullptr, ask.chat.messages_json = "{}"; }, "messages must be an array"},
      {[](auto& ask) { ask.chat.tools_json = "[1]"; }, "tools[0]"},
      {[](auto& ask) { ask.chat.variables_json = "7"; }, "variables_json must be an object"},
      {[](auto& ask) { ask.chat.variables_json = R"({"tools": []})"; }, "variables_json.tools is not for clients"},
      {[](auto& ask) { ask.chat.variables_json = "\xff"; }, "variables_json must be UTF-8"},
      {[](auto& ask) { ask.message.content = long_text.c_str(); }, "tokens at least"},
      {[](auto& ask) { ask.request.chat = nullptr, ask.request.prompt = ""; }, ""},
      {[](auto& ask) { ask.request.chat = nullptr, ask.request.prompt_ids = ids; }, "no tokens"},
      {[](auto& ask) { ask.request.chat = nullptr, ask.request.prompt_ids = ids, ask.request.prompt_id_count = 2; },
       "token 1073741824"},
      {[](auto& ask) { ask.request.chat = nullptr, ask.request.prompt = "x", ask.request.tool_choice = "auto"; },
       "tool_choice is for chats"},
      {[](auto& ask) { ask.request.chat = nullptr, ask.request.prompt = "x", ask.request.thought_tokens = 9; },
       "thought_tokens is for chats"},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    std::string said;
    // An empty prompt still has <bos>, which can be continued.
    const bool is_right = cases[i].words[0] == '\0';
    EXPECT_EQ(submit_changed(cases[i].change, said), is_right ? PACELINE_OK : PACELINE_INVALID) << i << said;
    EXPECT_THAT(said, HasSubstr(cases[i].words)) << i;
  }
}

TEST(CErrors, MediaThatAreNone) {
  struct Case {
    std::function<void(paceline_medium&)> change;
    const char* words;
  };
  const std::vector<Case> cases = {
      {[](auto& medium) { medium.path = "/no/such/picture.png"; }, "/no/such/picture.png"},
      {[](auto& medium) { medium.bytes = "no picture", medium.byte_count = 10; }, "media[0]"},
      {[](auto&) {}, "bytes or a path"},
      {[](auto& medium) { medium.bytes = "x", medium.byte_count = 1, medium.path = "x"; }, "bytes or a path"},
      {[](auto& medium) { medium.bytes = "no clip", medium.byte_count = 7, medium.is_clip = 1; }, "media[0]"},
      {[](auto& medium) { medium.size = 4; }, "size"},
  };
  for (const Case& c : cases) {
    paceline_medium medium;
    paceline_medium_init(&medium, sizeof(medium));
    c.change(medium);
    std::string said;
    const auto add = [&](TestAsk& ask) { ask.request.media = &medium, ask.request.media_count = 1; };
    EXPECT_EQ(submit_changed(add, said), PACELINE_INVALID) << c.words;
    EXPECT_THAT(said, HasSubstr(c.words));
  }
}

// Callers of other versions: what they do not know has its default, and what the library does not know must not be set.
TEST(CErrors, StructsOfOtherVersions) {
  struct Newer {
    paceline_request known;
    int64_t later[4];
  } newer;
  TestAsk ask("Hello");
  std::memset(static_cast<void*>(&newer), 0xAA, sizeof(newer));
  paceline_request_init(&newer.known, sizeof(newer));
  EXPECT_EQ(newer.known.size, sizeof(newer));
  EXPECT_EQ(newer.later[0] | newer.later[3], 0);
  newer.known.chat = &ask.chat;
  newer.known.max_tokens = 3;
  Problem problem;
  EXPECT_EQ(paceline_generate(shared_model(), &newer.known, nullptr, &problem.text), PACELINE_OK) << problem.said();
  newer.later[3] = 1;
  EXPECT_EQ(paceline_generate(shared_model(), &newer.known, nullptr, &problem.text), PACELINE_INVALID);
  EXPECT_THAT(problem.said(), HasSubstr("does not know"));

  // One that ends before max_tokens gets 512 of them, and not what lies behind it in memory.
  struct Older {
    size_t size;
    const paceline_chat* chat;
    int64_t behind[8];
  } older;
  std::memset(static_cast<void*>(&older), 0xAA, sizeof(older));
  constexpr size_t kKnown = offsetof(Older, behind);
  paceline_request_init(reinterpret_cast<paceline_request*>(&older), kKnown);
  EXPECT_EQ(older.behind[0], static_cast<int64_t>(0xAAAAAAAAAAAAAAAA));
  older.chat = &ask.chat;
  EXPECT_EQ(paceline_generate(shared_model(), reinterpret_cast<paceline_request*>(&older), nullptr, nullptr),
            PACELINE_OK);
  for (const size_t size : {size_t{0}, size_t{7}, kKnown - 1, size_t{1} << 30}) {
    older.size = size;
    EXPECT_EQ(paceline_generate(shared_model(), reinterpret_cast<paceline_request*>(&older), nullptr, nullptr),
              PACELINE_INVALID);
  }

  // Of what is handed out, as much as there is room for.
  paceline_facts facts;
  std::memset(static_cast<void*>(&facts), 0xAA, sizeof(facts));
  facts.size = offsetof(paceline_facts, kernels);
  ASSERT_EQ(paceline_model_facts(shared_model(), &facts, nullptr), PACELINE_OK);
  EXPECT_STREQ(facts.name, "default");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(facts.kernels), 0xAAAAAAAAAAAAAAAA);
}

}  // namespace
}  // namespace paceline::api
