#include "server/request_ledger.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <limits>

namespace paceline {
namespace {

TEST(RequestLedger, TellsWhatEndedSince) {
  RequestLedger ledger;
  EXPECT_EQ(ledger.ended_since(0).next, 0);
  for (const char* id : {"a", "b", "c"}) ledger.add({{"id", id}});
  const auto all = ledger.ended_since(0);
  EXPECT_EQ(all.next, 3);
  EXPECT_EQ(boost::json::serialize(all.records), R"([{"id":"c"},{"id":"b"},{"id":"a"}])");
  EXPECT_TRUE(ledger.ended_since(all.next).records.empty());
  ledger.add({{"id", "d"}});
  EXPECT_EQ(boost::json::serialize(ledger.ended_since(all.next).records), R"([{"id":"d"}])");
}

TEST(RequestLedger, OfTooManyTheLast) {
  RequestLedger ledger;
  const auto most = static_cast<int64_t>(RequestLedger::kMost);
  for (int64_t i = 0; i < most + 50; ++i) ledger.add({{"n", i}});
  for (const int64_t since : {int64_t{0}, int64_t{10}, int64_t{-7}, std::numeric_limits<int64_t>::min()}) {
    const auto found = ledger.ended_since(since);
    ASSERT_EQ(found.records.size(), RequestLedger::kMost) << since;
    EXPECT_EQ(found.records.front().at("n").as_int64(), most + 49);
    EXPECT_EQ(found.records.back().at("n").as_int64(), 50);
  }
  // One who counts from before a restart.
  EXPECT_TRUE(ledger.ended_since(std::numeric_limits<int64_t>::max()).records.empty());
}

}  // namespace
}  // namespace paceline
