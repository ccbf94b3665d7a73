#include "server/routing_log.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <vector>

#include "weights/scratch_folder.h"

namespace paceline {
namespace {

class RoutingLogTest : public testing::Test {
 protected:
  [[nodiscard]] std::vector<boost::json::object> lines(const char* name = "log") const {
    std::vector<boost::json::object> all;
    std::ifstream file(scratch_.path() / name);
    for (std::string line; std::getline(file, line);) all.push_back(boost::json::parse(line).as_object());
    return all;
  }

  RoutingLogSettings settings() {
    RoutingLogSettings settings;
    settings.file = (scratch_.path() / "log").string();
    return settings;
  }

  static StepReport report(std::initializer_list<DepthDecision> decisions) {
    StepReport report;
    report.step = 7;
    report.decisions = decisions;
    return report;
  }

  static DepthDecision decision(uint64_t request, int32_t depth, DepthReason reason) {
    DepthDecision made;
    made.request = request;
    made.depth = depth;
    made.reason = reason;
    if (depth > 0) made.by = DraftedBy::dflash;
    return made;
  }

  ScratchFolder scratch_;
};

TEST_F(RoutingLogTest, SaysWhatChangedAndNothingTwice) {
  struct Next : StepObserver {
    void observe(const StepReport&) override { ++steps; }
    int steps = 0;
  } next;
  auto log = RoutingLog::open(settings());
  ASSERT_TRUE(log.ok());
  const auto observer = (*log)->of("m", &next);
  auto deep = decision(1, 5, DepthReason::policy), parked = decision(2, 0, DepthReason::parked);
  parked.resting.set(static_cast<size_t>(DraftedBy::dflash));
  observer->observe(report({deep, parked}));
  observer->observe(report({deep, parked}));
  observer->observe(report({deep, decision(2, 1, DepthReason::probe)}));
  EXPECT_EQ(next.steps, 3);
  const auto all = lines();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].at("drafter"), "dflash");
  EXPECT_EQ(all[0].at("depth"), 5);
  EXPECT_EQ(all[0].at("reason"), "policy");
  EXPECT_TRUE(all[0].at("resting").as_array().empty());
  EXPECT_TRUE(all[1].at("drafter").is_null());
  EXPECT_EQ(all[1].at("resting"), boost::json::array{"dflash"});
  EXPECT_EQ(all[2].at("request"), 2);
  EXPECT_EQ(all[2].at("reason"), "probe");
}

TEST_F(RoutingLogTest, NamesTheRequest) {
  auto log = RoutingLog::open(settings());
  ASSERT_TRUE(log.ok());
  const auto observer = (*log)->of("m", nullptr);
  auto first = decision(1, 5, DepthReason::policy), second = decision(2, 5, DepthReason::policy);
  first.label = (*log)->label_of("chatcmpl-a");
  second.label = (*log)->label_of("msg_b");
  observer->observe(report({second, first, decision(3, 1, DepthReason::policy)}));
  // Who was named long ago has no name any more, and nobody else's.
  for (int i = 0; i < 8191; ++i) (void)(*log)->label_of("other");
  first.depth = second.depth = 2;
  observer->observe(report({first, second}));
  const auto all = lines();
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].at("id"), "msg_b");
  EXPECT_EQ(all[1].at("id"), "chatcmpl-a");
  EXPECT_TRUE(all[2].at("id").is_null());
  EXPECT_TRUE(all[3].at("id").is_null());
  EXPECT_EQ(all[4].at("id"), "msg_b");
}

TEST_F(RoutingLogTest, EveryStepWhereAskedForAndNoLargerThanTold) {
  RoutingLogSettings every = settings();
  every.every_step = true;
  every.most_bytes = 2000;
  auto log = RoutingLog::open(every);
  ASSERT_TRUE(log.ok());
  const auto observer = (*log)->of("m", nullptr);
  for (int i = 0; i < 20; ++i) observer->observe(report({decision(1, 5, DepthReason::policy)}));
  const size_t before = lines("log.1").size(), now = lines().size();
  EXPECT_GT(before, 2u);
  EXPECT_GT(now + before, 2u);
  EXPECT_LE(std::filesystem::file_size(scratch_.path() / "log.1"), 2500u);
}

TEST_F(RoutingLogTest, AFileThatCannotBeWrittenIsAnError) {
  RoutingLogSettings wrong;
  wrong.file = (scratch_.path() / "no" / "log").string();
  EXPECT_FALSE(RoutingLog::open(wrong).ok());
}

}  // namespace
}  // namespace paceline
