// What a model's own drafter computes. Of every row that stands it reads the model's state and the token that followed,
// and remembers keys and values of its own, in a layer behind the target's (Forward::add_draft_layers); then it goes on
// from what it made of the newest row, token by token. Where texts part behind a page that they share, the last row's
// key is of the other's next token: a guess may be worse for it, no more.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/ops.h"
#include "model/forward.h"
#include "model/qwen/layer.h"
#include "model/qwen/mtp_weights.h"

namespace paceline::qwen {

// What it remembers of a sequence, beside keys and values in the sequence's own pages.
struct MtpMemory {
  int32_t end = 0;            // the position behind the newest row that was read
  kernels::RowBuffer newest;  // [hidden]: what came out of that
};

// Rows of one sequence that stand from now on.
struct MtpRows {
  MtpMemory* memory = nullptr;
  const KvCache* kv = nullptr;
  int32_t first_pos = 0;
  int32_t first_row = 0, count = 0;  // among the model's rows
  std::span<const TokenId> next;     // [count]: the tokens that followed each
};

struct MtpAsk {
  MtpMemory* memory = nullptr;
  const KvCache* kv = nullptr;  // has room for the drafts
  std::span<TokenId> out;
};

class MtpForward {
 public:
  // The target is placed, and all outlive it. Its layout gets the drafter's layer.
  MtpForward(std::shared_ptr<const MtpWeights> weights, Forward& target);

  [[nodiscard]] int32_t layer_count() const { return target_->config.layer_count(); }

  // states: what the target's last layer left of its rows, in the backend's memory.
  void read(std::span<const MtpRows> seqs, const float* states);
  // Drafts behind what was read last, as many as each wants. Waits for them.
  void propose(std::span<const MtpAsk> asks);
  // The same without waiting, in the backend's memory: draft d of sequence s is number d * asks.size() + s. Valid until
  // the next call.
  const TokenId* enqueue(std::span<const MtpAsk> asks);

 private:
  struct Place {
    MtpMemory* memory;
    const KvCache* kv;
    int32_t pos, count;
  };
  // x: of `rows` rows, tokens and normed states → what the layer makes of them, before the final norm.
  float* run(std::span<const Place> places, const TokenId* tokens, const float* states);
  void keep_newest(std::span<const Place> places, const float* x);

  std::shared_ptr<const MtpWeights> weights_;
  std::shared_ptr<const QwenWeights> target_;
  kernels::Ops& ops_;
  int32_t kv_layer_;  // in the target's layout
  kernels::HeadShape shape_;
  Scratch s_;
  Machinery with_;
  QwenLayer layer_;
  kernels::RowBuffer tokens_, hidden_, embedded_, joined_, x_, logits_, drafts_;
  kernels::HostCopy drafts_copy_;
  std::vector<TokenId> row_tokens_;
  std::vector<int32_t> rows_;
  std::vector<kernels::SeqSpan> spans_;
};

}  // namespace paceline::qwen
