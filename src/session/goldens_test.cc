// The model against goldens: every case, table, precision and a few chunkings.
#include "session/goldens.h"

#include <gtest/gtest.h>

#include "kernels/cpu_ops.h"

namespace paceline {
namespace {

struct GoldenRun {
  std::string golden;
  const kernels::CpuTable* table;
  Precision precision;
  int32_t chunk_rows;
};

class GoldensTest : public testing::TestWithParam<GoldenRun> {};

TEST_P(GoldensTest, AgreesWithTheReference) {
  const GoldenRun& run = GetParam();
  ThreadPool pool(2);
  kernels::CpuOps ops(*run.table, pool);
  const auto folder = std::filesystem::path(PACELINE_SOURCE_DIR) / "tests/goldens" / run.golden;
  const auto result = check_golden_case(folder, {run.precision, run.chunk_rows}, pool, ops);
  ASSERT_TRUE(result.ok()) << result.error().message;
  std::printf("%s: %d prompts, logits %.2e, layers %.2e, hidden %.2e, choices %ld/%ld, tokens %ld/%ld\n", run.golden.c_str(), result->prompts, result->logit_error,
              result->layer_input_error, result->hidden_error, static_cast<long>(result->choices_equal), static_cast<long>(result->choices), static_cast<long>(result->tokens_equal), static_cast<long>(result->tokens));
  EXPECT_TRUE(result->passed(run.precision)) << "logits " << result->logit_error << " layers " << result->layer_input_error;
}

std::vector<GoldenRun> all_runs() {
  std::vector<GoldenRun> runs;
  for (const kernels::CpuTable* table : kernels::cpu_tables())
    for (const char* golden : {"dense", "moe", "ple", "vlm", "vlm-ple", "unified"})
      for (const Precision precision : {Precision::f32, Precision::bf16})
        for (const int32_t chunk : {kMaxForwardRows, 7}) runs.push_back({golden, table, precision, chunk});
  return runs;
}

INSTANTIATE_TEST_SUITE_P(All, GoldensTest, testing::ValuesIn(all_runs()), [](const auto& run) {
  std::string name = std::string(run.param.table->name) + "_" + run.param.golden + (run.param.precision == Precision::f32 ? "_f32" : "_bf16") +
                     "_by" + std::to_string(run.param.chunk_rows);
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
});

}  // namespace
}  // namespace paceline
