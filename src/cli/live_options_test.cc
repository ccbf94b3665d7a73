#include "cli/live_options.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <thread>

namespace paceline {
namespace {

class LiveOptionsTest : public testing::Test {
 protected:
  LiveOptionsTest() { add_serve_options(told_, options_); }

  ServeOptions options_;
  CLI::App command_{"serve"};
  const Command told_{command_};
  LiveOptions live_{told_, options_};
};

TEST_F(LiveOptionsTest, NothingChangesWhileSomebodyReads) {
  std::atomic<bool> has_begun = false;
  std::thread changes;
  const auto seen = live_.read([&](const ServeOptions& options) {
    const int32_t before = options.engine.engine.queue_length;
    changes = std::thread([&] {
      has_begun = true;
      ASSERT_TRUE(live_.change("queue-length", "17").ok());
    });
    while (!has_begun) std::this_thread::yield();
    // It would have changed long before that.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return std::pair(before, options.engine.engine.queue_length);
  });
  changes.join();
  EXPECT_EQ(seen.first, seen.second);
  EXPECT_EQ(live_.read([](const ServeOptions& options) { return options.engine.engine.queue_length; }), 17);
}

TEST_F(LiveOptionsTest, ManyChangeAndReadAtOnce) {
  std::atomic<bool> is_over = false;
  std::thread changes([&] {
    for (int i = 1; i <= 200; ++i) ASSERT_TRUE(live_.change("max-choices", std::to_string(i)).ok());
    is_over = true;
  });
  int32_t last = 0;
  while (!is_over) {
    // A copy of all of them, as a look for models takes it.
    const ServeOptions all = live_.read([](const ServeOptions& options) { return options; });
    const int32_t now = all.server.limits.max_choices;
    EXPECT_TRUE(now == RequestLimits().max_choices || now >= last) << now << " behind " << last;
    last = now == RequestLimits().max_choices ? last : now;
  }
  changes.join();
  EXPECT_EQ(options_.server.limits.max_choices, 200);
}

// As everywhere: what a flag takes, a request and the console take.
TEST_F(LiveOptionsTest, ADepthHasOneBound) {
  for (const char* name : {"depth", "default-depth"}) {
    EXPECT_TRUE(live_.change(name, "16").ok()) << name;
    EXPECT_FALSE(live_.change(name, "17").ok()) << name;
  }
}

TEST_F(LiveOptionsTest, AFileThatNoServerWouldStartWithIsSaid) {
  EXPECT_TRUE(LiveOptions::check_file("").ok());
  EXPECT_TRUE(LiveOptions::check_file("port = 1\n[models.a]\npin = true\n").ok());
  for (const auto& [text, where] :
       std::vector<std::pair<const char*, const char*>>{{"port = 1\nport =\n", "line 2: "},
                                                        {"\n\nports = 1\n", "line 3: "},
                                                        {"port = \"x\"", "line 1: "},
                                                        {"[models.a]\npins = 1", "line 2: "}}) {
    const Status read = LiveOptions::check_file(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_TRUE(read.error().message.starts_with(where)) << read.error().message;
  }
}

TEST_F(LiveOptionsTest, WhatIsAskedForWhereARequestDoesNotSay) {
  const RequestDefaults none = request_defaults(options_.defaults);
  EXPECT_FALSE(none.temperature || none.top_p || none.top_k || none.thinks || none.depth);
  ASSERT_TRUE(live_.change("default-temperature", "0.25").ok());
  ASSERT_TRUE(live_.change("default-top-k", "0").ok());
  ASSERT_TRUE(live_.change("default-thinking", "false").ok());
  auto changed = live_.change("default-depth", "3");
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed->limits.defaults.temperature, 0.25F);
  EXPECT_EQ(changed->limits.defaults.top_p, std::nullopt);
  EXPECT_EQ(changed->limits.defaults.top_k, 0);
  EXPECT_EQ(changed->limits.defaults.thinks, false);
  EXPECT_EQ(changed->limits.defaults.depth, 3);
  changed = live_.change("default-temperature", "model");
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed->limits.defaults.temperature, std::nullopt);
  for (const auto& [name, value] : std::vector<std::pair<const char*, const char*>>{{"default-temperature", "2.5"},
                                                                                    {"default-temperature", "warm"},
                                                                                    {"default-temperature", ""},
                                                                                    {"default-temperature", "nan"},
                                                                                    {"default-top-p", "0"},
                                                                                    {"default-top-k", "1.5"},
                                                                                    {"default-top-k", "0x10"},
                                                                                    {"default-top-k", "1e1"},
                                                                                    {"default-thinking", "yes"},
                                                                                    {"default-depth", "17"},
                                                                                    {"default-depth", "model"},
                                                                                    {"port", "80"}}) {
    EXPECT_FALSE(live_.change(name, value).ok()) << name << " " << value;
  }
  EXPECT_EQ(request_defaults(options_.defaults).depth, 3) << "what was refused changes nothing";
}

TEST_F(LiveOptionsTest, WhatIsCheckedChangesNothing) {
  const int32_t before = options_.server.limits.max_choices;
  EXPECT_TRUE(live_.check("max-choices", "3").ok());
  EXPECT_EQ(options_.server.limits.max_choices, before);
  EXPECT_FALSE(live_.check("max-choices", "many").ok());
  EXPECT_EQ(live_.check("nonsense", "1").error().message, "nonsense: unknown setting");
  EXPECT_EQ(live_.check("help", "1").error().message, "help: unknown setting");
  EXPECT_EQ(live_.check("port", "1").error().message, "port: changes at the next start only");
}

TEST_F(LiveOptionsTest, FillWhatARequestLeavesOpen) {
  const RequestDefaults defaults{.temperature = 0.5F, .top_p = 0.9F, .top_k = 7, .thinks = {}, .depth = 2};
  Wishes open;
  defaults.fill(open);
  EXPECT_EQ(open.temperature, 0.5F);
  EXPECT_EQ(open.top_p, 0.9F);
  EXPECT_EQ(open.top_k, 7);
  EXPECT_EQ(open.depth, 2);
  Wishes said{.sampling = {}, .temperature = 1.0F, .top_p = 0.1F, .top_k = 1};
  said.max_depth = 0;
  defaults.fill(said);
  EXPECT_EQ(said.temperature, 1.0F);
  EXPECT_EQ(said.top_p, 0.1F);
  EXPECT_EQ(said.top_k, 1);
  EXPECT_EQ(said.depth, std::nullopt) << "it wants no drafts";
}

TEST_F(LiveOptionsTest, ADepthForAllAndBackToThePolicy) {
  EXPECT_EQ(live_.change("queue-length", "5")->dials.depth, std::nullopt);
  EXPECT_EQ(live_.change("depth", "3")->dials.depth, 3);
  EXPECT_EQ(live_.change("queue-length", "6")->dials.depth, 3) << "it stays";
  for (const char* wrong : {"17", "-1", "2.5", "", "deep"}) EXPECT_FALSE(live_.change("depth", wrong).ok()) << wrong;
  EXPECT_EQ(live_.change("depth", "auto")->dials.depth, std::nullopt);
  EXPECT_EQ(options_.engine.draft.depth, std::nullopt) << "engines that are opened later have a policy";
  options_.engine.draft.depth = 4;  // as at a start with --depth 4
  EXPECT_FALSE(live_.change("depth", "auto").ok());
  EXPECT_FALSE(live_.change("depth", "5").ok());
  EXPECT_EQ(live_.change("depth", "4")->dials.depth, 4);
}

TEST_F(LiveOptionsTest, TimesWithoutRequests) {
  EXPECT_EQ(live_.change("idle-seconds", "9.5")->idle_s, 9.5);
  const auto changed = live_.change("model-idle-seconds", "60");
  EXPECT_EQ(changed->model_idle_s, 60);
  EXPECT_EQ(changed->idle_s, 9.5);
  EXPECT_FALSE(live_.change("idle-seconds", "0").ok());
}

}  // namespace
}  // namespace paceline
