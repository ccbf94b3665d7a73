// A text model's forward: rows of tokens in, logits and hidden states out. A decode step is one row, a verify is
// several rows of one sequence, a prompt chunk is rows whose logits nobody asked for; all may share one call.
// A row's results have the same bits whatever else is in the call.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/ops.h"
#include "model/model_weights.h"
#include "state/kv.h"

namespace paceline {

// Consecutive tokens of a sequence whose input is given instead of looked up: one image, or one frame of a clip. Where
// the config says so, they see each other in both directions; then one call has to run them all, since the first row
// reads the last one's key.
struct SoftTokens {
  int32_t first_pos = 0;
  int32_t count = 0;
  const float* embeddings = nullptr;  // [count, hidden], taken as they are

  [[nodiscard]] int32_t end_pos() const { return first_pos + count; }
};

// Consecutive rows of one sequence, at positions kv->length() onwards.
struct SeqRows {
  KvCache* kv = nullptr;
  int32_t count = 0;
  std::span<const SoftTokens> soft = {};  // the sequence's, apart from each other; those outside these rows do nothing
  int32_t drafts = 0;                     // the last ones, which may be taken back again (KvCache::truncate)
};

struct ForwardInput {
  std::span<const TokenId> tokens;      // all rows, sequence after sequence; at most kMostForwardRows
  std::span<const SeqRows> seqs;        // their counts add up to tokens.size()
  std::span<const int32_t> logit_rows;  // rows whose logits are wanted, ascending
  std::span<const int32_t> tap_layers;  // layers whose input is wanted too (layer_count(): the last one's output)
  // Rows whose token only the backend knows: row r has drafted[drafted_at[r]], where that is not negative.
  const TokenId* drafted = nullptr;
  std::span<const int32_t> drafted_at = {};  // [rows], or empty
};

// What enqueue() leaves, in the backend's memory.
struct ForwardRows {
  const TokenId* tokens = nullptr;  // [rows]
  const float* logits = nullptr;    // [logit_rows, vocab], softcapped
  const float* hidden = nullptr;    // [rows, hidden], after the final norm
  const float* taps = nullptr;      // [tap_layers, rows, hidden]
  size_t weight_bytes = 0;          // as ForwardOutput has it
};

// Host memory, but for the hidden states: who drafts from them wants them where they are.
struct ForwardOutput {
  const float* logits = nullptr;        // [logit_rows, vocab], softcapped
  const float* hidden = nullptr;        // [rows, hidden], after the final norm, in the backend's memory
  const float* taps = nullptr;          // [tap_layers, rows, hidden]
  const float* backend_taps = nullptr;  // the same, in the backend's memory
  // Of weights that a call with logits reads: experts as they were chosen, or where only the device knows that, as many
  // as so many rows would touch by chance.
  size_t weight_bytes = 0;
};

// Owns the scratch memory of forward calls over one model; the weights are shared and never written. Each family has a
// form of it.
class Forward {
 public:
  virtual ~Forward() = default;
  Forward(const Forward&) = delete;
  Forward& operator=(const Forward&) = delete;

  [[nodiscard]] const std::shared_ptr<const ModelWeights>& weights() const { return weights_; }
  [[nodiscard]] const ModelConfig& config() const { return weights_->facts(); }
  [[nodiscard]] const KvLayout& kv_layout() const { return layout_; }
  // Layers of a drafter whose keys and values lie beside the model's own, in the same blocks: what is shared, cut,
  // given up or kept of a sequence is so of both. Before the first sequence; the first one's number in the layout.
  int32_t add_draft_layers(std::span<const LayerState> layers, int32_t window);
  [[nodiscard]] Precision precision() const { return precision_; }
  [[nodiscard]] kernels::Ops& ops() const { return ops_; }

  // Writes the rows' keys and values and raises every kv->length() by its count. The output stays valid until the next
  // call. Everything is enqueued first, and waited for once. After a fault of the device logits and taps are zeros.
  ForwardOutput run(const ForwardInput& input);
  // The same without waiting: what it leaves can be read by what is enqueued behind it. Then settle().
  ForwardRows enqueue(const ForwardInput& input);
  // Waits for all that was enqueued.
  const Status& settle();
  // What went wrong on the device, once and for all later calls; a processor has no such faults.
  [[nodiscard]] const Status& status() const { return status_; }

 protected:
  // weights: placed for `ops`.
  Forward(std::shared_ptr<const ModelWeights> weights, kernels::Ops& ops, Precision precision, const KvFormats& kv);
  // All of it, enqueued; the caches' lengths are raised behind it.
  virtual ForwardRows pass(const ForwardInput& input) = 0;

 private:
  std::shared_ptr<const ModelWeights> weights_;
  kernels::Ops& ops_;
  Precision precision_;
  ModelState state_;
  KvLayout layout_;
  Status status_ = Done{};
  // What the host reads at the end, and what it reads after a fault.
  kernels::HostCopy logits_copy_, taps_copy_;
  std::vector<float> zeros_;
};

}  // namespace paceline
