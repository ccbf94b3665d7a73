// Who waits for whom, among those that prepare requests.
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <future>
#include <latch>

#include "base/sanitized.h"
#include "media/decode.h"
#include "media/encoders_for_tests.h"
#include "server/byte_budget.h"
#include "server/request_lanes.h"
#include "server/server_for_tests.h"

namespace paceline {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

template <class Job>
std::future<int> started(WorkLane& lane, asio::io_context& io, Job job) {
  return asio::co_spawn(io, lane.run(std::move(job)), asio::use_future);
}

// However many large ones there are, and however long they take.
TEST(RequestLanesTest, SmallOnesNeverWaitForLargeOnes) {
  asio::io_context io;
  RequestLanes lanes(1, 0);  // gone before what its threads answer to
  const auto work = asio::make_work_guard(io);
  std::thread thread([&] { io.run(); });
  std::latch end(1);
  std::vector<std::future<int>> large;
  for (const size_t weight : {size_t{100'000}, size_t{10'000'000}}) {
    for (int i = 0; i < 4; ++i) {
      large.push_back(started(lanes.lane_for(weight), io, [&] {
        end.wait();
        return 1;
      }));
    }
  }
  auto small = started(lanes.lane_for(2000), io, [] { return 2; });
  EXPECT_EQ(small.wait_for(20s), std::future_status::ready);
  EXPECT_TRUE(TestServer::soon([&] {
    const auto states = lanes.states();
    return states[1].running + states[2].running == 2 && std::min(states[1].still_s, states[2].still_s) > 0.04;
  }));
  const auto states = lanes.states();
  EXPECT_EQ(states[0].still_s, 0);
  for (const size_t lane : {1, 2}) {
    EXPECT_EQ(states[lane].running, 1);
    EXPECT_EQ(states[lane].waiting, 3);
    EXPECT_GT(states[lane].still_s, 0.04);
  }
  end.count_down();
  for (auto& job : large) EXPECT_EQ(job.get(), 1);
  io.stop();
  thread.join();
}

// Jobs that never began are let go of, and their callers with them.
TEST(RequestLanesTest, WhatWaitsIsNotWaitedForAtTheEnd) {
  asio::io_context io;
  std::latch begun(1), end(1);
  auto held = std::make_shared<int>(0);
  int ran = 0;
  {
    WorkLane lane("test", 1, 0);
    for (int i = 0; i < 3; ++i) {
      asio::co_spawn(
          io,
          [&, held]() -> asio::awaitable<void> {
            co_await lane.run([&] {
              if (ran++ == 0) begun.count_down();
              end.wait();
              return 0;
            });
          },
          asio::detached);
    }
    io.poll();
    begun.wait();
    std::thread([&] { end.count_down(); }).join();
    lane.stop();
  }
  EXPECT_GE(ran, 1);
  io.restart();
  io.poll();
  EXPECT_EQ(held.use_count(), 1);
}

TEST(ByteBudgetTest, WhoFindsNoneWaitsInTurn) {
  asio::io_context io;
  ByteBudget budget(100);
  std::vector<int> order;
  std::vector<std::unique_ptr<ByteBudget::Hold>> holds;
  const auto take = [&](int who, size_t bytes) {
    asio::co_spawn(
        io,
        [&, who, bytes]() -> asio::awaitable<void> {
          holds.push_back(std::make_unique<ByteBudget::Hold>(co_await budget.take(bytes)));
          order.push_back(who);
        },
        asio::detached);
    io.restart();
    io.poll();
  };
  take(1, 60);
  take(2, 60);
  take(3, 10);  // there would be room, but it is not its turn
  EXPECT_EQ(order, std::vector<int>{1});
  holds.erase(holds.begin());
  io.restart();
  io.poll();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(budget.free_bytes(), 30u);
  holds.clear();
  EXPECT_EQ(budget.free_bytes(), 100u);
}

std::string base64(const Bytes& bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) bits = bits << 8 | (i + k < bytes.size() ? bytes[i + k] : 0);
    const size_t letters = std::min<size_t>(3, bytes.size() - i) + 1;
    for (size_t k = 0; k < letters; ++k) text += kLetters[bits >> (18 - 6 * k) & 63];
  }
  return text;
}

// A picture of one colour, small as a file.
std::string picture_body(int32_t side, int count) {
  const auto pixels = static_cast<size_t>(side) * static_cast<size_t>(side);
  const std::string url = "data:image/png;base64," + base64(encode_png({.colour = PNG_COLOR_TYPE_GRAY, .depth = 8},
                                                                       side, side, Bytes(pixels, 200)));
  std::string parts;
  for (int i = 0; i < count; ++i) parts += R"({"type":"image_url","image_url":{"url":")" + url + "\"}},";
  return R"({"messages":[{"role":"user","content":[)" + parts + R"({"type":"text","text":"What?"}]}],"max_tokens":1,)" +
         R"("mm_processor_kwargs":{"max_soft_tokens":70}})";
}

