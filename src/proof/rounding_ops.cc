#include "proof/rounding_ops.h"

#include "kernels/cpu_pages.h"
#include "kernels/kv_rotation.h"
#include "kernels/portable/rounded.h"

namespace paceline {

using kernels::HeadShape;
using kernels::kPageTokens;

void RoundingOps::heads(const kernels::HeadsArgs& args) {
  CpuOps::heads(args);
  const HeadShape& shape = args.shape;
  if (args.k == nullptr || shape.kv_dtype != DType::f32) return;
  for (const kernels::SeqSpan& seq : args.seqs) {
    const bool is_ring = seq.pages.slots > 0;
    if (is_ring && layers_ == Layers::global) continue;
    for (int32_t pos = seq.first_pos; pos < seq.first_pos + seq.count; ++pos)
      shape.joined > 0 ? round_joined(shape, seq.pages, pos) : round_apart(shape, seq.pages, pos);
  }
}

void RoundingOps::round_apart(const HeadShape& shape, const kernels::KvPages& pages, int32_t pos) const {
  const int32_t page = pos / kPageTokens, token = pos % kPageTokens, dim = shape.head_dim;
  std::vector<float> value(static_cast<size_t>(dim));
  for (int32_t head = 0; head < shape.kv_heads; ++head) {
    auto* keys = static_cast<float*>(head_in(shape, pages.keys_of(page), head));
    round_({shape, false, {keys + static_cast<int64_t>(token) * dim, value.size()}});
    auto* values = static_cast<float*>(head_in(shape, pages.values_of(page), head));
    for (int32_t i = 0; i < dim; ++i) value[static_cast<size_t>(i)] = values[i * kPageTokens + token];
    round_({shape, false, value});
    for (int32_t i = 0; i < dim; ++i) values[i * kPageTokens + token] = value[static_cast<size_t>(i)];
  }
}

void RoundingOps::round_joined(const HeadShape& shape, const kernels::KvPages& pages, int32_t pos) const {
  for (int32_t head = 0; head < shape.kv_heads; ++head) {
    auto* row = static_cast<float*>(head_in(shape, pages.keys_of(pos / kPageTokens), head)) +
                static_cast<int64_t>(pos % kPageTokens) * row_numbers(shape);
    round_({shape, false, {row, static_cast<size_t>(shape.head_dim)}});
    round_({shape, true, {row + shape.head_dim, static_cast<size_t>(shape.joined)}});
  }
}

RoundingOps::Round e4m3_rounding() {
  return [](const RoundedPart& part) { kernels::portable::round_e4m3(part.numbers); };
}

RoundingOps::Round q4_0_rounding() {
  return [](const RoundedPart& part) { kernels::portable::round_q4_0(part.numbers); };
}

RoundingOps::Round q4_rounding() {
  return [](const RoundedPart& part) {
    const kernels::Rotation rotation(part.shape);
    part.is_rotated_keys ? kernels::portable::round_q8(rotation, 0, part.numbers)
                         : kernels::portable::round_q4(rotation, 0, part.numbers);
  };
}

}  // namespace paceline
