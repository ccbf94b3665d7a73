#include "server/event_feed.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(EventLog, TellsWhatCameSince) {
  EventLog log;
  std::string text;
  log.add("request", {{"id", "a"}});
  const int64_t from = log.next_number();
  EXPECT_EQ(log.read_since(from, text), from);
  EXPECT_EQ(text, "");
  log.add("request", {{"id", "b"}});
  log.add("request", {{"id", "c"}});
  EXPECT_EQ(log.read_since(from, text), from + 2);
  EXPECT_EQ(text, "event: request\ndata: {\"id\":\"b\"}\n\nevent: request\ndata: {\"id\":\"c\"}\n\n");
}

TEST(EventLog, OfTooManyTheLast) {
  EventLog log;
  for (int i = 0; i < 5000; ++i) log.add("e", {{"n", i}});
  std::string text;
  EXPECT_EQ(log.read_since(0, text), 5000);
  EXPECT_TRUE(text.starts_with("event: e\ndata: {\"n\":904}\n\n")) << text.substr(0, 60);
  EXPECT_TRUE(text.ends_with("{\"n\":4999}\n\n"));
}

}  // namespace
}  // namespace paceline
