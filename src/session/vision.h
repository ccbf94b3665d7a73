// The vision side of a loaded model: files of pictures and clips → patches → soft tokens. Reading files may be done
// from any number of threads at once, whatever the engine does meanwhile.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "kernels/ops.h"
#include "media/formats.h"
#include "media/video.h"
#include "model/load.h"
#include "model/vision_forward.h"

namespace paceline {

class Vision {
 public:
  // An error where the model takes no pictures.
  static Result<std::unique_ptr<Vision>> load(const LoadedModel& model, Precision precision, ThreadPool& pool,
                                              kernels::Ops& ops);

  // Decoded, resized and cut. budget: of soft tokens; 0: what the model's files say. An error names the reason, and
  // where it is a file, the file.
  [[nodiscard]] Result<Patches> read(FileBytes file, int32_t budget, const PictureLimits& limits = {}) const;
  [[nodiscard]] Result<Patches> read(const std::filesystem::path& file, int32_t budget) const;
  [[nodiscard]] Result<Patches> cut(const Picture& picture, int32_t budget) const;

  // At most so many frames, evenly spread, up to kMostFrames; each within kFrameBudget.
  [[nodiscard]] Result<Clip> read_clip(FileBytes file, int32_t frames = kMostFrames,
                                       const ClipLimits& limits = {}) const;
  [[nodiscard]] Result<Clip> read_clip(const std::filesystem::path& file, int32_t frames = kMostFrames) const;

  [[nodiscard]] const VisionConfig& config() const { return forward_.weights().config; }
  [[nodiscard]] int32_t budget() const { return budget_; }  // what the model's files say

  // Patches to soft tokens.
  [[nodiscard]] VisionForward& forward() { return forward_; }

 private:
  Vision(std::shared_ptr<const VisionWeights> weights, kernels::Ops& ops, Precision precision, int32_t budget)
      : forward_(std::move(weights), ops, precision), budget_(budget) {}

  VisionForward forward_;
  int32_t budget_;
};

}  // namespace paceline
