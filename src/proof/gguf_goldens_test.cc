// GGUF files against goldens: those in the project, and all of them where PACELINE_SHARED names the folder that holds
// goldens-gguf/, or it stands beside the project.
#include "proof/gguf_goldens.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "kernels/cpu_ops.h"
#include "model/gemma4/synthetic.h"
#include "model/gemma4/tiny_config.h"
#include "proof/golden_engine_for_tests.h"
#include "proof/identity.h"
#include "proof/long_form_for_tests.h"

namespace paceline {
namespace {

std::string problems_of(const GgufCheck& check, Precision precision) {
  std::string text;
  for (const GgufFileCheck& file : check.files)
    if (!file.passed(precision))
      text += fmt::format("{}: tensors {} of {}, logits {:.1e}, tokens {} of {}, drafts {} of {}, vision {} of {} {}\n",
                          file.name, file.tensors_equal, file.tensors, file.logit_error, file.tokens_equal, file.tokens,
                          file.drafts.proposals_equal, file.drafts.proposals, file.vision_tensors_equal,
                          file.vision_tensors, file.problem);
  for (const std::string& problem : check.hostile_problems) text += problem + "\n";
  return text;
}

class GgufGoldensTest : public testing::TestWithParam<const kernels::CpuTable*> {
 protected:
  GgufGoldensTest() : pool_(2), ops_(*GetParam(), pool_) {}

  void expect_agreement(const std::filesystem::path& folder, Precision precision) {
    const auto check = check_gguf_goldens(folder, precision, pool_, ops_);
    ASSERT_TRUE(check.ok()) << check.error().message;
    EXPECT_FALSE(check->files.empty());
    EXPECT_TRUE(check->passed(precision)) << problems_of(*check, precision);
  }

  ThreadPool pool_;
  kernels::CpuOps ops_;
};

TEST_P(GgufGoldensTest, TheProjectsAgree) {
  const auto folder = std::filesystem::path(PACELINE_SOURCE_DIR) / "tests/goldens/gguf";
  GgufCheck blocks;
  ASSERT_TRUE(check_gguf_blocks(folder / "blocks.safetensors", &blocks).ok());
  EXPECT_EQ(blocks.block_types, 14);
  EXPECT_EQ(blocks.block_types_equal, 14);
  expect_agreement(folder, Precision::f32);
}

TEST_P(GgufGoldensTest, AllAgree) {
  const char* shared = std::getenv("PACELINE_SHARED");
  const auto folder =
      (shared != nullptr ? std::filesystem::path(shared) : std::filesystem::path(PACELINE_SOURCE_DIR) / "../shared") /
      "goldens-gguf";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "PACELINE_SHARED names the folder that holds goldens-gguf/";
  const bool is_best = GetParam() == kernels::cpu_tables().front();
  if (!is_best && !long_form()) GTEST_SKIP() << "a long test of the other tables";
  for (const Precision precision : {Precision::f32, Precision::bf16}) expect_agreement(folder, precision);
}

std::string table_name(const testing::TestParamInfo<const kernels::CpuTable*>& table) {
  std::string name = table.param->name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Tables, GgufGoldensTest, testing::ValuesIn(kernels::cpu_tables()), table_name);

// Wide enough for rows of 256; every kind of layer.
Gemma4Config wide_config(const char* kind) {
  Gemma4Config config;
  config.model_type = "gemma4_text";
  config.hidden = 256;
  config.heads = 4;
  config.vocab = 384;
  config.window = 24;
  config.context = 4096;
  config.softcap = 30;
  config.rope_sliding = {10000.0, 1.0};
  config.rope_global = {1000000.0, 0.25};
  add_layers({3, 3, 64, 128, 2, 1, 256, 0, true}, config);
  if (std::string_view(kind) == "moe") {
    config.experts = 4;
    config.experts_per_token = 2;
    config.expert_ffn = 256;
  }
  return config;
}

// Weights in every type of block, by chance: whoever drafts and however deep, the text is the plain run's.
class BlocksIdentityTest : public testing::TestWithParam<int> {};

TEST_P(BlocksIdentityTest, DraftsChangeNothing) {
  const auto format = static_cast<WeightFormat>(GetParam());
  ThreadPool pool(2);
  std::vector<const kernels::CpuTable*> tables{kernels::cpu_tables().front()};
  if (long_form()) tables = kernels::cpu_tables();
  for (const kernels::CpuTable* table : tables)
    for (const char* kind : {"dense", "moe"}) {
      SCOPED_TRACE(testing::Message() << table->name << " " << kind);
      kernels::CpuOps ops(*table, pool);
      const auto weights = make_synthetic(wide_config(kind), {format}, pool);
      const auto forward = weights->placed_for(ops)->make_forward(ops, Precision::bf16);
      IdentityPlan plan;
      plan.text = text_of(100);
      plan.prompt_tokens = {1, 70};
      plan.seeds = {7};
      plan.depths = {1, 3, 8, 15};
      plan.max_tokens = 16;
      plan.stride = long_form() ? 3 : 31;
      const IdentityResult result = check_identity(*forward, {}, plan);
      int64_t compared = 0;
      for (const IdentityCount& count : result.kinds) {
        EXPECT_EQ(count.runs_equal, count.runs) << drafter_kind_name(count.kind);
        compared += count.tokens;
      }
      EXPECT_GT(compared, 0);
    }
}

INSTANTIATE_TEST_SUITE_P(Formats, BlocksIdentityTest,
                         testing::Range(static_cast<int>(WeightFormat::q8_0),
                                        static_cast<int>(WeightFormat::iq4_xs) + 1),
                         [](const auto& run) {
                           return std::string(weight_format_name(static_cast<WeightFormat>(run.param)));
                         });

}  // namespace
}  // namespace paceline
