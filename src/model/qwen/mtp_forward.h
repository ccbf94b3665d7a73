// What a model's own drafter computes. Of every row that stands it reads the model's state and the token that followed,
// and remembers keys and values of its own; then it goes on from what it made of the newest row, token by token.
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

// Pages of keys and values in pieces of memory of one size, which somebody else holds.
class MtpPages {
 public:
  // Of one page, and where its values begin.
  struct Size {
    size_t bytes = 0, values_at = 0;
  };
  static Size size_of(const kernels::HeadShape& shape);
  // How much so many positions take of pieces of this size. A page lies in one of them; or its keys in one and its
  // values in another, where it is larger.
  static size_t bytes_for(const kernels::HeadShape& shape, int32_t positions, size_t unit_bytes);

  // All pieces there are; those that were there before have not moved.
  void set_units(std::span<void* const> units, size_t unit_bytes, const kernels::HeadShape& shape);
  [[nodiscard]] kernels::KvPages pages() const;
  // Positions that there is room for.
  [[nodiscard]] int32_t room() const { return static_cast<int32_t>(numbers_.size()) / pieces_ * kernels::kPageTokens; }

 private:
  std::vector<int32_t> numbers_;  // [pages, pieces]
  int32_t pieces_ = 1;            // that a page is in
  std::byte* base_ = nullptr;
  size_t values_at_ = 0;
  size_t known_units_ = 0;
};

// What it remembers of a sequence.
struct MtpMemory {
  MtpPages pages;
  int32_t first_pos = 0;      // it knows nothing of what was before
  int32_t length = 0;         // rows from there on that stand
  kernels::RowBuffer newest;  // [hidden]: what came out of the last of them
};

// Rows of one sequence that stand from now on.
struct MtpRows {
  MtpMemory* memory = nullptr;
  int32_t first_pos = 0;
  int32_t first_row = 0, count = 0;  // among the model's rows
  std::span<const TokenId> next;     // [count]: the tokens that followed each
};

struct MtpAsk {
  MtpMemory* memory = nullptr;
  std::span<TokenId> out;
};

class MtpForward {
 public:
  // The target is placed, and all outlive it.
  MtpForward(std::shared_ptr<const MtpWeights> weights, const Forward& target);

  // The form of its keys and values.
  [[nodiscard]] const kernels::HeadShape& shape() const { return shape_; }
  [[nodiscard]] int32_t layer_count() const { return target_->config.layer_count(); }
  // What it remembers of so many positions.
  [[nodiscard]] size_t bytes_for(int32_t positions) const {
    return MtpPages::bytes_for(shape_, positions, unit_bytes_);
  }

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
    int32_t at, count;  // rows of its memory
  };
  // x: of `rows` rows, tokens and normed states → what the layer makes of them, before the final norm.
  float* run(std::span<const Place> places, const TokenId* tokens, const float* states);
  void keep_newest(std::span<const Place> places, const float* x);

  std::shared_ptr<const MtpWeights> weights_;
  std::shared_ptr<const QwenWeights> target_;
  kernels::Ops& ops_;
  kernels::HeadShape shape_;
  size_t unit_bytes_;  // of the engine's memory
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
