#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <set>

#include "bench_clock.h"
#include "bench_model.h"

namespace paceline::gpu {
namespace {

using kernels::Activation;
using kernels::HeadShape;
using kernels::kPageTokens;
using kernels::Projection;
using kernels::SeqSpan;
using kernels::cuda::CudaOps;

constexpr int32_t kFarForWindows = 4000;

__global__ void fill_kernel(uint2* to, int64_t count, uint64_t seed, const Bits bits) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  uint64_t s = (static_cast<uint64_t>(i) + seed) * 0x9e3779b97f4a7c15u + 88172645463325252u;
  s ^= s >> 29;
  s *= 0xbf58476d1ce4e5b9u;
  s ^= s >> 32;
  uint2 v = make_uint2(static_cast<uint32_t>(s), static_cast<uint32_t>(s >> 32));
  if (i * 8 % bits.every >= bits.bf16_from) {
    v.x = (v.x & 0x80ff80ffu) | 0x3c803c80u;
    v.y = (v.y & 0x80ff80ffu) | 0x3c803c80u;
  }
  to[i] = v;
}

}  // namespace

void fill(void* to, size_t bytes, uint64_t seed, const Bits& bits, cudaStream_t stream) {
  const auto words = static_cast<int64_t>(bytes / 8);
  fill_kernel<<<static_cast<unsigned>((words + 255) / 256), 256, 0, stream>>>(static_cast<uint2*>(to), words, seed,
                                                                              bits);
}

Model::Model(CudaOps& ops, const Shape& shape, WeightFormat format, int32_t most_context)
    : ops_(ops), s_(shape), format_(format) {
  head_ = matrix(kVocab, s_.hidden);
  int32_t last[2] = {0, 0};
  for (int32_t i = 0; i < s_.layers; ++i) {
    Layer l;
    l.global = (i + 1) % s_.per_global == 0;
    l.dim = l.global ? 512 : 256;
    l.kv_heads = l.global ? s_.kv_global : s_.kv_sliding;
    l.owns = i < s_.layers - s_.shared;
    if (l.owns) last[l.global] = i;
    l.source = last[l.global];
    l.value_is_key = l.global && s_.value_is_key;
    l.q = matrix(s_.heads * l.dim, s_.hidden);
    if (l.owns) l.k = matrix(l.kv_heads * l.dim, s_.hidden);
    if (l.owns && !l.value_is_key) l.v = matrix(l.kv_heads * l.dim, s_.hidden);
    l.o = matrix(s_.hidden, s_.heads * l.dim);
    l.gate = matrix(s_.ffn, s_.hidden);
    l.up = matrix(s_.ffn, s_.hidden);
    l.down = matrix(s_.hidden, s_.ffn);
    if (s_.experts > 0) {
      l.router = matrix(s_.experts, s_.hidden);
      l.e_gate = stack(s_.expert_ffn, s_.hidden);
      l.e_up = stack(s_.expert_ffn, s_.hidden);
      l.e_down = stack(s_.hidden, s_.expert_ffn);
    }
    if (s_.ple > 0) {
      l.ple_gate = matrix(s_.ple, s_.hidden);
      l.ple_up = matrix(s_.hidden, s_.ple);
    }
    layers_.push_back(l);
  }
  if (s_.ple > 0) ple_projection_ = matrix(s_.layers * s_.ple, s_.hidden);
  ones_ = floats(kernels::cuda::kMaxNormWidth);
  const std::vector<float> ones(kernels::cuda::kMaxNormWidth, 1.0f);
  ops_.upload(ones_, ones.data(), ones.size() * 4);
  page_numbers_.resize(static_cast<size_t>(std::max(most_context, 4096) / kPageTokens + 40));
  std::iota(page_numbers_.begin(), page_numbers_.end(), 0);
  for (Layer& l : layers_) {
    pages_.emplace_back();
    if (!l.owns) continue;
    const size_t bytes = static_cast<size_t>(l.kv_heads * l.dim) * kPageTokens * 2;  // joined, it takes less
    const auto pages = static_cast<size_t>((l.global ? most_context : std::min(most_context, 4096)) / kPageTokens + 40);
    pages_.back() = kernels::pages_in_a_row(random(2 * bytes * pages, {}), bytes, page_numbers_.data());
  }
  must(cudaDeviceSynchronize(), "making weights");
}

