// The vision side of a loaded model: picture files → patches → soft tokens.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "kernels/ops.h"
#include "media/formats.h"
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
  [[nodiscard]] Result<Patches> read(FileBytes file, int32_t budget) const;
  [[nodiscard]] Result<Patches> read(const std::filesystem::path& file, int32_t budget) const;

  // Patches to soft tokens.
  [[nodiscard]] VisionForward& forward() { return forward_; }

 private:
  Vision(std::shared_ptr<const VisionWeights> weights, kernels::Ops& ops, Precision precision, int32_t budget)
      : forward_(std::move(weights), ops, precision), budget_(budget) {}

  VisionForward forward_;
  int32_t budget_;
};

}  // namespace paceline
