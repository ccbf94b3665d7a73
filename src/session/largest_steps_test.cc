#include "session/largest_steps.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "engine/engine.h"
#include "kernels/cpu_ops.h"
#include "model/gemma4/gemma4_forward.h"
#include "model/gemma4/mtp_binding.h"
#include "model/load.h"
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

// Once the largest steps have run, others take no more than what belongs to a sequence.
TEST(LargestSteps, NothingGrowsBehindThem) {
  const std::filesystem::path folder = std::filesystem::path(PACELINE_SOURCE_DIR) / "tests/goldens/dense";
  ThreadPool pool(1);
  CountingOps ops(**kernels::find_cpu_table(""), pool);
  const LoadedModel model = *load_model(folder / "target", pool);
  Gemma4Forward forward(as_gemma4(model.weights), ops, Precision::bf16);
  MtpDrafter drafter(std::make_unique<MtpForward>(load_mtp(folder / "assistant", pool).value(),
                                                  as_gemma4(forward.weights()), ops, forward.precision()));
  EngineSettings settings;
  settings.batch_rows = 64;
  settings.chunk_rows = 64;
  settings.fixed_depth = 3;
  ASSERT_TRUE(run_largest_steps({&forward, &drafter, nullptr}, settings).ok());
  ASSERT_GT(ops.taken, 0u);
  ops.taken = 0;
  StepCosts costs;
  Engine engine({&forward, &pool, &drafter, &costs, nullptr}, settings);
  constexpr int32_t kRequests = 20;
  for (int32_t i = 0; i < kRequests; ++i) {
    Request request;
    request.prompt.assign(static_cast<size_t>(30 + 40 * i), 5 + i);
    request.max_tokens = 12;
    request.context = model.config.context;
    ASSERT_EQ(engine.submit(request, std::make_shared<Silent>()).refusal, Refusal::none);
  }
  while (engine.step()) {
  }
  EXPECT_EQ(ops.taken, kRequests * static_cast<size_t>(model.config.hidden) * sizeof(float));
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
