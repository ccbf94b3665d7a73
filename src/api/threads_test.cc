// Many callers at once, those who change their minds, and those who call from within a callback.
#include <gmock/gmock.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "api/model_for_tests.h"
#include "base/sanitized.h"

namespace paceline::api {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Does not end by itself before the context does.
std::unique_ptr<TestAsk> endless() {
  auto ask = std::make_unique<TestAsk>("Tell a story about a small boat.");
  ask->request.max_tokens = 0;
  ask->request.ignore_eos = 1;
  return ask;
}

TEST(CThreads, ManyAtOnceAreAsIfAlone) {
  constexpr int kThreads = 6, kEach = 2;
  const auto question = [](int number) { return "Tell story number " + std::to_string(number) + "."; };
  std::vector<TestAnswer> together(kThreads * kEach);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const int number = t * kEach + i;
        together[static_cast<size_t>(number)] = answer_to(TestAsk(question(number), static_cast<uint64_t>(number)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int number = 0; number < kThreads * kEach; ++number) {
    const TestAnswer alone = answer_to(TestAsk(question(number), static_cast<uint64_t>(number)));
    EXPECT_EQ(together[static_cast<size_t>(number)].result, PACELINE_OK);
    EXPECT_EQ(together[static_cast<size_t>(number)].ids, alone.ids) << number;
  }
}

TEST(CThreads, CancelledByAnother) {
  auto ask = endless();
  std::atomic<bool> writes = false;
  ask->hear([&](const paceline_event& event) {
    if (event.kind == PACELINE_EVENT_TEXT) writes = true;
    return 0;
  });
  paceline_generation* generation = nullptr;
  ASSERT_EQ(paceline_submit(shared_model(), &ask->request, &generation, nullptr), PACELINE_OK);
  // Nobody knows yet what became of it.
  paceline_usage usage{};
  usage.size = sizeof(usage);
  Problem early;
  EXPECT_EQ(paceline_usage_of(generation, &usage, &early.text), PACELINE_INVALID);
  EXPECT_THAT(early.said(), HasSubstr("not ended"));
  std::thread other([&] {
    while (!writes) std::this_thread::yield();
    paceline_cancel(generation);
    paceline_cancel(generation);
  });
  Problem problem;
  EXPECT_EQ(paceline_wait(generation, &problem.text), PACELINE_CANCELLED);
  EXPECT_THAT(problem.said(), HasSubstr("cancelled"));
  other.join();
  TestAnswer answer;
  read_answer(generation, answer);
  EXPECT_EQ(answer.finish, PACELINE_FINISH_CANCELLED);
  EXPECT_FALSE(answer.text.empty());
  EXPECT_EQ(paceline_wait(generation, nullptr), PACELINE_CANCELLED);
  paceline_release(generation);
}

// It ends with the very piece at which it was ended, however many tokens came at once.
TEST(CThreads, EndedByItsCallback) {
  const TestAnswer whole = answer_to(TestAsk("Tell a story about a small boat."));
  std::vector<std::string> texts;
  for (const int32_t depth : {0, -1}) {
    TestAsk ask("Tell a story about a small boat.");
    ask.request.max_depth = depth;
    int pieces = 0;
    std::string heard;
    ask.hear([&](const paceline_event& event) {
      if (event.kind != PACELINE_EVENT_TEXT) return 0;
      heard.append(event.text, event.text_bytes);
      return ++pieces >= 6 ? 1 : 0;
    });
    const TestAnswer answer = answer_to(ask);
    EXPECT_EQ(answer.result, PACELINE_CANCELLED);
    EXPECT_EQ(answer.text, heard);
    EXPECT_THAT(whole.text, StartsWith(heard));
    EXPECT_LT(answer.ids.size(), whole.ids.size());
    texts.push_back(answer.text);
  }
  EXPECT_EQ(texts[0], texts[1]);
}

TEST(CThreads, EndedWhileThePromptIsRead) {
  TestAsk ask("Tell a story about a small boat.");
  ask.request.fresh = 1;
  ask.hear([](const paceline_event& event) { return event.kind == PACELINE_EVENT_PROMPT ? 1 : 0; });
  EXPECT_EQ(answer_to(ask).result, PACELINE_CANCELLED);
}

TEST(CThreads, WhatACallbackThrowsEndsItsRequest) {
  TestAsk ask("Tell a story about a small boat.");
  ask.hear([](const paceline_event& event) -> int32_t {
    if (event.kind == PACELINE_EVENT_TEXT) throw std::string("mine");
    return 0;
  });
  EXPECT_EQ(answer_to(ask).result, PACELINE_CANCELLED);
}

// The thread that opens calls it, so there it comes back as the opening's end.
TEST(CThreads, WhatACallbackOfAnOpeningThrowsEndsIt) {
  const auto said_of = [](void (*throws)(void*, int64_t, int64_t)) {
    paceline_model* model = nullptr;
    Problem problem;
    EXPECT_EQ(try_to_open([&](auto& options) { options.on_progress = throws; }, &model, problem), PACELINE_FAILED);
    EXPECT_EQ(model, nullptr);
    return problem.said();
  };
  EXPECT_EQ(said_of([](void*, int64_t, int64_t) { throw 7; }), "a callback threw something that is no std::exception");
  EXPECT_EQ(said_of([](void*, int64_t, int64_t) { throw std::runtime_error("mine"); }), "mine");
  EXPECT_EQ(said_of([](void*, int64_t, int64_t) { throw std::runtime_error(""); }),
            "a callback threw something that has no words");
}

TEST(CThreads, CallsFromWithinACallback) {
  TestAsk inner("Hello"), outer("Tell a story about a small boat.");
  inner.request.max_tokens = 5;
  paceline_generation* from_within = nullptr;
  paceline_result waited = PACELINE_OK, generated = PACELINE_OK, closed = PACELINE_OK;
  outer.hear([&](const paceline_event& event) {
    if (event.kind != PACELINE_EVENT_TEXT || from_within != nullptr) return 0;
    EXPECT_EQ(paceline_submit(shared_model(), &inner.request, &from_within, nullptr), PACELINE_OK);
    waited = paceline_wait(from_within, nullptr);
    generated = paceline_generate(shared_model(), &inner.request, nullptr, nullptr);
    closed = paceline_close(shared_model());
    return 0;
  });
  EXPECT_EQ(answer_to(outer).result, PACELINE_OK);
  EXPECT_EQ(waited, PACELINE_INVALID);
  EXPECT_EQ(generated, PACELINE_INVALID);
  EXPECT_EQ(closed, PACELINE_INVALID);
  EXPECT_EQ(paceline_wait(from_within, nullptr), PACELINE_OK);
  paceline_release(from_within);
}

TEST(CThreads, ReleasedWhileItRuns) {
  for (int i = 0; i < 5; ++i) {
    auto ask = endless();
    std::atomic<int> heard = 0;
    std::atomic<bool> released = false;
    ask->hear([&](const paceline_event&) {
      EXPECT_FALSE(released);
      ++heard;
      return 0;
    });
    paceline_generation* generation = nullptr;
    ASSERT_EQ(paceline_submit(shared_model(), &ask->request, &generation, nullptr), PACELINE_OK);
    while (heard < i) std::this_thread::yield();
    paceline_release(generation);
    released = true;
    // Whoever comes next is computed, and the one that was released hears nothing of it.
    EXPECT_EQ(answer_to(TestAsk("Hello")).result, PACELINE_OK);
  }
}

TEST(CThreads, ReleasedByItsOwnCallback) {
  auto ask = endless();
  std::atomic<int> after = 0;
  std::atomic<bool> released = false;
  paceline_generation* generation = nullptr;
  std::atomic<bool> submitted = false;
  ask->hear([&](const paceline_event& event) {
    if (released) ++after;
    if (event.kind != PACELINE_EVENT_TEXT || !submitted) return 0;
    released = true;
    paceline_release(generation);
    return 0;
  });
  ASSERT_EQ(paceline_submit(shared_model(), &ask->request, &generation, nullptr), PACELINE_OK);
  submitted = true;
  while (!released) std::this_thread::yield();
  EXPECT_EQ(answer_to(TestAsk("Hello")).result, PACELINE_OK);
  EXPECT_EQ(after, 0);
}

// Another model's callback is no place to wait either: somebody in it may be waiting for this one.
TEST(CThreads, TwoModelsThatAskEachOther) {
  paceline_model* other = open_default_model([](auto& options) { options.draft = "none"; });
  ASSERT_NE(other, nullptr);
  auto here = endless(), there = endless();
  paceline_generation *first = nullptr, *second = nullptr;
  std::atomic<bool> submitted = false;
  std::atomic<int> inside = 0;
  paceline_result generated = PACELINE_OK, closed = PACELINE_OK;
  const auto cross = [&](paceline_generation*& across, bool asks) {
    return [&, asks, done = false](const paceline_event& event) mutable {
      if (done || event.kind != PACELINE_EVENT_TEXT || !submitted) return 0;
      done = true;
      ++inside;
      while (inside < 2) std::this_thread::yield();
      if (asks) {
        TestAsk ask("Hello");
        generated = paceline_generate(other, &ask.request, nullptr, nullptr);
        closed = paceline_close(other);
      }
      paceline_release(across);
      return 0;
    };
  };
  here->hear(cross(second, true));
  there->hear(cross(first, false));
  ASSERT_EQ(paceline_submit(shared_model(), &here->request, &first, nullptr), PACELINE_OK);
  ASSERT_EQ(paceline_submit(other, &there->request, &second, nullptr), PACELINE_OK);
  submitted = true;
  while (inside < 2) std::this_thread::yield();
  EXPECT_EQ(answer_to(TestAsk("Hello")).result, PACELINE_OK);
  EXPECT_EQ(answer_to(TestAsk("Hello"), other).result, PACELINE_OK);
  EXPECT_EQ(generated, PACELINE_INVALID);
  EXPECT_EQ(closed, PACELINE_INVALID);
  EXPECT_EQ(paceline_close(other), PACELINE_OK);
}

// A callback that has returned holds nobody up any more: the next one of its model waits for whoever had waited for it.
TEST(CThreads, ReleasedAcrossBehindACallbackThatHasReturned) {
  paceline_model* other = open_default_model([](auto& options) { options.draft = "none"; });
  ASSERT_NE(other, nullptr);
  for (int round = 0; round < 12; ++round) {
    auto here = endless(), first = endless(), second = endless();
    paceline_generation *of_here = nullptr, *of_first = nullptr, *of_second = nullptr;
    std::atomic<bool> begins = false, in_here = false, in_first = false, released = false, left_here = false;
    std::atomic<bool> came_early = false;
    here->hear([&](const paceline_event& event) {
      if (!begins || event.kind != PACELINE_EVENT_TEXT || in_here.exchange(true)) return 0;
      while (!in_first) std::this_thread::yield();
      paceline_release(of_first);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      came_early = released.load();
      left_here = true;
      return 0;
    });
    first->hear([&](const paceline_event& event) {
      if (!begins || event.kind != PACELINE_EVENT_TEXT || in_first.exchange(true)) return 0;
      while (!in_here) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return 0;
    });
    second->hear([&](const paceline_event& event) {
      if (!in_first || event.kind != PACELINE_EVENT_TEXT || released) return 0;
      paceline_release(of_here);
      released = true;
      return 0;
    });
    ASSERT_EQ(paceline_submit(shared_model(), &here->request, &of_here, nullptr), PACELINE_OK);
    ASSERT_EQ(paceline_submit(other, &first->request, &of_first, nullptr), PACELINE_OK);
    ASSERT_EQ(paceline_submit(other, &second->request, &of_second, nullptr), PACELINE_OK);
    begins = true;
    while (!released || !left_here) std::this_thread::yield();
    EXPECT_FALSE(came_early) << round;
    paceline_release(of_second);
  }
  EXPECT_EQ(paceline_close(other), PACELINE_OK);
}

// Whoever asks is known as what it is, also where the system gives it the name of a thread that has ended.
TEST(CThreads, EndedGenerationsBesideNewThreads) {
  for (int i = 0; i < 5; ++i) {
    paceline_model* model = open_default_model([](auto& options) { options.draft = "none"; });
    TestAsk ask("Hello");
    ask.request.max_tokens = 3;
    paceline_generation* generation = nullptr;
    ASSERT_EQ(paceline_submit(model, &ask.request, &generation, nullptr), PACELINE_OK);
    ASSERT_EQ(paceline_wait(generation, nullptr), PACELINE_OK);
    ASSERT_EQ(paceline_close(model), PACELINE_OK);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] { EXPECT_EQ(paceline_wait(generation, nullptr), PACELINE_OK); });
    for (std::thread& thread : threads) thread.join();
    paceline_release(generation);
  }
}

