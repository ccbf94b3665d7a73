// Queries, keys and values on their way into attention: norms, rotations, and the pages that keep them.
#include <cstring>

#include "base/check.h"
#include "kernels/cpu_ops.h"
#include "kernels/cpu_pages.h"

namespace paceline::kernels {
namespace {

void store_key(const HeadShape& shape, const KvPages& pages, int32_t pos, int32_t kv_head, const float* x) {
  const int32_t token = pos % kPageTokens, dim = shape.head_dim;
  auto* page = static_cast<char*>(pages.keys_of(pos / kPageTokens)) + head_offset(shape, kv_head);
  if (shape.kv_dtype == DType::f32) {
    std::memcpy(reinterpret_cast<float*>(page) + static_cast<int64_t>(token) * dim, x,
                static_cast<size_t>(dim) * sizeof(float));
    return;
  }
  auto* out = reinterpret_cast<uint16_t*>(page) + static_cast<int64_t>(token) * dim;
  for (int32_t i = 0; i < dim; ++i) out[i] = f32_to_bf16(x[i]);
}

void store_value(const HeadShape& shape, const KvPages& pages, int32_t pos, int32_t kv_head, const float* x) {
  const int32_t token = pos % kPageTokens;
  auto* page = static_cast<char*>(pages.values_of(pos / kPageTokens)) + head_offset(shape, kv_head);
  for (int32_t i = 0; i < shape.head_dim; ++i) {
    const int64_t at = static_cast<int64_t>(i) * kPageTokens + token;
    if (shape.kv_dtype == DType::f32)
      reinterpret_cast<float*>(page)[at] = x[i];
    else
      reinterpret_cast<uint16_t*>(page)[at] = f32_to_bf16(x[i]);
  }
}

}  // namespace

void CpuOps::heads(const HeadsArgs& args) {
  const HeadShape& shape = args.shape;
  const int32_t dim = shape.head_dim;
  const int32_t rotated = args.rotated(), part = rotated / args.rope_parts;
  CHECK(args.rope_parts == 1 || rotated == dim);
  const auto rotate = [&](float* x, int64_t row) {
    const float* cos = args.cos + row * (rotated / 2);
    const float* sin = args.sin + row * (rotated / 2);
    for (int32_t at = 0; at < rotated; at += part) table_.rope(x + at, cos + at / 2, sin + at / 2, part);
  };
  const auto one_row = [&](const SeqSpan& seq, int64_t row) {
    for (int32_t h = 0; h < shape.heads; ++h) {
      float* q = args.q + (row * shape.heads + h) * dim;
      table_.rms_norm(q, args.q_weight, q, dim, args.eps, 1.0f);
      rotate(q, row);
    }
    if (args.k == nullptr) return;
    const auto pos = static_cast<int32_t>(seq.first_pos + row - seq.first_row);
    float normed[kMaxHeadDim];
    for (int32_t h = 0; h < shape.kv_heads; ++h) {
      const float* v = args.v + (row * shape.kv_heads + h) * dim;
      if (args.norms_values) table_.rms_norm(v, nullptr, normed, dim, args.eps, 1.0f);
      store_value(shape, seq.pages, pos, h, args.norms_values ? normed : v);
      table_.rms_norm(args.k + (row * shape.kv_heads + h) * dim, args.k_weight, normed, dim, args.eps, 1.0f);
      rotate(normed, row);
      store_key(shape, seq.pages, pos, h, normed);
    }
  };
  for (const SeqSpan& seq : args.seqs)
    pool_.run(seq.count, 2, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) one_row(seq, seq.first_row + i);
    });
}

}  // namespace paceline::kernels
