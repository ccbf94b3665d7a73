// Compares the model's arithmetic with goldens: what another implementation computed, in float32, from the same
// checkpoint. `paceline check` and the tests both call this.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "kernels/ops.h"
#include "model/forward.h"
#include "proof/golden_dflash.h"
#include "proof/golden_drafts.h"
#include "proof/golden_file.h"
#include "proof/golden_vision.h"

namespace paceline {

// What float32 arithmetic in another order may differ by, for these small models.
inline constexpr double kF32Tolerance = 2e-4;
// And recurrent states.
inline constexpr double kF32StateTolerance = 1e-5;
// In bfloat16 a choice may rightly differ where the golden's best and second logit are closer than this.
inline constexpr double kBf16Gap = 0.1;
// With a picture the vision side rounds as well: logits were up to 0.30 away (vlm, portable kernels), and a choice may
// turn where best and second are within twice that.
inline constexpr double kBf16PictureGap = 0.6;
// In float32 a draft may rightly differ where the golden's best and second score are closer than this.
inline constexpr double kF32DraftGap = 1e-3;

struct GoldenCheck {
  std::string name;
  int prompts = 0;
  double logit_error = 0;        // largest absolute difference, all positions
  double layer_input_error = 0;  // last four positions of every layer's input
  double hidden_error = 0;       // after the final norm, all positions
  double state_error = 0;        // of recurrent layers, after the prompt; the newest inputs among them
  // The largest logit at each prompt position, where the golden's gap is clear at this precision.
  int64_t choices = 0, choices_equal = 0;
  // Greedy continuations. A differing one is a miss in float32, and in bfloat16 if its golden's gaps are all clear.
  int64_t tokens = 0, tokens_equal = 0;
  int sequences_missed = 0;
  // Proposals of the MTP drafter, where the golden's gaps are clear at this precision; none without a drafter.
  DraftsCheck drafts;
  // Likewise of DFlash drafters.
  DflashCheck dflash;
  // Prompts with an image or a clip, from its pixels on. Equal: choices at the last positions; in float32 also their
  // logits, and the greedy tokens.
  int images = 0, images_equal = 0;
  double image_logit_error = 0;  // last positions
  VisionCheck vision;

  [[nodiscard]] bool ran() const { return prompts + images > 0; }
  [[nodiscard]] bool passed(Precision precision) const;
};

struct GoldenSettings {
  Precision precision = Precision::f32;
  int32_t chunk_rows = kMaxForwardRows;
  std::optional<KvFormats> kv = {};  // none: what the precision says
};

Result<GoldenCheck> check_golden_case(const std::filesystem::path& folder, const GoldenSettings& settings,
                                      ThreadPool& pool, kernels::Ops& ops);

}  // namespace paceline
