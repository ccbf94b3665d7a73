#include "bench/speculation_bench.h"

#include "bench/shipped_model_for_tests.h"

namespace paceline {
namespace {

class SpeculationBenchTest : public ShippedModelTest {
 protected:
  SpeculationBenchSettings settings(BenchDrafter& who) {
    SpeculationBenchSettings settings;
    settings.depths = {3, std::nullopt};
    settings.rounds = 1;
    settings.drafter = &who;
    settings.costs = who.time_rounds(forward_);
    return settings;
  }
};

// It is told each text before it comes, through engines that others used in between.
TEST_F(SpeculationBenchTest, APerfectDrafterIsAlwaysRight) {
  BenchDrafter perfect = drafter("perfect");
  ASSERT_TRUE(perfect.wants_texts());
  const auto cells = bench_speculation(forward_, pool(), texts_, settings(perfect));
  ASSERT_TRUE(cells.ok()) << cells.error().message;
  ASSERT_EQ(cells->size(), 9u);  // two texts and all together; plain, 3, auto
  for (const SpeculationCell& cell : *cells) {
    EXPECT_GT(cell.tokens, 0);
    EXPECT_GT(cell.tokens_per_s, 0);
    if (cell.depth == 0) {
      EXPECT_EQ(cell.accepted_of_drafted, 0) << cell.text;
    } else if (cell.depth == 3) {
      EXPECT_EQ(cell.accepted_of_drafted, 1) << cell.text;
      EXPECT_GT(cell.tokens_per_verify, 2) << cell.text;
    }
  }
}

TEST_F(SpeculationBenchTest, ATextThatDiffersIsAnError) {
  BenchDrafter ngram = drafter("ngram");
  SpeculationBenchSettings changing = settings(ngram);
  changing.progress = [this](int64_t, int64_t) { texts_[0].requests[0].max_tokens = 5; };
  const auto cells = bench_speculation(forward_, pool(), texts_, changing);
  ASSERT_FALSE(cells.ok());
  EXPECT_NE(cells.error().message.find("prose at depth 3: the text differs"), std::string::npos)
      << cells.error().message;
}

TEST_F(SpeculationBenchTest, WithoutATextThereIsNothingToTime) {
  BenchDrafter ngram = drafter("ngram");
  for (Request& request : texts_[1].requests) request.max_tokens = 1;
  const auto cells = bench_speculation(forward_, pool(), texts_, settings(ngram));
  ASSERT_FALSE(cells.ok());
  EXPECT_NE(cells.error().message.find("code: no text came out"), std::string::npos) << cells.error().message;
}

}  // namespace
}  // namespace paceline