// Whether a chat and a small picture are answered while so many large ones are still being decoded.
bool answered_beside_large_pictures(TestServer& server, int count) {
  TestClient large = server.client();
  large.send_post("/v1/chat/completions", picture_body(6000, count));
  const auto decoding = [&] {
    return server.client()
               .get("/metrics")
               .body.find("preparing_running{model_name=\"default\",lane=\"large pictures\"} 1") != std::string::npos;
  };
  EXPECT_TRUE(TestServer::soon(decoding));
  EXPECT_EQ(server.chat(R"("max_tokens":2)").status, 200);
  EXPECT_EQ(server.client().post("/v1/chat/completions", picture_body(64, 1)).status, 200);
  const bool were_first = !large.read_some(0);
  const TestAnswer answer = large.read_answer();
  EXPECT_EQ(answer.status, 200) << answer.body;
  return were_first;
}

// However fast a machine decodes: of more of them it is not done so soon. Who waited for them would never be first.
TEST(MediaDecodingTest, NeitherTextNorSmallPicturesWaitForLargeOnes) {
  ServerSettings settings;
  settings.limits.max_images = 64;
  TestServer server(settings);
  int count = kSanitized ? 1 : 4;
  while (!answered_beside_large_pictures(server, count)) {
    ASSERT_LT(count, settings.limits.max_images);
    count *= 4;
  }
}

// Nor does anybody wait for pictures whose client has gone; nor the server's end.
TEST(MediaDecodingTest, WhatNobodyWantsIsNotDecoded) {
  ServerSettings settings;
  // An eighth of them takes a sanitized build as long, and reading the requests less.
  settings.limits.max_images = kSanitized ? 8 : 64;
  TestServer server(settings);
  const auto decodes = [&] {
    return server.client()
               .get("/metrics")
               .body.find("preparing_running{model_name=\"default\",lane=\"large pictures\"} 1") != std::string::npos;
  };
  // A picture takes a third of a second of a fast machine's time, one after the other. There are 1024: six minutes
  // where that is the time it takes, and more elsewhere, which is more than a test is given. None of it, however slow,
  // is none of it.
  const std::string body = picture_body(8000, settings.limits.max_images);
  const auto ask = [&] {
    std::vector<TestClient> clients;
    for (int i = 0; i < 16; ++i) {
      clients.push_back(server.client());
      clients.back().send_post("/v1/chat/completions", body);
    }
    EXPECT_TRUE(TestServer::soon(decodes));
    return clients;
  };
  ask().clear();
  EXPECT_TRUE(TestServer::soon([&] { return !decodes(); }));
  const auto still_there = ask();
  server.stop();
  for (const TestClient& client : still_there) EXPECT_FALSE(client.buffered().starts_with("HTTP/1.1 200"));
}

TEST(MediaDecodingTest, MoreMemoryThanThereIsIsRefusedByName) {
  ServerSettings settings;
  settings.decode_bytes = size_t{50} << 20;
  TestServer server(settings);
  const TestAnswer answer = server.client().post("/v1/chat/completions", picture_body(3000, 1));
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(answer.error_field("message").find("--decode-bytes"), std::string::npos);
  EXPECT_NE(answer.error_field("message").find("90000000"), std::string::npos) << answer.body;
  EXPECT_EQ(server.client().post("/v1/chat/completions", picture_body(1000, 2)).status, 200);
}

// What pictures have become is counted from before they are decoded until the engine counts it.
TEST(MediaDecodingTest, WhatIsDecodedIsBounded) {
  ServerSettings settings;
  settings.decode_bytes = size_t{1} << 20;
  TestServer server(settings);
  // 70 soft tokens of 48 × 48 pixels each: two have room, three would never have.
  const TestAnswer answer = server.client().post("/v1/chat/completions", picture_body(64, 3));
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(answer.error_field("message").find("1451520 bytes; this server has 1048576"), std::string::npos)
      << answer.body;
  std::vector<TestClient> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(server.client());
    clients.back().send_post("/v1/chat/completions", picture_body(64, 2));
  }
  for (TestClient& client : clients) EXPECT_EQ(client.read_answer().status, 200);
}

