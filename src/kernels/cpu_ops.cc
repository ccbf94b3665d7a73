#include "kernels/cpu_ops.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/check.h"
#include "kernels/cpu_unpacked.h"

namespace paceline::kernels {
namespace {

// The smallest piece of a matrix product, as a share of one thread's: what threads may wait for each other at the end.
constexpr int64_t kPiecesPerThread = 24;

int64_t piece_of(int64_t count, int threads) { return std::max<int64_t>(1, count / (threads * kPiecesPerThread)); }

int64_t tiles_of(const Matrix& w) { return (w.rows + kOutputTile - 1) / kOutputTile; }

// Calls f(matrix number, first output, last output + 1) for each matrix that tiles [begin, end) touch, tiles being
// numbered through all matrices.
template <class MatrixAt, class F>
void for_tiles(int64_t begin, int64_t end, size_t count, MatrixAt matrix_at, F f) {
  int64_t first = 0;
  for (size_t i = 0; i < count && first < end; ++i) {
    const Matrix& w = matrix_at(i);
    const int64_t tiles = tiles_of(w);
    const int64_t from = std::max(begin, first) - first, to = std::min(end, first + tiles) - first;
    if (from < to)
      f(i, static_cast<int32_t>(from * kOutputTile), static_cast<int32_t>(std::min<int64_t>(to * kOutputTile, w.rows)));
    first += tiles;
  }
}

auto gate_mul_of(const CpuTable& table, GateFunction function) {
  return function == GateFunction::silu ? table.silu_mul : table.gelu_mul;
}

}  // namespace

void GrowingBuffer::Free::operator()(void* p) const { std::free(p); }

void* GrowingBuffer::at_least(size_t bytes) {
  if (bytes > bytes_) {
    const size_t wanted = (bytes + 4095) / 4096 * 4096;
    bytes_ = 0;
    block_.reset(std::aligned_alloc(64, wanted));
    if (block_ == nullptr) throw std::bad_alloc();
    bytes_ = wanted;
  }
  return block_.get();
}

ActShape act_shape_for(const Matrix& w, int32_t rows, Activation activation) {
  if (in_blocks(w.format)) {
    if (activation == Activation::f32) return {ActKind::f32, rows, w.cols, 0};
    return {ActKind::blocks, rows, w.cols, w.group};
  }
  switch (w.format) {
    case WeightFormat::q8: return {ActKind::int8, rows, w.cols, w.group};
    case WeightFormat::q4: return {ActKind::nibbles, rows, w.cols, w.group};
    case WeightFormat::f8:
      // Scales that differ along a row are part of the numbers, which then are none that bf16 holds; except for kernels
      // that keep them apart, which want it packed.
      if (w.group > 0 && !w.packed) return {ActKind::f32, rows, w.cols, 0};
      [[fallthrough]];
    case WeightFormat::bf16: return {activation == Activation::bf16 ? ActKind::bf16 : ActKind::f32, rows, w.cols, 0};
    default: return {ActKind::f32, rows, w.cols, 0};
  }
}

void CpuOps::multiply(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) const {
  if (in_blocks(w.format) && x.shape.kind != ActKind::blocks)
    return multiply_unpacked(table_, w, x, y, ldy, n_begin, n_end);
  if (is_small_float(w.format) && w.group > 0 && !w.packed) {
    const bool as_it_lies =
        x.shape.rows <= table_.few_scaled_rows && w.factors == nullptr && w.group % kOutputTile == 0;
    return as_it_lies ? table_.matmul(w, x, y, ldy, n_begin, n_end)
                      : multiply_unpacked(table_, w, x, y, ldy, n_begin, n_end);
  }
  if (w.format == WeightFormat::f8 && !table_.reads_f8 && x.shape.rows > table_.few_f8_rows)
    multiply_f8(table_, w, x, y, ldy, n_begin, n_end);
  else
    table_.matmul(w, x, y, ldy, n_begin, n_end);
  if (w.factors != nullptr) multiply_factors(w, x.shape.rows, y, ldy, n_begin, n_end);
}

const float* CpuOps::in_order(const float* x, int32_t rows, const Matrix& w) {
  const int64_t cols = w.cols;
  auto* const y = static_cast<float*>(ordered_rows_.at_least(static_cast<size_t>(rows * cols) * sizeof(float)));
  pool_.run(rows, std::max<int64_t>(1, kElementsPerPiece / cols), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      for (int64_t k = 0; k < cols; ++k) y[r * cols + k] = x[r * cols + w.columns[k]];
  });
  return y;
}

