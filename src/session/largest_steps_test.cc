#include "session/largest_steps.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "engine/engine.h"
#include "kernels/cpu_ops.h"
#include "model/gemma4/gemma4_forward.h"
#include "model/gemma4/mtp_binding.h"
#include "model/load.h"
#include "speculate/dflash/dflash_drafter.h"
#include "speculate/mtp/mtp_drafter.h"

namespace paceline {
namespace {

class CountingOps : public kernels::CpuOps {
 public:
  using CpuOps::CpuOps;
  std::shared_ptr<void> memory(size_t bytes) override {
    taken += bytes;
    return CpuOps::memory(bytes);
  }
  size_t taken = 0;
};

class Silent : public Listener {
 public:
  Heard hear(const Event& event) override { return {event.tokens.size(), false}; }
};

class LargestStepsTest : public testing::Test {
 protected:
  LargestStepsTest() {
    settings_.batch_rows = 64;
    settings_.chunk_rows = 64;
  }

  // Once the largest steps have run, others take no more than what belongs to a sequence.
  void expect_nothing_grows(Drafter& drafter) {
    ASSERT_TRUE(run_largest_steps({&forward_, &drafter, nullptr}, settings_).ok());
    ASSERT_GT(ops_.taken, 0u);
    ops_.taken = 0;
    StepCosts costs;
    Engine engine({&forward_, &pool_, &drafter, &costs, nullptr}, settings_);
    constexpr int32_t kRequests = 20;
    for (int32_t i = 0; i < kRequests; ++i) {
      Request request;
      request.prompt.assign(static_cast<size_t>(30 + 40 * i), 5 + i);
      request.max_tokens = 12;
      request.context = model_.config.context;
      ASSERT_EQ(engine.submit(request, std::make_shared<Silent>()).refusal, Refusal::none);
    }
    while (engine.step()) {
    }
    EXPECT_EQ(ops_.taken, kRequests * static_cast<size_t>(model_.config.hidden) * sizeof(float));
  }

  std::filesystem::path folder_ = std::filesystem::path(PACELINE_SOURCE_DIR) / "tests/goldens/dense";
  ThreadPool pool_{1};
  CountingOps ops_{**kernels::find_cpu_table(""), pool_};
  LoadedModel model_ = *load_model(folder_ / "target", pool_);
  Gemma4Forward forward_{as_gemma4(model_.weights), ops_, Precision::bf16};
  EngineSettings settings_;
};

TEST_F(LargestStepsTest, NothingGrowsBehindThem) {
  MtpDrafter drafter(std::make_unique<MtpForward>(load_mtp(folder_ / "assistant", pool_).value(),
                                                  as_gemma4(forward_.weights()), ops_, forward_.precision()));
  settings_.fixed_depth = 3;
  expect_nothing_grows(drafter);
}

// Rows that wait lie in the sequence's units.
TEST_F(LargestStepsTest, NothingGrowsBehindThemWithBlocks) {
  DflashDrafter drafter(
      std::make_unique<DflashForward>(load_dflash(folder_ / "dflash", *forward_.weights(), pool_).value(), forward_));
  settings_.fixed_depth = 7;
  expect_nothing_grows(drafter);
}

TEST(LargestSteps, WhatIsLeftBesideIsLittleOfALargeDevice) {
  ModelConfig config;
  config.vocab = 262144;
  config.hidden = 5376;
  const EngineSettings settings;
  EXPECT_LT(bytes_beside_steps(config, settings, size_t{100} << 30), size_t{2} << 30);
  EXPECT_LE(bytes_beside_steps(config, settings, size_t{1} << 30), size_t{1} << 29);
}

}  // namespace
}  // namespace paceline
