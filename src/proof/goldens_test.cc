// The model against goldens: every case, every table, precision and a few chunkings. Cases too large for the project
// are looked for in the folder that PACELINE_SHARED names, or beside the project.
#include "proof/goldens.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>

#include "kernels/cpu_ops.h"
#include "proof/long_form_for_tests.h"

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

std::filesystem::path folder_of(const std::string& golden) {
  const std::filesystem::path source(PACELINE_SOURCE_DIR);
  if (std::filesystem::exists(source / "tests/goldens" / golden / "golden.json")) {
    return source / "tests/goldens" / golden;
  }
  const char* shared = std::getenv("PACELINE_SHARED");
  return (shared != nullptr ? std::filesystem::path(shared) : source / "../shared") / "goldens" / golden;
}

class GoldensTest : public testing::TestWithParam<GoldenRun> {};

TEST_P(GoldensTest, AgreesWithTheReference) {
  const GoldenRun& run = GetParam();
  ThreadPool pool(2);
  kernels::CpuOps ops(*run.table, pool);
  const auto folder = folder_of(run.golden);
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << folder.string() << " is not there; PACELINE_SHARED names the folder that holds goldens/";
  }
  const auto result = check_golden_case(folder, {run.precision, run.chunk_rows}, pool, ops);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->ran());
  EXPECT_EQ(result->drafts.proposals > 0, std::filesystem::exists(folder / "drafts.json"));
  const bool has_blocks =
      std::filesystem::exists(folder / "dflash.json") || std::filesystem::exists(folder / "dflash2.json");
  EXPECT_EQ(result->dflash.drafts.proposals > 0, has_blocks);
  fmt::print("{}: {} of {} blocks equal, states within {:.1e}\n", name_of(run), result->dflash.drafts.proposals_equal,
             result->dflash.drafts.proposals, result->dflash.block_error);
  fmt::print("{}: {} of {} proposals equal, {} of {} drafts\n", name_of(run), result->drafts.proposals_equal,
             result->drafts.proposals, result->drafts.tokens_equal, result->drafts.tokens);
  if (run.precision == Precision::f32) {
    EXPECT_EQ(result->images_equal, result->images);
    EXPECT_LE(result->vision.feature_error, kF32Tolerance);
  }
  EXPECT_EQ(result->vision.patches_equal, result->vision.images);
  EXPECT_TRUE(result->passed(run.precision)) << fmt::format(
      "logits {:.2e}, layers {:.2e}, hidden {:.2e}, states {:.2e}, with images {:.2e}, choices {} of {}, tokens {} of "
      "{}, proposals {} of {}, blocks {} of {} within {:.2e}",
      result->logit_error, result->layer_input_error, result->hidden_error, result->state_error,
      result->image_logit_error, result->choices_equal, result->choices, result->tokens_equal, result->tokens,
      result->drafts.proposals_equal, result->drafts.proposals, result->dflash.drafts.proposals_equal,
      result->dflash.drafts.proposals, result->dflash.block_error);
}

// Where V is the raw K projection, keys and values are joined unless told otherwise: both are the reference's.
TEST(GoldensApart, AgreeWithTheReference) {
  KvFormats apart = DType::f32;
  apart.joined = false;
  ThreadPool pool(2);
  kernels::CpuOps ops(*kernels::cpu_tables().front(), pool);
  for (const char* golden : {"dense", "moe", "unified"}) {
    const auto folder = folder_of(golden);
    if (!std::filesystem::exists(folder)) continue;
    const auto result = check_golden_case(folder, {Precision::f32, kMaxForwardRows, apart}, pool, ops);
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_TRUE(result->passed(Precision::f32)) << golden << ": logits " << result->logit_error;
  }
}

// Everything where there is time. Else: chunks of a prompt do not change a bit (ForwardBitsTest, by table), so a
// precision has one size of them; the processor's own table has both precisions, the others have the one that differs
// from it most, and the portable one, which is slow, some models.
bool belongs_to_the_slice(const GoldenRun& run) {
  const bool is_f32 = run.precision == Precision::f32;
  if ((run.chunk_rows == 7) == is_f32) return false;
  if (run.table == kernels::cpu_tables().front()) return true;
  if (run.table != kernels::cpu_tables().back()) return !is_f32;
  return is_f32 && (run.golden == "dense" || run.golden == "ple" || run.golden == "qwen3-moe");
}

std::vector<GoldenRun> all_runs() {
  std::vector<GoldenRun> runs;
  for (const kernels::CpuTable* table : kernels::cpu_tables())
    for (const char* golden :
         {"dense", "moe", "ple", "vlm", "vlm-ple", "unified", "qwen3", "qwen3-moe", "qwen35", "qwen35-moe"})
      for (const Precision precision : {Precision::f32, Precision::bf16})
        for (const int32_t chunk : {kMaxForwardRows, 7})
          if (const GoldenRun run{golden, table, precision, chunk}; long_form() || belongs_to_the_slice(run))
            runs.push_back(run);
  return runs;
}

INSTANTIATE_TEST_SUITE_P(All, GoldensTest, testing::ValuesIn(all_runs()),
                         [](const auto& run) { return name_of(run.param); });

}  // namespace
}  // namespace paceline
