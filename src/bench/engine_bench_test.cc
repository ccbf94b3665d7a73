#include "bench/engine_bench.h"

#include "bench/shipped_model_for_tests.h"

namespace paceline {
namespace {

class EngineBenchTest : public ShippedModelTest {
 protected:
  EngineBenchTest() : own_(drafter("auto")) {
    settings_.at_once = {1, 3};
    settings_.rounds = 2;
    settings_.drafter = &own_.drafter();
    settings_.costs = own_.time_rounds(forward_);
  }

  BenchDrafter own_;
  EngineBenchSettings settings_;
};

TEST_F(EngineBenchTest, MeasuresEachLoadInEachRound) {
  std::vector<int64_t> done;
  settings_.progress = [&](int64_t turn, int64_t total) {
    EXPECT_EQ(total, 4);
    done.push_back(turn);
  };
  const auto cells = bench_engine(forward_, pool(), texts_, settings_);
  ASSERT_TRUE(cells.ok()) << cells.error().message;
  EXPECT_EQ(done, (std::vector<int64_t>{1, 2, 3, 4}));
  ASSERT_EQ(cells->size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const EngineCell& cell = (*cells)[i];
    EXPECT_EQ(cell.at_once, settings_.at_once[i]);
    EXPECT_GT(cell.plain_tok_s, 0);
    EXPECT_GT(cell.auto_tok_s, 0);
    EXPECT_EQ(cell.ratios.size(), 2u);
    EXPECT_GE(cell.tokens_per_verify, 1);
  }
}

}  // namespace
}  // namespace paceline
