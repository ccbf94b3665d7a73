// What calls of a DFlash drafter scribble on, and what all its parts share.
#pragma once

#include <vector>

#include "kernels/block_ops.h"
#include "kernels/choosing_ops.h"
#include "kernels/row_buffer.h"
#include "kernels/vision_ops.h"
#include "model/forward.h"
#include "sample/choose.h"
#include "speculate/dflash/dflash_weights.h"

namespace paceline {

// Row buffers, [rows, …] each, grown to what calls need.
struct DflashScratch {
  kernels::RowBuffer joined, context, keys, values;
  kernels::RowBuffer x, normed, mixed, q, attended, branch, ffn, kernels, cos, sin, tokens;
  kernels::RowBuffer head_rows, head_in, logits, best, weighed, picked, before, after;
  kernels::HostCopy logits_copy, best_copy, weighed_copy, before_copy, after_copy;
  std::vector<int32_t> positions, last_pos, rows, block_rows, wanted_rows;
  std::vector<TokenId> row_tokens, candidates;
  std::vector<kernels::SeqSpan> spans;
  std::vector<kernels::ChoiceRow> choices;
  std::vector<kernels::DraftChain> chains;
  std::vector<float> candidate_row;
  ChooseScratch choose;
};

// A drafter at work on a backend.
struct DflashAt {
  const DflashWeights& w;
  const DflashConfig& c;
  const Forward& target;
  kernels::Ops& ops;
  kernels::Activation act;
  int32_t first_layer = 0;
  std::span<const float> frequencies;
  DflashScratch& s;

  float* sized(kernels::RowBuffer& buffer, int64_t floats) const { return buffer.sized(ops, floats); }

  void linear(const float* x, int32_t rows, const Matrix& weight, float* y) const {
    const kernels::Projection out{&weight, y};
    ops.linear(x, rows, act, {&out, 1});
  }
  void norm(const float* x, int32_t rows, const Vector& weight, float* y, float scale = 1.0f) const {
    ops.rms_norm({x, weight.for_ops(), y, rows, c.hidden, c.rms_eps, scale});
  }
  // None where the drafter has no biases.
  void add_bias(float* y, int32_t rows, const Vector& bias) const {
    if (!bias.empty()) ops.vision().shift_scale({y, bias.for_ops(), nullptr, rows, static_cast<int32_t>(bias.size())});
  }
  // Of the rows whose positions are in the scratch.
  void rotate() const {
    const auto floats = static_cast<int64_t>(s.positions.size() * frequencies.size());
    ops.rope({s.positions, frequencies, sized(s.cos, floats), sized(s.sin, floats)});
  }
  // Keys and values go to the pages of the layer; queries, where there are any, are left for attention.
  [[nodiscard]] kernels::HeadsArgs heads_of(int32_t layer, int32_t query_heads) const {
    const DflashLayer& l = w.layers[static_cast<size_t>(layer)];
    kernels::HeadsArgs heads;
    heads.shape = target.kv_layout().layers[static_cast<size_t>(first_layer + layer)].shape(query_heads);
    heads.q_weight = l.q_norm.for_ops();
    heads.k_weight = l.k_norm.for_ops();
    heads.cos = s.cos.data();
    heads.sin = s.sin.data();
    heads.eps = c.rms_eps;
    heads.seqs = s.spans;
    heads.norms_values = false;
    return heads;
  }
};

}  // namespace paceline