// What the header asks of a caller's thread is enough.
TEST(CThreads, ASmallStack) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's frames are larger";
  pthread_attr_t small;
  ASSERT_EQ(pthread_attr_init(&small), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&small, size_t{256} << 10), 0);
  const auto run = [](void*) -> void* {
    paceline_model* model = open_default_model();
    TestAsk ask("Hello");
    ask.request.response_format_json = R"({"type":"json_object"})";
    EXPECT_EQ(answer_to(ask, model).result, PACELINE_OK);
    EXPECT_EQ(paceline_close(model), PACELINE_OK);
    return nullptr;
  };
  // The second time costs are read that the first one has kept.
  for (int i = 0; i < 2; ++i) {
    pthread_t thread{};
    ASSERT_EQ(pthread_create(&thread, &small, run, nullptr), 0);
    ASSERT_EQ(pthread_join(thread, nullptr), 0);
  }
  pthread_attr_destroy(&small);
}

TEST(CThreads, ClosedWhileRequestsRun) {
  paceline_model* model = open_default_model([](auto& options) { options.draft = "none"; });
  ASSERT_NE(model, nullptr);
  std::vector<std::unique_ptr<TestAsk>> asks;
  std::vector<paceline_generation*> generations(4);
  for (auto& generation : generations) {
    asks.push_back(endless());
    ASSERT_EQ(paceline_submit(model, &asks.back()->request, &generation, nullptr), PACELINE_OK);
  }
  std::vector<std::thread> waiting;
  for (auto* generation : generations) {
    waiting.emplace_back([generation] { EXPECT_EQ(paceline_wait(generation, nullptr), PACELINE_CLOSED); });
  }
  EXPECT_EQ(paceline_close(model), PACELINE_OK);
  for (std::thread& thread : waiting) thread.join();
  // What came before can still be read.
  for (auto* generation : generations) {
    TestAnswer answer;
    read_answer(generation, answer);
    EXPECT_EQ(answer.finish, PACELINE_FINISH_CANCELLED);
    paceline_cancel(generation);
    paceline_release(generation);
  }
}