TEST(ByteBudgetTest, AHoldGrowsAsFarAsThereIsRoom) {
  ByteBudget budget(100);
  {
    ByteBudget::Hold hold(budget, 0);
    EXPECT_TRUE(hold.try_grow(60));
    EXPECT_FALSE(hold.try_grow(50));
    EXPECT_TRUE(hold.try_grow(40));
    EXPECT_EQ(budget.free_bytes(), 0u);
  }
  EXPECT_EQ(budget.free_bytes(), 100u);
}

// A short request that is a lot of work, and a long one: neither stands before a chat.
bool answered_beside_long_texts(TestServer& server, int count) {
  std::vector<TestClient> large;
  const std::string text(size_t{kSanitized ? 1 : 4} << 20, 'x');
  for (int i = 0; i < count; ++i) {
    large.push_back(server.client());
    large.back().send_post("/tokenize", R"({"prompt":")" + text + "\"}");
  }
  EXPECT_TRUE(TestServer::soon(
      [&] { return server.client().get("/health").json().at("lanes").at(2).at("waiting").as_int64() > 0; }));
  EXPECT_EQ(server.chat(R"("max_tokens":2)").status, 200);
  int answered = 0;
  for (TestClient& client : large) answered += client.read_some(0) ? 1 : 0;
  for (TestClient& client : large) EXPECT_EQ(client.read_answer().status, 200);
  return answered < count;
}

TEST(ServerLanesTest, ASmallChatIsAnsweredBesideLargeOnes) {
  TestServer server;
  int count = 4;
  while (!answered_beside_long_texts(server, count)) {
    ASSERT_LT(count, 64);
    count *= 4;
  }
}

TEST(ServerLanesTest, LongRequestsWaitWithinABoundOfMemory) {
  ServerSettings settings;
  settings.waiting_bytes = 100'000;
  TestServer server(settings);
  const auto ask = [&](size_t bytes) {
    return server.client().post("/tokenize", R"({"prompt":")" + std::string(bytes, 'x') + "\"}");
  };
  const TestAnswer refused = ask(100'000);
  EXPECT_EQ(refused.status, 429);
  EXPECT_NE(refused.head.find("Retry-After"), std::string::npos);
  // What has been answered holds nothing.
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(90'000).status, 200);
  EXPECT_EQ(ask(1000).status, 200);
}

TEST(ServerLanesTest, MessagesAreCounted) {
  ServerSettings settings;
  settings.limits.max_messages = 3;
  TestServer server(settings);
  const auto ask = [&](int count, const char* path) {
    std::string messages;
    for (int i = 0; i < count; ++i)
      messages += std::string(i > 0 ? "," : "") +
                  (i % 2 == 0 ? R"({"role":"user","content":"a"})" : R"({"role":"assistant","content":"b"})");
    return server.client().post(
        path, R"({"messages":[)" + messages + "]" + (std::string(path) == "/tokenize" ? "}" : R"(,"max_tokens":1})"));
  };
  for (const char* path : {"/v1/chat/completions", "/tokenize"}) {
    EXPECT_EQ(ask(3, path).status, 200);
    const TestAnswer refused = ask(4, path);
    EXPECT_EQ(refused.status, 400);
    EXPECT_EQ(refused.error_field("message"), "4 messages; this server takes at most 3 (its option --max-messages)");
  }
}

TEST(ServerLanesTest, RenderingIsTimed) {
  ServerSettings settings;
  settings.limits.render_s = 1e-6;
  TestServer server(settings);
  std::string messages;
  for (int i = 0; i < 3000; ++i) {
    messages += std::string(i > 0 ? "," : "") +
                (i % 2 == 0 ? R"({"role":"user","content":"a"})" : R"({"role":"assistant","content":"b"})");
  }
  for (const char* path : {"/v1/chat/completions", "/tokenize"}) {
    const TestAnswer answer = server.client().post(path, R"({"messages":[)" + messages + "]}");
    EXPECT_EQ(answer.status, 400);
    EXPECT_NE(answer.error_field("message").find("--render-seconds"), std::string::npos) << answer.body;
  }
}

}  // namespace
}  // namespace paceline
