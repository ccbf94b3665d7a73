// CudaOps for recurrent layers, and what stands beside them.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "kernels/cuda/cuda_ops.h"
#include "kernels/cuda/recurrent.h"

namespace paceline::kernels::cuda {
namespace {

// Rows of tape in steps of so many, so that what is started recurs from round to round.
constexpr int32_t kTapeStep = 16;

DeltaTable shape_of_table(const DeltaArgs& args) {
  DeltaTable table;
  table.value_heads = args.shape.value_heads;
  for (const DeltaSpan& span : args.seqs)
    table.tape_slots = std::max({table.tape_slots, span.replayed, span.count - span.certain});
  table.tape_slots = round_up(std::max(table.tape_slots, 1), kTapeStep);
  table.stride = table.words_of_seq();
  return table;
}

// Addresses of all that one sequence's rows touch.
void write_words(const DeltaArgs& args, const DeltaSpan& span, const DeltaTable& table, uint64_t* to) {
  const DeltaHead head{span.first_row, span.count, span.certain, span.replayed};
  std::memcpy(to, &head, sizeof head);
  const auto word = [&](const int32_t* numbers, const StatePlace& place) {
    return reinterpret_cast<uint64_t>(args.places.at(numbers, place));
  };
  for (int32_t h = 0; h < args.shape.value_heads; ++h)
    to[DeltaTable::kHeadWords + h] = word(span.state, args.places.heads[h]);
  to[table.recent_at()] = word(span.state, args.places.recent);
  const int64_t units = args.places.row_units;
  for (int32_t i = 0; i < span.replayed; ++i) to[table.kept_at() + i] = word(span.kept + i * units, args.places.row);
  for (int32_t i = 0; i < span.count - span.certain; ++i)
    to[table.keeps_at() + i] = word(span.keeps + i * units, args.places.row);
}

}  // namespace

void CudaOps::delta(const DeltaArgs& args) {
  flush();
  const DeltaShape& shape = args.shape;
  if (!takes("the width of a recurrent head", std::max(shape.key_dim, shape.value_dim), kMaxDeltaDim)) return;
  if (!takes("taps of a convolution", shape.kernel, kMaxDeltaKernel)) return;
  DeltaRows a;
  a.table = shape_of_table(args);
  const auto seq_words = static_cast<size_t>(a.table.stride);
  std::vector<uint64_t> words(seq_words * args.seqs.size(), 0);
  std::vector<int32_t> seq_of_row(static_cast<size_t>(args.rows), 0);
  for (size_t s = 0; s < args.seqs.size(); ++s) {
    const DeltaSpan& span = args.seqs[s];
    write_words(args, span, a.table, words.data() + s * seq_words);
    std::fill_n(seq_of_row.begin() + span.first_row, span.count, static_cast<int32_t>(s));
  }
  make_room(kRoomForTables);
  a.table.words = reinterpret_cast<const DeltaHead*>(sent(std::span<const uint64_t>(words)));
  a.table.seq_of_row = sent(std::span<const int32_t>(seq_of_row));
  a.key_heads = shape.key_heads;
  a.value_heads = shape.value_heads;
  a.key_dim = shape.key_dim;
  a.value_dim = shape.value_dim;
  a.kernel = shape.kernel;
  a.dealt = shape.dealt ? 1 : 0;
  a.rows = args.rows;
  a.seqs = static_cast<int32_t>(args.seqs.size());
  a.eps = args.eps;
  a.query_scale = 1.0f / std::sqrt(static_cast<float>(shape.key_dim));
  a.u = args.u;
  a.a = args.a;
  a.b = args.b;
  a.z = args.z;
  a.taps = args.taps;
  a.rate = args.rate;
  a.bias = args.bias;
  a.weight = args.weight;
  a.y = args.y;
  const auto gates = static_cast<size_t>(args.rows) * static_cast<size_t>(shape.value_heads);
  a.gates = static_cast<float*>(grown(delta_gates_, gates * 2 * sizeof(float)));
  written(args.y, int64_t{args.rows} * shape.channels());
  written(args.z, int64_t{args.rows} * shape.values());
  if (wants_bf16(args.z)) a.out_bf16 = make_bf16(args.z, args.rows, shape.values(), a.out_stride);
  if (status_.ok()) cuda::delta(a, stream_);
}

void CudaOps::sigmoid_mul(const SigmoidArgs& args) {
  flush();
  SigmoidRows a{args.y, args.gate, nullptr, args.rows, args.width, 0, args.one_per_row ? 1 : 0};
  written(args.y, int64_t{args.rows} * args.width);
  if (wants_bf16(args.y)) a.y_bf16 = make_bf16(args.y, args.rows, args.width, a.y_stride);
  if (status_.ok()) cuda::sigmoid_mul(a, stream_);
}

void CudaOps::part_pairs(const PartArgs& args) {
  flush();
  for (const float* y : {args.first, args.second}) written(y, int64_t{args.rows} * args.width);
  if (status_.ok()) cuda::part_pairs({args.x, args.first, args.second, args.rows, args.width}, stream_);
}

}  // namespace paceline::kernels::cuda
