// The model against goldens: every case with text prompts, every table, precision and a few chunkings.
#include "session/goldens.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "kernels/cpu_ops.h"

namespace paceline {
namespace {

struct GoldenRun {
  std::string golden;
  const kernels::CpuTable* table;
  Precision precision;
  int32_t chunk_rows;
};

std::string name_of(const GoldenRun& run) {
  std::string name = fmt::format("{}_{}_{}_by{}", run.table->name, run.golden,
                                 run.precision == Precision::f32 ? "f32" : "bf16", run.chunk_rows);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// What gtest shows of a parameter; without it, its bytes.
// NOLINTNEXTLINE(readability-identifier-naming)
void PrintTo(const GoldenRun& run, std::ostream* out) { *out << name_of(run); }

class GoldensTest : public testing::TestWithParam<GoldenRun> {};

TEST_P(GoldensTest, AgreesWithTheReference) {
  const GoldenRun& run = GetParam();
  ThreadPool pool(2);
  kernels::CpuOps ops(*run.table, pool);
  const auto folder = std::filesystem::path(PACELINE_SOURCE_DIR) / "tests/goldens" / run.golden;
  const auto result = check_golden_case(folder, {run.precision, run.chunk_rows}, pool, ops);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_GT(result->prompts, 0);
  EXPECT_TRUE(result->passed(run.precision))
      << fmt::format("logits {:.2e}, layers {:.2e}, hidden {:.2e}, choices {} of {}, tokens {} of {}",
                     result->logit_error, result->layer_input_error, result->hidden_error, result->choices_equal,
                     result->choices, result->tokens_equal, result->tokens);
}

std::vector<GoldenRun> all_runs() {
  std::vector<GoldenRun> runs;
  for (const kernels::CpuTable* table : kernels::cpu_tables()) {
    for (const char* golden : {"dense", "moe", "ple"}) {
      for (const Precision precision : {Precision::f32, Precision::bf16}) {
        for (const int32_t chunk : {kMaxForwardRows, 7}) runs.push_back({golden, table, precision, chunk});
      }
    }
  }
  return runs;
}

INSTANTIATE_TEST_SUITE_P(All, GoldensTest, testing::ValuesIn(all_runs()),
                         [](const auto& run) { return name_of(run.param); });

}  // namespace
}  // namespace paceline
