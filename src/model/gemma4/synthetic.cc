#include "model/gemma4/synthetic.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "base/check.h"

namespace paceline {
namespace {

// Memory for one matrix after another, filled with random bits by all threads.
class Maker {
 public:
  Maker(const SyntheticFormat& format, ThreadPool* pool, std::vector<std::shared_ptr<const void>>& owners)
      : format_(format), pool_(pool), owners_(owners) {}

  Matrix matrix(int64_t rows, int32_t cols) {
    Matrix m;
    const bool fits = cols % format_.group == 0;
    m.format = fits || format_.format == WeightFormat::bf16 ? format_.format : WeightFormat::bf16;
    m.rows = static_cast<int32_t>(rows);
    m.cols = cols;
    if (m.quantised()) m.group = format_.group;
    bytes_ += static_cast<size_t>(rows) * (m.row_value_bytes() + 2 * m.row_scale_bytes());
    if (pool_ == nullptr) return m;
    // Values about 1/sqrt(cols), so that sums neither vanish nor overflow.
    m.values = filled(static_cast<size_t>(rows) * m.row_value_bytes(), m.format == WeightFormat::bf16);
    if (m.quantised()) {
      const float middle = m.format == WeightFormat::q8 ? 127.5f : 7.5f;
      const float scale = 0.03f / middle;
      m.scales = constant(static_cast<size_t>(rows) * m.row_scale_bytes(), scale);
      m.biases = constant(static_cast<size_t>(rows) * m.row_scale_bytes(), -middle * scale);
    }
    return m;
  }

  MatrixStack stack(int32_t count, int32_t rows, int32_t cols) {
    const Matrix all = matrix(static_cast<int64_t>(count) * rows, cols);
    return {pool_ == nullptr ? all : all.row_slice(0, rows), count, rows};
  }

  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  std::byte* allocate(size_t bytes) {
    auto* block = static_cast<std::byte*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096));
    CHECK(block != nullptr);
    owners_.push_back(std::shared_ptr<const void>(block, [](const void* p) { std::free(const_cast<void*>(p)); }));
    return block;
  }

  const void* filled(size_t bytes, bool bf16) {
    std::byte* block = allocate(bytes);
    // Every piece has a seed of its own, whichever thread fills it and however many pieces that thread gets at once.
    constexpr size_t kPiece = 1 << 20;
    pool_->run(static_cast<int64_t>((bytes + kPiece - 1) / kPiece), 1, [&](int64_t first, int64_t last) {
      for (auto piece = static_cast<size_t>(first); piece < static_cast<size_t>(last); ++piece)
        fill_piece(block, piece * kPiece, std::min(bytes, (piece + 1) * kPiece), bf16);
    });
    return block;
  }

  void fill_piece(std::byte* block, size_t begin, size_t end, bool bf16) const {
    uint64_t state = begin * 0x9e3779b97f4a7c15u + 88172645463325252u + bytes_;
    for (size_t at = begin; at < end; at += 8) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      // bf16: sign and fraction random, exponent 2^-6 to 2^-5.
      const uint64_t word = bf16 ? (state & 0x80ff80ff80ff80ffu) | 0x3c803c803c803c80u : state;
      std::memcpy(block + at, &word, std::min<size_t>(end - at, 8));
    }
  }

  const void* constant(size_t bytes, float value) {
    auto* block = reinterpret_cast<uint16_t*>(allocate(bytes));
    const uint16_t bits = f32_to_bf16(value);
    for (size_t i = 0; i < bytes / 2; ++i) block[i] = bits;
    return block;
  }

  SyntheticFormat format_;
  ThreadPool* pool_;
  std::vector<std::shared_ptr<const void>>& owners_;
  size_t bytes_ = 0;
};

