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
#include "model/vision/vision_forward.h"

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

  // At most so many frames, evenly spread, up to kMostFrames; 0: as many as the model's files say, which also say how
  // many soft tokens each may become.
  [[nodiscard]] Result<Clip> read_clip(FileBytes file, int32_t frames = 0, const ClipLimits& limits = {}) const;
  [[nodiscard]] Result<Clip> read_clip(const std::filesystem::path& file, int32_t frames = 0) const;

  [[nodiscard]] const VisionConfig& config() const { return forward_.weights().config; }
  [[nodiscard]] int32_t budget() const { return budgets_.picture; }  // what the model's files say
  [[nodiscard]] const ClipBudget& clip_budget() const { return budgets_.clip; }

  // Patches to soft tokens.
  [[nodiscard]] VisionForward& forward() { return forward_; }

 private:
  // What the model's files say.
  struct Budgets {
    int32_t picture = kDefaultBudget;
    ClipBudget clip;
  };
  Vision(std::shared_ptr<const VisionWeights> weights, kernels::Ops& ops, Precision precision, const Budgets& budgets)
      : forward_(std::move(weights), ops, precision), budgets_(budgets) {}
  static Result<Budgets> read_budgets(const Checkpoint& checkpoint);

  VisionForward forward_;
  Budgets budgets_;
};

}  // namespace paceline
