// The vision side's forward: patches of pictures in, soft tokens out. Pictures of one call share nothing but the call:
// a picture's results have the same bits whatever else is in it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/ops.h"
#include "media/patches.h"
#include "model/forward.h"
#include "model/vision/vision_weights.h"

namespace paceline {

// Pictures on their way through the vision side, in pieces of some milliseconds: others may compute between them.
class VisionPassage {
 public:
  virtual ~VisionPassage() = default;
  // One piece more; false: there was none left.
  virtual bool go_on() = 0;
  // Behind the last piece: for each picture its soft tokens, [tokens, text_hidden].
  virtual std::vector<std::vector<float>> finish() = 0;
};

// Owns the scratch memory of passages over one model; the weights are shared and never written.
class VisionForward {
 public:
  VisionForward(std::shared_ptr<const VisionWeights> weights, kernels::Ops& ops, Precision precision);
  ~VisionForward();
  VisionForward(const VisionForward&) = delete;
  VisionForward& operator=(const VisionForward&) = delete;

  [[nodiscard]] const VisionWeights& weights() const { return *weights_; }

  // Whether patches are this model's, and there are positions for a grid of this size.
  [[nodiscard]] Status check(const Patches& patches) const;

  // At least one picture. The patches have passed check() and, as this, outlive the passage. There may be several.
  std::unique_ptr<VisionPassage> begin(std::vector<const Patches*> pictures);
  // All of it.
  std::vector<std::vector<float>> run(std::span<const Patches* const> pictures);

  struct Scratch;

 private:
  std::shared_ptr<const VisionWeights> weights_;
  kernels::Ops& ops_;
  Precision precision_;
  std::unique_ptr<Scratch> spare_;  // the last passage's, for the next one
};

}  // namespace paceline
