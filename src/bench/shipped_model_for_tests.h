// The model that ships with the program, loaded as measurements load it, and some short texts for it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/drafters.h"
#include "bench/target.h"
#include "bench/texts.h"
#include "model/forward.h"
#include "session/machine.h"

namespace paceline {

class ShippedModelTest : public testing::Test {
 protected:
  ShippedModelTest()
      : machine_(*Machine::make({.threads = 1})),
        target_(*load_bench_target(source_, *machine_, {})),
        made_(target_.weights->make_forward(machine_->ops(), Precision::bf16)),
        forward_(*made_),
        texts_(*bench_texts(target_, greedy(), 12)) {
    texts_.resize(2);
  }

  static SampleSettings greedy() {
    SampleSettings sampling;
    sampling.temperature = 0;
    return sampling;
  }
  static BenchSource shipped() {
    BenchSource source;
    source.model = (std::filesystem::path(PACELINE_SOURCE_DIR) / "models/default").string();
    return source;
  }

  BenchDrafter drafter(const std::string& asked) {
    return *BenchDrafter::make(asked, source_, target_, forward_, *machine_);
  }
  ThreadPool& pool() { return machine_->pool(); }

  const BenchSource source_ = shipped();
  const std::unique_ptr<Machine> machine_;
  BenchTarget target_;
  const std::unique_ptr<Forward> made_;
  Forward& forward_;
  std::vector<BenchText> texts_;
};

}  // namespace paceline
