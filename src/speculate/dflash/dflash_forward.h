// What a DFlash drafter computes: keys and values of the tokens that stand, from what the target's layers made of them;
// and from those a whole block of guesses in one pass. Its keys and values lie in the sequence's own pages, in layers
// behind the target's (Forward::add_draft_layers). The block's are written behind what stands, where the next tokens'
// will lie: nobody reads them once the pass is over.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/forward.h"
#include "speculate/dflash/dflash_weights.h"
#include "speculate/drafter.h"

namespace paceline {

// Rows of a step that stand: at positions first_pos … of a sequence.
struct DflashContextRows {
  const KvCache* kv = nullptr;
  int32_t first_pos = 0;
  int32_t first_row = 0;  // of the step's rows, or of `joined`
  int32_t count = 0;
  // [rows, joined_width()]: what the layers saw, side by side, of an earlier step's rows; none: it is in the taps
  const float* joined = nullptr;
};

struct DflashProposal {
  const KvCache* kv = nullptr;  // holds all that stands but the newest token, and has room for the block
  TokenId newest = 0;
  int32_t rows = 0;                          // of the block, the newest token's among them
  int32_t wanted = 0;                        // drafts: rows - 1 or fewer
  TokenId* drafts = nullptr;                 // [wanted], written; not by enqueue()
  const SampleSettings* sampling = nullptr;  // as DraftContext has it
  int64_t output_index = 0;
};

struct DflashScratch;
struct DflashAt;

class DflashForward {
 public:
  // They must fit: check_fits; and the backend has blocks(). The target's layout gets the drafter's layers. The weights
  // are arranged for the backend at once, or by load().
  enum class Arranged : uint8_t { now, later };
  DflashForward(std::shared_ptr<const DflashWeights> weights, Forward& target, Arranged arranged = Arranged::now);
  ~DflashForward();
  DflashForward(const DflashForward&) = delete;
  DflashForward& operator=(const DflashForward&) = delete;

  // Takes the memory that remember(), join() and the proposals need, and gives it up again. While nothing runs.
  void load();
  void unload();

  [[nodiscard]] const DflashWeights& weights() const { return *weights_; }
  [[nodiscard]] const DflashConfig& config() const { return weights_->config; }
  // Layers of the target whose input is what they want to see: behind those that are tapped.
  [[nodiscard]] std::span<const int32_t> tap_layers() const { return taps_; }

  void remember(std::span<const DflashContextRows> rows, const Taps& taps);
  // The same for later: what the layers saw of so many rows, side by side.
  void join(const Taps& taps, int32_t first_row, int32_t count, float* to);
  [[nodiscard]] int32_t joined_width() const { return weights_->fc.cols; }
  [[nodiscard]] kernels::Ops& ops() const { return target_.ops(); }
  // The target's, with all layers of drafters.
  [[nodiscard]] const KvLayout& layout() const { return target_.kv_layout(); }
  // Each gets the drafts that it would get alone.
  void propose(std::span<const DflashProposal> seqs);
  // The same, but the drafts are left in the memory of the backend, which chooses, with nobody waiting for them: one
  // sequence's behind the other's, valid until the next call.
  const TokenId* enqueue(std::span<const DflashProposal> seqs);

  // For whoever compares: what is behind the layers of propose()'s blocks, before the norm, [rows, hidden].
  [[nodiscard]] const float* last_block() const;

 private:
  DflashAt at();

  std::shared_ptr<const DflashWeights> read_;     // as they lie in the files
  std::shared_ptr<const DflashWeights> weights_;  // arranged, or the same
  Forward& target_;
  int32_t first_layer_ = 0;  // in the target's layout
  std::vector<int32_t> taps_;
  std::vector<float> frequencies_;
  std::unique_ptr<DflashScratch> scratch_;
};

// Whether a backend runs such drafters.
Status check_backend(const DflashConfig& config, kernels::Ops& ops);

}  // namespace paceline