Act CpuOps::prepared(const float* x, int32_t rows, const Matrix& w, Activation activation, bool fresh) {
  if (fresh) live_acts_ = 0;
  const ActShape shape = act_shape_for(w, rows, activation);
  for (size_t i = 0; i < live_acts_; ++i)
    if (acts_[i].shape == shape && acts_[i].columns == w.columns) return {shape, acts_[i].buffer.at_least(0)};
  if (live_acts_ == acts_.size()) acts_.emplace_back();
  KeptAct& kept = acts_[live_acts_++];
  kept.shape = shape;
  kept.columns = w.columns;
  if (w.columns != nullptr) x = in_order(x, rows, w);
  const Act act{shape, kept.buffer.at_least(table_.act_bytes(shape))};
  const int64_t units = (rows + table_.act_unit - 1) / table_.act_unit;
  const int64_t per_piece = std::max<int64_t>(1, kElementsPerPiece / (static_cast<int64_t>(table_.act_unit) * w.cols));
  pool_.run(units, per_piece, [&](int64_t begin, int64_t end) {
    table_.prepare(act, x, w.cols, static_cast<int32_t>(begin), static_cast<int32_t>(end));
  });
  return act;
}

void CpuOps::embed(const Matrix& table, const TokenId* tokens, int32_t rows, float scale, float* y) {
  pool_.run(rows, std::max<int64_t>(1, kElementsPerPiece / table.cols), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) table_.dequantise(table, tokens[r], scale, y + r * table.cols);
  });
}

void CpuOps::rms_norm(const NormArgs& args) {
  pool_.run(args.rows, std::max<int64_t>(1, kElementsPerPiece / args.width), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      table_.rms_norm(args.x + r * args.width, args.weight, args.y + r * args.width, args.width, args.eps, args.scale);
  });
}

void CpuOps::add_norm(const AddNormArgs& args) {
  pool_.run(args.rows, std::max<int64_t>(1, kElementsPerPiece / args.width), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      if (args.weight != nullptr)
        table_.add_norm(args.x + r * args.width, args.branch + r * args.width, args.weight, args.width, args.eps,
                        args.scale);
      else
        table_.add_scaled(args.x + r * args.width, args.branch + r * args.width, args.scale, args.width);
  });
}

void CpuOps::linear(const float* x, int32_t rows, Activation activation, std::span<const Projection> out) {
  CHECK(out.size() <= kMaxProjections);
  Act acts[kMaxProjections];
  int64_t tiles = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    acts[i] = prepared(x, rows, *out[i].weight, activation, i == 0);
    tiles += tiles_of(*out[i].weight);
  }
  const auto matrix_at = [&](size_t i) -> const Matrix& { return *out[i].weight; };
  pool_.run(tiles, piece_of(tiles, pool_.threads()), [&](int64_t begin, int64_t end) {
    for_tiles(begin, end, out.size(), matrix_at, [&](size_t i, int32_t n_begin, int32_t n_end) {
      multiply(*out[i].weight, acts[i], out[i].y, out[i].weight->rows, n_begin, n_end);
    });
  });
}

