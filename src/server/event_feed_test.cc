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

TEST(EventFeed, TellsWhatIsNamedAlone) {
  Log log(LogLevel::error);
  ModelShelf shelf({}, {}, log);
  EventLog events;
  MetricsHistory history;
  EventFeed all(shelf, events, history, ""), samples(shelf, events, history, "model,sample"),
      requests(shelf, events, history, "request"), nothing(shelf, events, history, "re,samples");
  events.add("request", {{"id", "a"}});
  history.add("vllm:generation_tokens_total 7\n", 1000, 1);
  const std::string told = all.take();
  EXPECT_NE(told.find("event: request\n"), std::string::npos);
  EXPECT_NE(told.find("event: sample\n"), std::string::npos);
  EXPECT_TRUE(samples.take().starts_with("event: sample\ndata: {\"time\":1E3"));
  EXPECT_EQ(requests.take(), "event: request\ndata: {\"id\":\"a\"}\n\n");
  EXPECT_EQ(nothing.take(), "");
  EXPECT_EQ(samples.take(), "") << "each once";
}

}  // namespace
}  // namespace paceline
