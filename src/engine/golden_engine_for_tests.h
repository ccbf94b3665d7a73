// What an engine needs around a golden model, for tests that take the model's name as their parameter.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "engine/engine.h"
#include "kernels/cpu_table.h"
#include "model/load.h"
#include "model/mtp_binding.h"
#include "speculate/mtp_proposer.h"

namespace paceline {

// Backend: the processor's Ops, or one that behaves otherwise.
template <class Backend>
class GoldenEngineTest : public testing::TestWithParam<const char*> {
 protected:
  GoldenEngineTest()
      : pool_(2), ops_(**kernels::find_cpu_table(""), pool_), model_(*load_model(folder("target"), pool_)) {
    forward_.emplace(model_.weights, ops_, Precision::bf16);
    parts_ = {&*forward_, &pool_, nullptr, &costs_, nullptr};
    settings_.kv_bytes = size_t{64} << 20;
  }

  static std::filesystem::path folder(const char* part) {
    return std::filesystem::path(PACELINE_SOURCE_DIR) / "tests/goldens" / GetParam() / part;
  }

  void use_mtp() {
    mtp_ = std::make_unique<MtpBatchProposer>(std::make_unique<MtpDrafter>(
        load_mtp(folder("assistant"), pool_).value(), forward_->shared_weights(), ops_, forward_->precision()));
    parts_.proposer = mtp_.get();
  }

  ThreadPool pool_;
  Backend ops_;
  LoadedModel model_;
  std::optional<Forward> forward_;
  StepCosts costs_;
  std::unique_ptr<BatchProposer> mtp_;
  EngineParts parts_;
  EngineSettings settings_;
};

}  // namespace paceline