void CpuOps::gated(const float* x, int32_t rows, Activation activation, const GatedArgs& args) {
  const Matrix &gate = *args.gate, &up = *args.up;
  float* const y = args.y;
  const auto gate_mul = gate_mul_of(table_, args.function);
  const Act gate_act = prepared(x, rows, gate, activation, true);
  const Act up_act = prepared(x, rows, up, activation, false);
  const int64_t width = gate.rows;
  auto* other = static_cast<float*>(gate_rows_.at_least(static_cast<size_t>(rows * width) * sizeof(float)));
  const int64_t tiles = tiles_of(gate);
  pool_.run(tiles, piece_of(tiles, pool_.threads()), [&](int64_t begin, int64_t end) {
    const auto n_begin = static_cast<int32_t>(begin * kOutputTile);
    const auto n_end = static_cast<int32_t>(std::min<int64_t>(end * kOutputTile, width));
    multiply(gate, gate_act, y, width, n_begin, n_end);
    multiply(up, up_act, other, width, n_begin, n_end);
    for (int32_t r = 0; r < rows; ++r) gate_mul(y + r * width + n_begin, other + r * width + n_begin, n_end - n_begin);
  });
}

void CpuOps::gate_mul(const GateMulArgs& args) {
  const int64_t width = args.width;
  const auto one = gate_mul_of(table_, args.function);
  if (width == args.stride) {
    pool_.run(args.rows * width, kElementsPerPiece,
              [&](int64_t begin, int64_t end) { one(args.y + begin, args.x + begin, end - begin); });
    return;
  }
  pool_.run(args.rows, std::max<int64_t>(1, kElementsPerPiece / width), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) one(args.y + r * width, args.x + r * args.stride, width);
  });
}

void CpuOps::add_scaled(float* y, const float* x, float scale, int64_t count) {
  pool_.run(count, kElementsPerPiece,
            [&](int64_t begin, int64_t end) { table_.add_scaled(y + begin, x + begin, scale, end - begin); });
}

void CpuOps::softcap(float* y, float cap, int64_t count) {
  pool_.run(count, kElementsPerPiece, [&](int64_t begin, int64_t end) { table_.softcap(y + begin, cap, end - begin); });
}

void CpuOps::route(const RouteArgs& args) {
  const int32_t experts = args.router->rows;
  const Projection out{args.router, args.scores};
  // In float32 whatever the rest runs in: the matrix is small, and a near tie decides which experts are read.
  linear(args.x, args.rows, Activation::f32, {&out, 1});
  for (int32_t r = 0; r < args.rows; ++r) {
    float* scores = args.scores + static_cast<int64_t>(r) * experts;
    const float top = table_.max_of(scores, experts);
    const float all_sum = table_.exp_sum(scores, top, experts);
    // The softmax's own denominator cancels when the chosen shares are divided by their sum.
    float chosen_sum = 0;
    for (int32_t rank = 0; rank < args.top; ++rank) {
      const auto best = static_cast<int32_t>(std::max_element(scores, scores + experts) - scores);
      args.chosen[r * args.top + rank] = best;
      args.share[r * args.top + rank] = scores[best];
      chosen_sum += scores[best];
      scores[best] = -1;
    }
    for (int32_t rank = 0; rank < args.top; ++rank)
      args.share[r * args.top + rank] *=
          args.expert_scale[args.chosen[r * args.top + rank]] / (args.divides ? chosen_sum : all_sum);
  }
}

