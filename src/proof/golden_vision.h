// The vision side against goldens: the pixels that the tower is given, and the soft tokens that it makes of them.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "kernels/ops.h"
#include "model/load.h"
#include "model/vision/vision_forward.h"
#include "proof/golden_file.h"

namespace paceline {

struct VisionCheck {
  int images = 0, patches_equal = 0;
  double feature_error = 0;  // largest absolute difference
};

class GoldenVision {
 public:
  static Result<std::unique_ptr<GoldenVision>> open(const std::filesystem::path& folder, const LoadedModel& model,
                                                    Precision precision, ThreadPool& pool, kernels::Ops& ops);

  // The soft tokens of image number i, one row after the other; what differs is counted in `check`.
  Result<std::vector<float>> image(const GoldenFile& golden, size_t i, VisionCheck& check);
  // Of each frame that is shown of clip number i. The goldens have no features of these.
  Result<std::vector<std::vector<float>>> clip(const GoldenFile& golden, size_t i);

 private:
  GoldenVision(std::filesystem::path folder, std::shared_ptr<const VisionWeights> weights, kernels::Ops& ops,
               Precision precision)
      : folder_(std::move(folder)), forward_(std::move(weights), ops, precision) {}

  Result<Patches> patches_of(const Picture& picture, int32_t budget) const;

  std::filesystem::path folder_;
  VisionForward forward_;
};

// NaN counts as the largest error there is.
double largest_difference(const float* ours, std::span<const float> golden);

}  // namespace paceline