double Model::bytes(double touched) const {
  double sum = static_cast<double>(head_.bytes()) + static_cast<double>(ple_projection_.bytes());
  for (const Layer& l : layers_) {
    for (const Matrix* m : {&l.q, &l.k, &l.v, &l.o, &l.gate, &l.up, &l.down, &l.router, &l.ple_gate, &l.ple_up})
      sum += static_cast<double>(m->bytes());
    sum += touched * static_cast<double>(l.e_gate.first.bytes() + l.e_up.first.bytes() + l.e_down.first.bytes());
  }
  return sum;
}

// Of the layers that keep keys and values in one, where the device can.
int32_t Model::joined_of(const Layer& l) const {
  return joins_ && l.value_is_key && kernels::cuda::can_attend_joined(s_.heads, l.kv_heads) ? 128 : 0;
}

HeadShape Model::heads_of(const Layer& l) const {
  const int32_t joined = joined_of(l);
  return {s_.heads, l.kv_heads, l.dim, codes_ && joined > 0 ? DType::i8 : DType::bf16, joined};
}

double Model::kv_bytes(int32_t pos) const {
  double sum = 0;
  for (const Layer& l : layers_) {
    const int32_t seen = l.global ? pos + 1 : std::min(pos + 1, s_.window);
    sum += 2.0 * l.kv_heads * (joined_of(l) > 0 ? l.dim + joined_of(l) : 2 * l.dim) * seen;
  }
  return sum;
}

double Model::touched(int32_t rows, int32_t pos) {
  if (s_.experts == 0) return 0;
  int64_t count = 0;
  touched_ = &count;
  step(1, rows, pos, false);
  touched_ = nullptr;
  must(ops_.wait());
  return static_cast<double>(count) / s_.layers;
}

double Model::operations(int32_t rows) const {
  double sum = 0;
  for (const Layer& l : layers_) {
    for (const Matrix* m : {&l.q, &l.k, &l.v, &l.o, &l.gate, &l.up, &l.down, &l.router, &l.ple_gate, &l.ple_up})
      sum += 2.0 * rows * m->rows * m->cols;
    if (s_.experts > 0) sum += 2.0 * rows * s_.top * 3 * s_.expert_ffn * s_.hidden;
    const double seen = l.global           ? rows / 2.0
                        : rows > s_.window ? s_.window - s_.window * 0.5 * s_.window / rows
                                           : rows / 2.0;
    sum += 4.0 * rows * seen * s_.heads * l.dim;
  }
  return sum + 2.0 * rows * ple_projection_.rows * std::max(1, ple_projection_.cols);
}

void Model::step(int32_t seqs, int32_t rows, int32_t pos, bool with_head) {
  const int32_t all = seqs * rows;
  reserve(all);
  std::vector<SeqSpan> spans(static_cast<size_t>(seqs));
  std::vector<TokenId> tokens(static_cast<size_t>(all), 7);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<TokenId>(i * 977 % kVocab);
  auto* ids = reinterpret_cast<TokenId*>(tokens_);
  ops_.pick_tokens({tokens, {}, nullptr, ids});
  ops_.embed(head_, ids, all, 1.0f, x_);
  if (s_.ple > 0) {
    const Projection out{&ple_projection_, ple_};
    ops_.linear(x_, all, Activation::bf16, {&out, 1});
    ops_.rms_norm({ple_, ones_, ple_, all * s_.layers, s_.ple, 1e-6f, 1});
  }
  for (int32_t i = 0; i < s_.layers; ++i) {
    const Layer& l = layers_[static_cast<size_t>(i)];
    for (int32_t s = 0; s < seqs; ++s) {
      const auto at = static_cast<size_t>(l.source);
      // Further on a window sees as much, and has no pages here.
      spans[static_cast<size_t>(s)] = {s * rows, rows, l.global ? pos : std::min(pos, kFarForWindows), pages_[at]};
    }
    layer(l, all, i, spans);
  }
  ops_.rms_norm({x_, ones_, normed_, all, s_.hidden, 1e-6f, 1});
  if (!with_head) return;
  const Projection out{&head_, logits_};
  ops_.linear(normed_, all, Activation::bf16, {&out, 1});
  ops_.softcap(logits_, 30.0f, int64_t{all} * kVocab);
  ops_.argmax(logits_, all, kVocab, reinterpret_cast<TokenId*>(best_));
}

