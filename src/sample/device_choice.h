// What the backend needs of a sequence to choose for it: settings as numbers, the rest in the backend's memory.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/choosing_ops.h"
#include "kernels/ops.h"
#include "sample/history.h"
#include "sample/settings.h"

namespace paceline {

class DeviceChoice {
 public:
  // `prompt` and `generated` are what stands; from then on the backend counts by itself.
  DeviceChoice(kernels::Ops& ops, const SampleSettings& settings, int32_t vocab, const History& history);

  // The choice of output number `index`.
  [[nodiscard]] kernels::ChoiceRow row(int64_t index) const;
  [[nodiscard]] int32_t* counts() const { return counts_; }
  // What a constraint allows for choice number `row` of a round, in words of 64 bits; fewer words allow nothing more.
  const uint64_t* allow(kernels::Ops& ops, size_t row, std::span<const uint64_t> words);

 private:
  void* part(size_t bytes);

  kernels::ChoiceRow row_;
  int32_t* counts_ = nullptr;
  size_t words_;
  std::shared_ptr<void> memory_;
  size_t used_ = 0;
  std::vector<std::shared_ptr<void>> allowed_;  // of the choices of a round
  std::vector<uint64_t> padded_;
};

}  // namespace paceline
