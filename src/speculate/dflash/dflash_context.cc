#include "speculate/dflash/dflash_context.h"

#include <algorithm>
#include <numeric>

namespace paceline {
namespace {

constexpr int32_t kMostRows = 256;
// Two products for each.
constexpr size_t kLayersAtOnce = kernels::kMaxProjections / 2;

class Piece {
 public:
  Piece(const DflashAt& at, const Taps& taps) : at_(at), taps_(taps) {}

  // Takes as many of them as there is room for.
  int32_t add(const DflashContextRows& rows) {
    const auto held = static_cast<int32_t>(at_.s.positions.size());
    DflashContextRows some = rows;
    some.count = std::min(rows.count, kMostRows - held);
    if (some.count <= 0) return 0;
    span(held, some);
    for (int32_t i = 0; i < some.count; ++i) at_.s.positions.push_back(rows.first_pos + i);
    const int64_t width = at_.w.fc.cols;
    float* to = at_.sized(at_.s.joined, int64_t{kMostRows} * width) + held * width;
    if (rows.joined == nullptr) {
      join_rows(at_, taps_, some, to);
    } else {
      at_.ops.copy(to, rows.joined + rows.first_row * width, static_cast<size_t>(some.count * width) * sizeof(float));
    }
    return some.count;
  }

  void run() {
    const auto rows = static_cast<int32_t>(at_.s.positions.size());
    if (rows == 0) return;
    fuse(rows);
    at_.rotate();
    const size_t layers = at_.w.layers.size();
    for (size_t first = 0; first < layers; first += kLayersAtOnce)
      keep(rows, first, std::min(layers - first, kLayersAtOnce));
    clear();
  }

  void clear() {
    at_.s.positions.clear();
    at_.s.spans.clear();
    caches_.clear();
  }

 private:
  // Rows behind those before them are one span, wherever they came from.
  void span(int32_t first_row, const DflashContextRows& rows) {
    if (!caches_.empty() && caches_.back() == rows.kv) {
      kernels::SeqSpan& last = at_.s.spans.back();
      if (last.first_pos + last.count == rows.first_pos) {
        last.count += rows.count;
        return;
      }
    }
    caches_.push_back(rows.kv);
    at_.s.spans.push_back({first_row, rows.count, rows.first_pos, {}});
  }

  void fuse(int32_t rows) {
    float* context = at_.sized(at_.s.context, int64_t{rows} * at_.c.hidden);
    at_.linear(at_.s.joined.data(), rows, at_.w.fc, context);
    at_.norm(context, rows, at_.w.hidden_norm, context);
  }

  void keep(int32_t rows, size_t first, size_t count) {
    const int64_t floats = int64_t{rows} * at_.c.kv_heads * at_.c.head_dim;
    float* keys = at_.sized(at_.s.keys, floats * static_cast<int64_t>(count));
    float* values = at_.sized(at_.s.values, floats * static_cast<int64_t>(count));
    kernels::Projection out[kernels::kMaxProjections];
    for (size_t i = 0; i < count; ++i) {
      const DflashLayer& l = at_.w.layers[first + i];
      out[2 * i] = {&l.k, keys + floats * static_cast<int64_t>(i)};
      out[2 * i + 1] = {&l.v, values + floats * static_cast<int64_t>(i)};
    }
    at_.ops.linear(at_.s.context.data(), rows, at_.act, {out, 2 * count});
    for (size_t i = 0; i < count; ++i) {
      const DflashLayer& l = at_.w.layers[first + i];
      at_.add_bias(out[2 * i].y, rows, l.k_bias);
      at_.add_bias(out[2 * i + 1].y, rows, l.v_bias);
      const auto layer = static_cast<int32_t>(first + i);
      for (size_t seq = 0; seq < caches_.size(); ++seq)
        at_.s.spans[seq].pages = caches_[seq]->pages(at_.first_layer + layer);
      kernels::HeadsArgs heads = at_.heads_of(layer, 0);
      heads.k = out[2 * i].y;
      heads.v = out[2 * i + 1].y;
      at_.ops.heads(heads);
    }
  }

  const DflashAt& at_;
  const Taps& taps_;
  std::vector<const KvCache*> caches_;
};

}  // namespace

void join_rows(const DflashAt& at, const Taps& taps, const DflashContextRows& rows, float* to) {
  at.s.rows.resize(static_cast<size_t>(rows.count));
  std::iota(at.s.rows.begin(), at.s.rows.end(), rows.first_row);
  at.ops.blocks()->join({taps.values, at.s.rows, to, at.w.fc.cols / at.c.hidden, taps.rows, at.c.hidden});
}

void remember_rows(const DflashAt& at, std::span<const DflashContextRows> rows, const Taps& taps) {
  Piece piece(at, taps);
  piece.clear();
  for (DflashContextRows left : rows) {
    while (left.count > 0) {
      const int32_t taken = piece.add(left);
      left.first_pos += taken;
      left.first_row += taken;
      left.count -= taken;
      if (left.count > 0) piece.run();
    }
  }
  piece.run();
}

}  // namespace paceline
