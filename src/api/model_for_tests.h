// The default model behind the C interface, and short words for it.
#pragma once

#include <gtest/gtest.h>
#include <paceline/paceline.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace paceline::api {

// A message that was handed out, kept and given back.
struct Problem {
  ~Problem() { paceline_free(text); }
  char* text = nullptr;
  [[nodiscard]] std::string said() const { return text != nullptr ? text : ""; }
};

inline std::string default_model_folder() { return std::string(PACELINE_SOURCE_DIR) + "/models/default"; }

inline paceline_result try_to_open(const std::function<void(paceline_open_options&)>& change, paceline_model** model,
                                   Problem& problem) {
  const std::string folder = default_model_folder();
  paceline_open_options options;
  paceline_open_options_init(&options, sizeof(options));
  options.model = folder.c_str();
  options.threads = 1;  // tests run beside each other, and threads that wait for one another suffer most
  options.kv_bytes = uint64_t{1} << 30;
  if (change) change(options);
  return paceline_open(&options, model, &problem.text);
}

inline paceline_model* open_default_model(const std::function<void(paceline_open_options&)>& change = {}) {
  paceline_model* model = nullptr;
  Problem problem;
  EXPECT_EQ(try_to_open(change, &model, problem), PACELINE_OK) << problem.said();
  return model;
}

// Opened once for all tests of a program, and closed at its end.
inline paceline_model* shared_model() {
  struct Holder {
    ~Holder() { paceline_close(model); }
    paceline_model* model = open_default_model();
  };
  static const Holder holder;
  return holder.model;
}

// A request with its conversation; goes where it is told to.
struct TestAsk {
  explicit TestAsk(std::string text, uint64_t seed = 1) : said(std::move(text)) {
    message = {"user", said.c_str()};
    paceline_chat_init(&chat, sizeof(chat));
    chat.messages = &message;
    chat.message_count = 1;
    paceline_request_init(&request, sizeof(request));
    request.chat = &chat;
    request.max_tokens = 40;
    request.has_seed = 1;
    request.seed = seed;
  }
  TestAsk(const TestAsk&) = delete;
  TestAsk& operator=(const TestAsk&) = delete;

  // Everything that happens; what it returns is what the callback does.
  TestAsk& hear(std::function<int32_t(const paceline_event&)> with) {
    heard = std::move(with);
    request.user = this;
    request.on_event = [](void* user, const paceline_event* event) {
      return static_cast<TestAsk*>(user)->heard(*event);
    };
    return *this;
  }

  std::string said;
  paceline_message message{};
  paceline_chat chat{};
  paceline_request request{};
  std::function<int32_t(const paceline_event&)> heard;
};

struct TestAnswer {
  paceline_result result = PACELINE_FAILED;
  std::string problem, text, thoughts;
  std::vector<int32_t> ids;
  paceline_finish finish = PACELINE_FINISH_NONE;
  paceline_usage usage{};
};

inline void read_answer(const paceline_generation* generation, TestAnswer& answer, int32_t number = 0) {
  paceline_choice choice{};
  choice.size = sizeof(choice);
  ASSERT_EQ(paceline_choice_of(generation, number, &choice, nullptr), PACELINE_OK);
  answer.text.assign(choice.text, choice.text_bytes);
  answer.thoughts.assign(choice.thoughts, choice.thought_bytes);
  answer.ids.assign(choice.ids, choice.ids + choice.id_count);
  answer.finish = choice.finish;
  answer.usage.size = sizeof(answer.usage);
  ASSERT_EQ(paceline_usage_of(generation, &answer.usage, nullptr), PACELINE_OK);
}

inline TestAnswer answer_to(const TestAsk& ask, paceline_model* model = shared_model()) {
  TestAnswer answer;
  Problem problem;
  paceline_generation* generation = nullptr;
  answer.result = paceline_generate(model, &ask.request, &generation, &problem.text);
  answer.problem = problem.said();
  if (generation != nullptr) read_answer(generation, answer);
  paceline_release(generation);
  return answer;
}

}  // namespace paceline::api
