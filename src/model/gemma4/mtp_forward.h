// Proposals of the MTP drafter (Gemma 4 "assistant"). It has no cache of its own and needs no prompt: each proposal
// starts from what the target holds. Several sequences may be proposed for at once, and each gets the drafts it would
// get alone.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "kernels/ops.h"
#include "model/forward.h"
#include "model/gemma4/mtp_weights.h"
#include "sample/settings.h"
#include "state/kv.h"

namespace paceline {

// Where the drafter's queries stand, counted from the newest token's index. The goldens' value; some engines have -1.
inline constexpr int32_t kMtpQueryOffset = 0;

// A sequence of n tokens of which the target has run all but the newest.
struct MtpContext {
  const KvCache* kv = nullptr;  // the target's: length() is n - 1, at least 1
  TokenId newest = 0;           // token n - 1
  // [backbone]: the target's of token n - 2, after the final norm; the backend's memory
  const float* hidden = nullptr;
};

struct MtpProposal {
  MtpContext at;
  int32_t depth = 0;
  TokenId* drafts = nullptr;  // [depth], written; not by enqueue()
  // How the verify will choose, from that choice on; none: greedily. Only where the host chooses.
  const SampleSettings* sampling = nullptr;
  int64_t output_index = 0;
};

// Drafts in the backend's memory: number d of sequence s is tokens[d * stride + row_of[s]].
struct MtpDrafts {
  const TokenId* tokens = nullptr;
  int32_t stride = 0;
  std::span<const int32_t> row_of;

  [[nodiscard]] int32_t at(size_t seq, int32_t draft) const { return draft * stride + row_of[seq]; }
};

// Owns the scratch memory of proposals; the weights are shared and never written.
class MtpForward {
 public:
  // They must fit: check_fits. precision is the target's, as keys and values are.
  MtpForward(std::shared_ptr<const MtpWeights> weights, std::shared_ptr<const Gemma4Weights> target, kernels::Ops& ops,
             Precision precision);
  ~MtpForward();
  MtpForward(const MtpForward&) = delete;
  MtpForward& operator=(const MtpForward&) = delete;

  [[nodiscard]] const MtpWeights& weights() const { return *weights_; }

  // window: the last positions that the global layer sees; 0: all. Where the backend can (narrows()).
  void propose(const MtpContext& at, int32_t depth, TokenId* drafts);
  void propose(std::span<const MtpProposal> seqs, int32_t window = 0);
  // The same without waiting: nobody on the host has to know a draft for the next one to be made. Valid until the next
  // call.
  MtpDrafts enqueue(std::span<const MtpProposal> seqs, int32_t window = 0);
  [[nodiscard]] bool narrows() const { return ops_.limits().narrows; }

  struct Scratch;

 private:
  std::shared_ptr<const MtpWeights> weights_;
  std::shared_ptr<const Gemma4Weights> target_;
  kernels::Ops& ops_;
  Precision precision_;
  std::unique_ptr<Scratch> scratch_;
};

}  // namespace paceline