void Model::logits(int32_t rows) {
  const Projection out{&head_, logits_};
  ops_.linear(normed_, rows, Activation::bf16, {&out, 1});
}

void Model::attend(const Layer& l, int32_t rows, int32_t pos, bool with_heads, bool attends) {
  const auto at = static_cast<size_t>(l.source);
  const std::vector<SeqSpan> spans = {{0, rows, pos, pages_[at]}};
  const HeadShape shape = heads_of(l);
  kernels::HeadsArgs heads;
  heads.shape = shape;
  heads.q = q_;
  heads.k = l.owns ? k_ : nullptr;
  heads.v = l.owns ? (l.value_is_key ? k_ : v_) : nullptr;
  heads.q_weight = heads.k_weight = ones_;
  heads.cos = heads.sin = turns_;
  heads.eps = 1e-6f;
  heads.seqs = spans;
  const kernels::AttentionArgs attention{shape, q_, attended_, l.global ? 0 : s_.window, true, spans, nullptr};
  if (with_heads && attends)
    ops_.attend(heads, attention);
  else if (with_heads)
    ops_.heads(heads);
  else
    ops_.attention(attention);
}

void Model::layer(const Layer& l, int32_t all, int32_t i, const std::vector<SeqSpan>& spans) {
  const HeadShape shape = heads_of(l);
  ops_.rms_norm({x_, ones_, normed_, all, s_.hidden, 1e-6f, 1});
  project(l, all);
  kernels::HeadsArgs heads;
  heads.shape = shape;
  heads.q = q_;
  heads.k = l.owns ? k_ : nullptr;
  heads.v = l.owns ? (l.value_is_key ? k_ : v_) : nullptr;
  heads.q_weight = heads.k_weight = ones_;
  heads.eps = 1e-6f;
  heads.seqs = spans;
  // Which angle does not matter for time, but rows have to stay different.
  heads.cos = heads.sin = turns_;
  ops_.attend(heads, {shape, q_, attended_, l.global ? 0 : s_.window, true, spans, nullptr});
  const Projection o{&l.o, branch_};
  ops_.linear(attended_, all, Activation::bf16, {&o, 1});
  const kernels::AddNormArgs add{x_, branch_, ones_, all, s_.hidden, 1e-6f, 1};
  ops_.add_norm(add);
  const kernels::NormOutput normed[3] = {{ones_, normed_}, {ones_, routed_, 0.3f}, {ones_, e_in_}};
  auto* chosen = reinterpret_cast<int32_t*>(chosen_);
  ops_.rms_norms({x_, all, s_.hidden, 1e-6f, {normed, s_.experts > 0 ? 3u : 1u}});
  if (s_.experts > 0) route(l, all);
  if (s_.experts > 0) {
    kernels::MixtureArgs mix;
    mix.gate = &l.gate;
    mix.up = &l.up;
    mix.down = &l.down;
    mix.x = normed_;
    mix.wide = wide_;
    mix.dense = branch_;
    mix.experts = {&l.e_gate, &l.e_up, &l.e_down, e_in_, chosen, share_, all, s_.top, e_out_};
    mix.dense_weight = mix.expert_weight = ones_;
    mix.add = add;
    ops_.mixture(mix, Activation::bf16);
  } else {
    ops_.gated(normed_, all, Activation::bf16, {&l.gate, &l.up, wide_});
    const Projection down{&l.down, branch_};
    ops_.linear(wide_, all, Activation::bf16, {&down, 1});
    ops_.add_norm(add);
  }
  if (s_.ple > 0) per_layer(l, all, i);
}

void Model::project(const Layer& l, int32_t all) {
  const Projection out[3] = {{&l.q, q_}, {&l.k, k_}, {&l.v, v_}};
  ops_.linear(normed_, all, Activation::bf16, {out, !l.owns ? 1u : l.value_is_key ? 2u : 3u});
}

void Model::route(const Layer& l, int32_t all) {
  ops_.route({&l.router, routed_, ones_, all, s_.top, scores_, reinterpret_cast<int32_t*>(chosen_), share_});
  if (touched_ == nullptr) return;
  const auto slots = static_cast<size_t>(all) * static_cast<size_t>(s_.top);
  kernels::HostCopy copy;
  const auto* ids = static_cast<const int32_t*>(ops_.fetch(chosen_, slots * sizeof(int32_t), copy));
  must(ops_.wait());
  *touched_ += static_cast<int64_t>(std::set<int32_t>(ids, ids + slots).size());
}

