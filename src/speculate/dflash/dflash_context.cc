#include "speculate/dflash/dflash_context.h"

#include <algorithm>

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
    const auto held = static_cast<int32_t>(at_.s.rows.size());
    const int32_t some = std::min(rows.count, kMostRows - held);
    if (some <= 0) return 0;
    caches_.push_back(rows.kv);
    at_.s.spans.push_back({held, some, rows.first_pos, {}});
    for (int32_t i = 0; i < some; ++i) {
      at_.s.rows.push_back(rows.first_row + i);
      at_.s.positions.push_back(rows.first_pos + i);
    }
    return some;
  }

  void run() {
    const auto rows = static_cast<int32_t>(at_.s.rows.size());
    if (rows == 0) return;
    fuse(rows);
    at_.rotate();
    const size_t layers = at_.w.layers.size();
    for (size_t first = 0; first < layers; first += kLayersAtOnce)
      keep(rows, first, std::min(layers - first, kLayersAtOnce));
    clear();
  }

  void clear() {
    at_.s.rows.clear();
    at_.s.positions.clear();
    at_.s.spans.clear();
    caches_.clear();
  }

 private:
  void fuse(int32_t rows) {
    const int32_t parts = at_.w.fc.cols / at_.c.hidden;
    float* joined = at_.sized(at_.s.joined, int64_t{rows} * at_.w.fc.cols);
    float* context = at_.sized(at_.s.context, int64_t{rows} * at_.c.hidden);
    at_.ops.blocks()->join({taps_.values, at_.s.rows, joined, parts, taps_.rows, at_.c.hidden});
    at_.linear(joined, rows, at_.w.fc, context);
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
