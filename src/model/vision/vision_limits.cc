#include "model/vision/vision_limits.h"

#include "model/weight_formats.h"

namespace paceline {

Status check_limits(const VisionConfig& config, const kernels::Limits& limits) {
  TRY(check_at_most("numbers in a row of patches", config.hidden, limits.norm_width));
  return check_at_most("numbers in a head of the vision side", config.head_dim, limits.picture_head);
}

}  // namespace paceline
