#include "bench/way.h"

#include <chrono>

#include "bench/shipped_model_for_tests.h"

namespace paceline {
namespace {

using WayTest = ShippedModelTest;

TEST_F(WayTest, TextsAreTheSameDeepAndManyAtOnce) {
  const std::vector<Request>& requests = texts_[0].requests;
  Way plain(forward_, pool(), {});
  const auto expected = plain.write(requests);
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  const BenchDrafter own = drafter("auto");
  Way deep(forward_, pool(), {.drafter = &own.drafter(), .depth = 3});
  const size_t count = 2 * requests.size() + 1;
  const auto begin = std::chrono::steady_clock::now();
  const auto written = deep.write(requests, count, 4);
  const std::chrono::duration<double, std::milli> all = std::chrono::steady_clock::now() - begin;
  ASSERT_TRUE(written.ok()) << written.error().message;
  ASSERT_EQ(written->size(), count);
  for (size_t i = 0; i < count; ++i) {
    const WrittenText& text = (*written)[i];
    EXPECT_EQ(text.tokens, (*expected)[i % requests.size()].tokens) << i;
    EXPECT_EQ(text.counters.emitted, static_cast<int64_t>(text.tokens.size()));
    // Each round has a token of the model's own, and three guesses where there is room for them.
    EXPECT_EQ(text.counters.emitted, text.counters.rounds + text.counters.accepted);
    EXPECT_LE(text.counters.drafted, 3 * text.counters.rounds);
    EXPECT_GE(text.counters.drafted, 3 * (text.counters.rounds - 4));
    EXPECT_LE(text.decode_ms, all.count()) << "no longer than all of them";
  }
  EXPECT_EQ((*expected)[0].counters.drafted, 0);
}

TEST_F(WayTest, ARequestThatMakesNoSenseIsAnError) {
  Way plain(forward_, pool(), {});
  const auto written = plain.write(std::vector<Request>(1));
  ASSERT_FALSE(written.ok());
  EXPECT_NE(written.error().message.find("does not take"), std::string::npos) << written.error().message;
}

}  // namespace
}  // namespace paceline