TEST(CThreads, MoreThanMayWait) {
  paceline_model* model = open_default_model([](auto& options) {
    options.draft = "none";
    options.max_running = 1;
    options.queue_length = 1;
  });
  ASSERT_NE(model, nullptr);
  auto ask = endless();
  std::vector<paceline_generation*> taken;
  paceline_result result = PACELINE_OK;
  while (result == PACELINE_OK && taken.size() < 10) {
    paceline_generation* generation = nullptr;
    result = paceline_submit(model, &ask->request, &generation, nullptr);
    if (generation != nullptr) taken.push_back(generation);
  }
  EXPECT_EQ(result, PACELINE_BUSY);
  paceline_load load{};
  load.size = sizeof(load);
  EXPECT_EQ(paceline_model_load(model, &load, nullptr), PACELINE_OK);
  EXPECT_GE(load.running + load.waiting, 1);
  for (auto* generation : taken) paceline_release(generation);
  EXPECT_EQ(paceline_close(model), PACELINE_OK);
}

TEST(CThreads, ProgressAndRemarks) {
  struct Heard {
    int64_t done = 0, total = -1;
    std::string remarks;
  } heard;
  paceline_model* model = open_default_model([&](auto& options) {
    options.user = &heard;
    options.on_progress = [](void* user, int64_t done, int64_t total) {
      auto* to = static_cast<Heard*>(user);
      to->done = done;
      to->total = total;
    };
    options.on_remark = [](void* user, const char* remark) { static_cast<Heard*>(user)->remarks += remark; };
  });
  EXPECT_EQ(heard.done, heard.total);
  EXPECT_GT(heard.total, 0);
  EXPECT_THAT(heard.remarks, HasSubstr("drafter found"));
  EXPECT_EQ(paceline_close(model), PACELINE_OK);
}

}  // namespace
}  // namespace paceline::api