void Model::mix(const Layer& l, int32_t all) {
  ops_.experts({&l.e_gate, &l.e_up, &l.e_down, e_in_, reinterpret_cast<int32_t*>(chosen_), share_, all, s_.top, e_out_},
               Activation::bf16);
}

void Model::per_layer(const Layer& l, int32_t all, int32_t i) {
  ops_.gated_by(x_, Activation::bf16, l.ple_gate,
                {wide_, ple_ + static_cast<int64_t>(i) * s_.ple, all, s_.ple, s_.layers * s_.ple});
  const Projection up{&l.ple_up, branch_};
  ops_.linear(wide_, all, Activation::bf16, {&up, 1});
  ops_.add_norm({x_, branch_, ones_, all, s_.hidden, 1e-6f, 1});
}

void Model::reserve(int32_t rows) {
  if (rows <= rows_) return;
  rows_ = rows;
  const auto r = static_cast<size_t>(rows);
  const auto h = static_cast<size_t>(s_.hidden);
  x_ = floats(r * h);
  normed_ = floats(r * h);
  branch_ = floats(r * h);
  q_ = floats(r * static_cast<size_t>(s_.heads) * 512);
  attended_ = floats(r * static_cast<size_t>(s_.heads) * 512);
  k_ = floats(r * 16 * 512);
  v_ = floats(r * 16 * 512);
  turns_ = floats(r * 256);
  const std::vector<float> halves(r * 256, 0.7071f);
  ops_.upload(turns_, halves.data(), halves.size() * sizeof(float));
  wide_ = floats(r * static_cast<size_t>(std::max(s_.ffn, 16384)));
  best_ = floats(r);
  tokens_ = floats(r);
  logits_ = floats(std::min<size_t>(r, 64) * kVocab);
  if (s_.experts > 0) {
    e_in_ = floats(r * h);
    routed_ = floats(r * h);
    e_out_ = floats(r * h);
    scores_ = floats(r * static_cast<size_t>(s_.experts));
    chosen_ = floats(r * static_cast<size_t>(s_.top));
    share_ = floats(r * static_cast<size_t>(s_.top));
  }
  if (s_.ple > 0) ple_ = floats(r * static_cast<size_t>(s_.layers * s_.ple));
  must(cudaDeviceSynchronize(), "row buffers");
}

void* Model::random(size_t bytes, const Bits& bits) {
  owners_.push_back(ops_.memory(bytes));
  if (owners_.back() == nullptr) {
    std::printf("%s\n", ops_.wait().error().message.c_str());
    std::exit(2);
  }
  fill(owners_.back().get(), bytes, seed_ += 1000003, bits, ops_.stream());
  return owners_.back().get();
}

float* Model::floats(size_t count) {
  owners_.push_back(ops_.memory(count * 4));
  return static_cast<float*>(owners_.back().get());
}

Matrix Model::matrix(int32_t rows, int32_t cols, int32_t count) {
  Matrix m;
  const bool fits = cols % 64 == 0;
  m.format = fits ? format_ : WeightFormat::bf16;
  m.rows = rows;
  m.cols = cols;
  m.packed = true;
  if (m.quantised()) m.group = 64;
  if (in_blocks(m.format)) m.group = block_shape(m.format).group;
  const kernels::cuda::Weight w = CudaOps::weight_of(m);
  Bits bits;
  if (w.format == kernels::cuda::Format::q8 || w.format == kernels::cuda::Format::q4)
    bits = {kernels::cuda::pair_step_bytes(w.format, w.group, w.scales), 2 * kernels::cuda::step_value_bytes(w.format)};
  m.values = random(kernels::cuda::bytes_of(w) * static_cast<size_t>(count), bits);
  return m;
}

MatrixStack Model::stack(int32_t rows, int32_t cols) {
  MatrixStack s;
  s.first = matrix(rows, cols, s_.experts);
  s.count = s_.experts;
  s.stride_bytes = kernels::cuda::bytes_of(CudaOps::weight_of(s.first));
  return s;
}

}  // namespace paceline::gpu