void CpuOps::experts(const ExpertsArgs& args, Activation activation) {
  const int32_t count = args.gate->count, hidden = args.gate->first.cols, width = args.gate->first.rows;
  // Slots: the (row, rank) pairs, ordered by expert, so that each touched expert's rows are contiguous.
  const int32_t slots = args.rows * args.top;
  std::vector<int32_t> first(static_cast<size_t>(count) + 1, 0), slot_of(static_cast<size_t>(slots));
  for (int32_t i = 0; i < slots; ++i) ++first[static_cast<size_t>(args.chosen[i]) + 1];
  std::vector<int32_t> touched;
  for (int32_t e = 0; e < count; ++e) {
    if (first[static_cast<size_t>(e) + 1] > 0) touched.push_back(e);
    first[static_cast<size_t>(e) + 1] += first[static_cast<size_t>(e)];
  }
  std::vector<int32_t> next(first.begin(), first.end() - 1);
  for (int32_t i = 0; i < slots; ++i) slot_of[static_cast<size_t>(i)] = next[static_cast<size_t>(args.chosen[i])]++;

  const auto floats = static_cast<size_t>(slots) * static_cast<size_t>(2 * hidden + 2 * width);
  auto* gathered = static_cast<float*>(expert_rows_.at_least(floats * sizeof(float)));
  float* const gate_out = gathered + static_cast<int64_t>(slots) * hidden;
  float* const up_out = gate_out + static_cast<int64_t>(slots) * width;
  float* const down_out = up_out + static_cast<int64_t>(slots) * width;
  for (int32_t i = 0; i < slots; ++i)
    std::memcpy(gathered + static_cast<int64_t>(slot_of[static_cast<size_t>(i)]) * hidden,
                args.x + static_cast<int64_t>(i / args.top) * hidden, static_cast<size_t>(hidden) * sizeof(float));

  const auto rows_of = [&](int32_t e) { return first[static_cast<size_t>(e) + 1] - first[static_cast<size_t>(e)]; };
  std::vector<Act> acts(touched.size());
  // Every touched expert's rows of `from`, made ready for its matrix in `stack`.
  const auto prepare_all = [&](const float* from, const MatrixStack& stack) {
    size_t bytes = 0;
    std::vector<size_t> offset(touched.size());
    for (size_t i = 0; i < touched.size(); ++i) {
      acts[i].shape = act_shape_for(stack.first, rows_of(touched[i]), activation);
      offset[i] = bytes;
      bytes += (table_.act_bytes(acts[i].shape) + 63) / 64 * 64;
    }
    auto* base = static_cast<char*>(expert_acts_.at_least(bytes));
    pool_.run(static_cast<int64_t>(touched.size()), 1, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        acts[i].bytes = base + offset[i];
        const int32_t units = (acts[i].shape.rows + table_.act_unit - 1) / table_.act_unit;
        table_.prepare(acts[i], from + static_cast<int64_t>(first[static_cast<size_t>(touched[i])]) * stack.first.cols,
                       stack.first.cols, 0, units);
      }
    });
  };
  // Deals out all output tiles of all touched experts.
  const auto multiply_all = [&](const MatrixStack& stack, auto f) {
    const int64_t tiles = tiles_of(stack.first);
    const int64_t total = tiles * static_cast<int64_t>(touched.size());
    const auto matrix_at = [&](size_t) -> const Matrix& { return stack.first; };
    pool_.run(total, piece_of(total, pool_.threads()),
              [&](int64_t begin, int64_t end) { for_tiles(begin, end, touched.size(), matrix_at, f); });
  };

  const auto gate_mul = gate_mul_of(table_, args.function);
  prepare_all(gathered, *args.gate);
  multiply_all(*args.gate, [&](size_t i, int32_t n_begin, int32_t n_end) {
    const int64_t at = static_cast<int64_t>(first[static_cast<size_t>(touched[i])]) * width;
    multiply(args.gate->at(touched[i]), acts[i], gate_out + at, width, n_begin, n_end);
    multiply(args.up->at(touched[i]), acts[i], up_out + at, width, n_begin, n_end);
    for (int32_t r = 0; r < acts[i].shape.rows; ++r)
      gate_mul(gate_out + at + r * width + n_begin, up_out + at + r * width + n_begin, n_end - n_begin);
  });
  prepare_all(gate_out, *args.down);
  multiply_all(*args.down, [&](size_t i, int32_t n_begin, int32_t n_end) {
    multiply(args.down->at(touched[i]), acts[i],
             down_out + static_cast<int64_t>(first[static_cast<size_t>(touched[i])]) * hidden, hidden, n_begin, n_end);
  });
  for (int32_t r = 0; r < args.rows; ++r) {
    float* y = args.y + static_cast<int64_t>(r) * hidden;
    std::memset(y, 0, static_cast<size_t>(hidden) * sizeof(float));
    for (int32_t rank = 0; rank < args.top; ++rank)
      table_.blend(
          y, 1.0f,
          down_out + static_cast<int64_t>(
                         slot_of[static_cast<size_t>(r) * static_cast<size_t>(args.top) + static_cast<size_t>(rank)]) *
                         hidden,
          args.share[r * args.top + rank], hidden);
  }
}

}  // namespace paceline::kernels