LayerWeights make_layer(const Gemma4Config& c, int32_t i, Maker& maker) {
  const LayerConfig& lc = c.layers[static_cast<size_t>(i)];
  const auto hidden = static_cast<size_t>(c.hidden);
  LayerWeights l;
  for (Vector* norm : {&l.input_norm, &l.post_attention_norm, &l.pre_ffn_norm, &l.post_ffn_norm})
    norm->assign(hidden, 1.0f);
  l.q_norm.assign(static_cast<size_t>(lc.head_dim), 1.0f);
  l.q = maker.matrix(c.heads * lc.head_dim, c.hidden);
  l.o = maker.matrix(c.hidden, c.heads * lc.head_dim);
  if (lc.kv_layer == i) {
    l.k_norm = l.q_norm;
    l.k = maker.matrix(lc.kv_heads * lc.head_dim, c.hidden);
    if (!lc.value_is_key) l.v = maker.matrix(lc.kv_heads * lc.head_dim, c.hidden);
  }
  l.gate = maker.matrix(lc.ffn, c.hidden);
  l.up = maker.matrix(lc.ffn, c.hidden);
  l.down = maker.matrix(c.hidden, lc.ffn);
  if (c.experts > 0) {
    for (Vector* norm : {&l.post_ffn_norm_1, &l.pre_ffn_norm_2, &l.post_ffn_norm_2, &l.router_scale})
      norm->assign(hidden, 1.0f);
    l.per_expert_scale.assign(static_cast<size_t>(c.experts), 1.0f);
    l.router = maker.matrix(c.experts, c.hidden);
    l.expert_gate = maker.stack(c.experts, c.expert_ffn, c.hidden);
    l.expert_up = maker.stack(c.experts, c.expert_ffn, c.hidden);
    l.expert_down = maker.stack(c.experts, c.hidden, c.expert_ffn);
  }
  if (c.ple_width > 0) {
    l.ple_gate = maker.matrix(c.ple_width, c.hidden);
    l.ple_projection = maker.matrix(c.hidden, c.ple_width);
    l.post_ple_norm.assign(hidden, 1.0f);
  }
  return l;
}

void make_all(Gemma4Weights& w, Maker& maker) {
  const Gemma4Config& c = w.config;
  w.embedding = maker.matrix(c.vocab, c.hidden);
  w.head = w.embedding;
  w.final_norm.assign(static_cast<size_t>(c.hidden), 1.0f);
  for (int32_t i = 0; i < c.layer_count(); ++i) w.layers.push_back(make_layer(c, i, maker));
  if (c.ple_width > 0) {
    w.ple_embedding = maker.matrix(c.ple_vocab, c.layer_count() * c.ple_width);
    w.ple_model_projection = maker.matrix(c.layer_count() * c.ple_width, c.hidden);
    w.ple_projection_norm.assign(static_cast<size_t>(c.ple_width), 1.0f);
  }
}

void make_all(MtpWeights& w, Maker& maker) {
  const Gemma4Config& c = w.config.text;
  const int32_t backbone = w.config.backbone_hidden;
  w.pre_projection = maker.matrix(c.hidden, 2 * backbone);
  w.post_projection = maker.matrix(backbone, c.hidden);
  w.final_norm.assign(static_cast<size_t>(c.hidden), 1.0f);
  for (int32_t i = 0; i < c.layer_count(); ++i) w.layers.push_back(make_layer(c, i, maker));
  if (w.config.centroids == 0) {
    w.head = maker.matrix(c.vocab, c.hidden);
    return;
  }
  w.centroids = maker.matrix(w.config.centroids, c.hidden);
  w.clusters = maker.stack(w.config.centroids, c.vocab / w.config.centroids, c.hidden);
  w.cluster_tokens.resize(static_cast<size_t>(c.vocab));
  std::iota(w.cluster_tokens.begin(), w.cluster_tokens.end(), 0);
}

}  // namespace

size_t synthetic_bytes(const Gemma4Config& config, const SyntheticFormat& format) {
  Gemma4Weights w;
  w.config = config;
  Maker maker(format, nullptr, w.owners);
  make_all(w, maker);
  return maker.bytes();
}

std::shared_ptr<const Gemma4Weights> make_synthetic(const Gemma4Config& config, const SyntheticFormat& format,
                                                    ThreadPool& pool) {
  auto w = std::make_shared<Gemma4Weights>();
  w->config = config;
  Maker maker(format, &pool, w->owners);
  make_all(*w, maker);
  return w;
}

size_t synthetic_mtp_bytes(const AssistantConfig& config, const SyntheticFormat& format) {
  MtpWeights w;
  w.config = config;
  Maker maker(format, nullptr, w.owners);
  make_all(w, maker);
  return maker.bytes();
}

std::shared_ptr<const MtpWeights> make_synthetic_mtp(const AssistantConfig& config, const SyntheticFormat& format,
                                                     ThreadPool& pool) {
  auto w = std::make_shared<MtpWeights>();
  w->config = config;
  Maker maker(format, &pool, w->owners);
  make_all(*w, maker);
  return w;
}

}  // namespace paceline
