// How fast the CUDA device runs the family's shapes: the card's own ceilings, each kind of product, and whole steps
// with random weights in device memory, as shares of what bytes and operations allow. A table on stdout; JSON where
// told.
//
//   kernels_bench [--json FILE] [--models 31b,26b-a4b,12b,e4b] [--formats bf16,q8,q4]
//     [--brief yes] [--prompts only] [--layers AT_MOST] [--ceilings no]
#if defined(PACELINE_CUBLAS)
#include <cublas_v2.h>
#endif
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "kernels/cuda/cuda_ops.h"

namespace paceline::gpu {
namespace {

using kernels::Activation;
using kernels::HeadShape;
using kernels::kPageTokens;
using kernels::Ops;
using kernels::Projection;
using kernels::SeqSpan;
using kernels::cuda::CudaOps;

std::string json = "[\n";
bool first_line = true;

void report(const std::string& model, const std::string& what, double ms, double share, const char* unit, double rate) {
  std::printf("%-8s %-34s %9.3f ms  %8.2f %-7s %6.1f %%\n", model.c_str(), what.c_str(), ms, rate, unit, share * 100);
  std::fflush(stdout);
  char line[512];
  std::snprintf(line, sizeof line,
                R"(%s  {"model": "%s", "what": "%s", "ms": %.5f, "rate": %.3f, "unit": "%s", "share": %.4f})",
                first_line ? "" : ",\n", model.c_str(), what.c_str(), ms, rate, unit, share);
  first_line = false;
  json += line;
}

void must(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(error));
  std::exit(2);
}

// Whose work is timed: what is enqueued has to be started.
CudaOps* bench_ops = nullptr;

// Median milliseconds of one call, from device events.
double time_ms(cudaStream_t stream, int repeats, const std::function<void()>& work) {
  const auto f = [&] {
    work();
    bench_ops->start();
  };
  f();
  cudaEvent_t begin, end;
  must(cudaEventCreate(&begin), "event");
  must(cudaEventCreate(&end), "event");
  std::vector<float> all;
  for (int i = 0; i < repeats; ++i) {
    must(cudaEventRecord(begin, stream), "record");
    f();
    must(cudaEventRecord(end, stream), "record");
    must(cudaEventSynchronize(end), "running");
    float ms = 0;
    must(cudaEventElapsedTime(&ms, begin, end), "elapsed");
    all.push_back(ms);
  }
  (void)cudaEventDestroy(begin);
  (void)cudaEventDestroy(end);
  std::sort(all.begin(), all.end());
  return static_cast<double>(all[all.size() / 2]);
}

// The same work as a graph, launched once per repetition.
double time_graph_ms(cudaStream_t stream, int repeats, const std::function<void()>& work) {
  const auto f = [&] {
    work();
    bench_ops->start();
  };
  f();
  must(cudaStreamSynchronize(stream), "warming up");
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  f();
  must(cudaStreamEndCapture(stream, &graph), "capture");
  must(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
  const double ms = time_ms(stream, repeats, [&] { must(cudaGraphLaunch(exec, stream), "launch"); });
  (void)cudaGraphExecDestroy(exec);
  (void)cudaGraphDestroy(graph);
  return ms;
}

__global__ void read_kernel(const uint4* from, int64_t count, uint32_t* out) {
  uint32_t sum = 0;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + 3 * stride < count; i += 4 * stride) {
    uint4 v[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) v[k] = __ldcs(from + i + k * stride);
#pragma unroll
    for (int k = 0; k < 4; ++k) sum ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
  }
  if (sum == 0x12345678u) *out = sum;
}

// bf16: sign and fraction random, exponent 2^-6 to 2^-5; else any bits.
__global__ void fill_kernel(uint2* to, int64_t count, uint64_t seed, bool bf16) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  uint64_t s = (static_cast<uint64_t>(i) + seed) * 0x9e3779b97f4a7c15u + 88172645463325252u;
  s ^= s >> 29;
  s *= 0xbf58476d1ce4e5b9u;
  s ^= s >> 32;
  uint2 v = make_uint2(static_cast<uint32_t>(s), static_cast<uint32_t>(s >> 32));
  if (bf16) {
    v.x = (v.x & 0x80ff80ffu) | 0x3c803c80u;
    v.y = (v.y & 0x80ff80ffu) | 0x3c803c80u;
  }
  to[i] = v;
}

struct Shape {
  const char* name;
  int32_t layers, hidden, ffn, heads, kv_sliding, kv_global, per_global, window, shared;
  bool value_is_key;
  int32_t ple, experts, top, expert_ffn;
  int32_t draft_hidden, draft_ffn, draft_heads;
};
constexpr int32_t kVocab = 262144;
constexpr Shape kShapes[] = {
    {"31b", 60, 5376, 21504, 32, 16, 4, 6, 1024, 0, true, 0, 0, 0, 0, 1024, 8192, 32},
    {"26b-a4b", 30, 2816, 2112, 16, 8, 2, 6, 1024, 0, true, 0, 128, 8, 704, 1024, 8192, 16},
    {"12b", 48, 3840, 15360, 16, 8, 1, 6, 1024, 0, true, 0, 0, 0, 0, 1024, 8192, 16},
    {"e4b", 42, 2560, 10240, 8, 2, 2, 6, 512, 18, false, 256, 0, 0, 0, 256, 2048, 4},
};

struct Layer {
  bool global = false, owns = true, value_is_key = false;
  int32_t dim = 0, kv_heads = 0, source = 0;
  Matrix q, k, v, o, gate, up, down, router, ple_gate, ple_up;
  MatrixStack e_gate, e_up, e_down;
};

// A model of random bits in device memory.
class Model {
 public:
  Model(CudaOps& ops, const Shape& shape, WeightFormat format) : ops_(ops), s_(shape), format_(format) {
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
    const int32_t pages = 4096 / kPageTokens + 40;
    for (Layer& l : layers_) {
      keys_.emplace_back();
      values_.emplace_back();
      if (!l.owns) continue;
      const size_t bytes = static_cast<size_t>(l.kv_heads * l.dim) * kPageTokens * 2;
      for (int32_t p = 0; p < pages; ++p) {
        keys_.back().push_back(random(bytes, true));
        values_.back().push_back(random(bytes, true));
      }
    }
    must(cudaDeviceSynchronize(), "making weights");
  }

  // Bytes that a step of `rows` rows reads of weights; experts as `touched` says.
  [[nodiscard]] double bytes(double touched) const {
    double sum = static_cast<double>(head_.bytes()) + static_cast<double>(ple_projection_.bytes());
    for (const Layer& l : layers_) {
      for (const Matrix* m : {&l.q, &l.k, &l.v, &l.o, &l.gate, &l.up, &l.down, &l.router, &l.ple_gate, &l.ple_up})
        sum += static_cast<double>(m->bytes());
      sum += touched * static_cast<double>(l.e_gate.first.bytes() + l.e_up.first.bytes() + l.e_down.first.bytes());
    }
    return sum;
  }
  // Bytes of keys and values that one row's step at this position reads.
  [[nodiscard]] double kv_bytes(int32_t pos) const {
    double sum = 0;
    for (const Layer& l : layers_) {
      const int32_t seen = l.global ? pos + 1 : std::min(pos + 1, s_.window);
      sum += 4.0 * l.kv_heads * l.dim * seen;
    }
    return sum;
  }
  // Operations of a prompt of so many rows, without the head.
  [[nodiscard]] double operations(int32_t rows) const {
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

  // One step: `seqs` sequences of `rows` rows each, at position pos. The same operations as the text model's forward.
  void step(int32_t seqs, int32_t rows, int32_t pos, bool with_head) {
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
        spans[static_cast<size_t>(s)] = {s * rows, rows, pos, {keys_[at].data(), values_[at].data(), 0}};
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

  const Layer& sliding() const { return layers_[0]; }
  const Matrix& head() const { return head_; }
  void logits(int32_t rows) {
    const Projection out{&head_, logits_};
    ops_.linear(normed_, rows, Activation::bf16, {&out, 1});
  }
  const std::vector<Layer>& layers() const { return layers_; }
  const Shape& shape() const { return s_; }

  // Attention alone, with heads in front of it where asked.
  void attend(const Layer& l, int32_t rows, int32_t pos, bool with_heads, bool attends) {
    const auto at = static_cast<size_t>(l.source);
    const std::vector<SeqSpan> spans = {{0, rows, pos, {keys_[at].data(), values_[at].data(), 0}}};
    const HeadShape shape{s_.heads, l.kv_heads, l.dim, DType::bf16};
    kernels::HeadsArgs heads;
    heads.shape = shape;
    heads.q = q_;
    heads.k = l.owns ? k_ : nullptr;
    heads.v = l.owns ? v_ : nullptr;
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

  void layer(const Layer& l, int32_t all, int32_t i, const std::vector<SeqSpan>& spans) {
    const HeadShape shape{s_.heads, l.kv_heads, l.dim, DType::bf16};
    ops_.rms_norm({x_, ones_, normed_, all, s_.hidden, 1e-6f, 1});
    project(l, all);
    kernels::HeadsArgs heads;
    heads.shape = shape;
    heads.q = q_;
    heads.k = l.owns ? k_ : nullptr;
    heads.v = l.owns ? (l.value_is_key ? k_ : v_) : nullptr;
    heads.q_weight = heads.k_weight = ones_;
    heads.cos = heads.sin = ones_;
    heads.eps = 1e-6f;
    heads.seqs = spans;
    // Cosines of all rows from one line of ones: which angle does not matter for time.
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
      ops_.gated(normed_, all, Activation::bf16, l.gate, l.up, wide_);
      const Projection down{&l.down, branch_};
      ops_.linear(wide_, all, Activation::bf16, {&down, 1});
      ops_.add_norm(add);
    }
    if (s_.ple > 0) per_layer(l, all, i);
  }

  void project(const Layer& l, int32_t all) {
    const Projection out[3] = {{&l.q, q_}, {&l.k, k_}, {&l.v, v_}};
    ops_.linear(normed_, all, Activation::bf16, {out, !l.owns ? 1u : l.value_is_key ? 2u : 3u});
  }
  void route(const Layer& l, int32_t all) {
    ops_.route({&l.router, routed_, ones_, all, s_.top, scores_, reinterpret_cast<int32_t*>(chosen_), share_});
  }
  void mix(const Layer& l, int32_t all) {
    ops_.experts(
        {&l.e_gate, &l.e_up, &l.e_down, e_in_, reinterpret_cast<int32_t*>(chosen_), share_, all, s_.top, e_out_},
        Activation::bf16);
  }
  void per_layer(const Layer& l, int32_t all, int32_t i) {
    ops_.gated_by(x_, Activation::bf16, l.ple_gate,
                  {wide_, ple_ + static_cast<int64_t>(i) * s_.ple, all, s_.ple, s_.layers * s_.ple});
    const Projection up{&l.ple_up, branch_};
    ops_.linear(wide_, all, Activation::bf16, {&up, 1});
    ops_.add_norm({x_, branch_, ones_, all, s_.hidden, 1e-6f, 1});
  }

  // Row buffers for so many rows.
  void reserve(int32_t rows) {
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

  float *x_ = nullptr, *normed_ = nullptr, *branch_ = nullptr, *wide_ = nullptr, *q_ = nullptr, *attended_ = nullptr;

 private:
  void* random(size_t bytes, bool bf16) {
    owners_.push_back(ops_.memory(bytes));
    if (owners_.back() == nullptr) {
      std::printf("%s\n", ops_.wait().error().message.c_str());
      std::exit(2);
    }
    const auto words = static_cast<int64_t>(bytes / 8);
    fill_kernel<<<static_cast<unsigned>((words + 255) / 256), 256, 0, ops_.stream()>>>(
        static_cast<uint2*>(owners_.back().get()), words, seed_ += 1000003, bf16);
    return owners_.back().get();
  }
  float* floats(size_t count) {
    owners_.push_back(ops_.memory(count * 4));
    return static_cast<float*>(owners_.back().get());
  }
  Matrix matrix(int32_t rows, int32_t cols, int32_t count = 1) {
    Matrix m;
    const bool fits = cols % 64 == 0;
    m.format = fits ? format_ : WeightFormat::bf16;
    m.rows = rows;
    m.cols = cols;
    m.packed = true;
    if (m.quantised()) m.group = 64;
    const auto f = m.format == WeightFormat::bf16 ? kernels::cuda::Format::bf16
                   : m.format == WeightFormat::q8 ? kernels::cuda::Format::q8
                                                  : kernels::cuda::Format::q4;
    const auto n = static_cast<size_t>(count);
    m.values = random(kernels::cuda::value_bytes(f, rows, cols) * n, m.format == WeightFormat::bf16);
    if (m.quantised()) m.scales = random(kernels::cuda::scale_bytes(f, rows, cols, 64, false) * n, true);
    return m;
  }
  MatrixStack stack(int32_t rows, int32_t cols) {
    MatrixStack s;
    s.first = matrix(rows, cols, s_.experts);
    s.count = s_.experts;
    const auto f = s.first.format == WeightFormat::bf16 ? kernels::cuda::Format::bf16
                   : s.first.format == WeightFormat::q8 ? kernels::cuda::Format::q8
                                                        : kernels::cuda::Format::q4;
    s.stride_bytes = kernels::cuda::value_bytes(f, rows, cols);
    return s;
  }

  CudaOps& ops_;
  Shape s_;
  WeightFormat format_;
  uint64_t seed_ = 1;
  int32_t rows_ = 0;
  std::vector<std::shared_ptr<void>> owners_;
  std::vector<Layer> layers_;
  std::vector<std::vector<void*>> keys_, values_;
  Matrix head_, ple_projection_;
  float *ones_ = nullptr, *turns_ = nullptr, *k_ = nullptr, *v_ = nullptr, *best_ = nullptr, *logits_ = nullptr;
  float *routed_ = nullptr, *tokens_ = nullptr;
  float *e_in_ = nullptr, *e_out_ = nullptr, *scores_ = nullptr, *chosen_ = nullptr, *share_ = nullptr, *ple_ = nullptr;
};

struct Ceilings {
  double bytes_per_ms = 0, operations_per_ms = 0;
};

Ceilings measure_ceilings(cudaStream_t stream) {
  Ceilings c;
  const size_t bytes = size_t{8} << 30;
  void* block = nullptr;
  must(cudaMalloc(&block, bytes), "memory");
  fill_kernel<<<static_cast<unsigned>(bytes / 8 / 256), 256, 0, stream>>>(static_cast<uint2*>(block),
                                                                          static_cast<int64_t>(bytes / 8), 3, true);
  const double ms = time_ms(stream, 7, [&] {
    read_kernel<<<132 * 16, 512, 0, stream>>>(static_cast<const uint4*>(block), static_cast<int64_t>(bytes / 16),
                                              static_cast<uint32_t*>(block));
  });
  c.bytes_per_ms = static_cast<double>(bytes) / ms;
  report("card", "read bandwidth", ms, 1, "GB/s", c.bytes_per_ms / 1e6);
#if defined(PACELINE_CUBLAS)
  cublasHandle_t blas;
  if (cublasCreate(&blas) == CUBLAS_STATUS_SUCCESS) {
    (void)cublasSetStream(blas, stream);
    const int n = 8192;
    const float one = 1, zero = 0;
    auto* a = static_cast<char*>(block);
    const double product_ms = time_ms(stream, 9, [&] {
      (void)cublasGemmEx(blas, CUBLAS_OP_T, CUBLAS_OP_N, n, n, n, &one, a, CUDA_R_16BF, n, a + (size_t{1} << 30),
                         CUDA_R_16BF, n, &zero, a + (size_t{2} << 30), CUDA_R_16BF, n, CUBLAS_COMPUTE_32F,
                         CUBLAS_GEMM_DEFAULT);
    });
    c.operations_per_ms = 2.0 * n * n * n / product_ms;
    report("card", "bf16 product 8192^3 (cuBLAS)", product_ms, 1, "TFLOP/s", c.operations_per_ms / 1e9);
    (void)cublasDestroy(blas);
  }
#endif
  (void)cudaFree(block);
  return c;
}

void bench_products(CudaOps& ops, Model& m, const Ceilings& c, const std::string& name) {
  m.reserve(16);
  const auto product = [&](const std::string& what, int32_t rows, const std::function<void(const Layer&)>& f,
                           double bytes) {
    // As many layers as it takes to leave the cache behind.
    const int32_t layers = std::min<int32_t>(static_cast<int32_t>(m.layers().size()), 12);
    std::vector<const Layer*> used;
    for (int32_t i = 0; i < layers; ++i)
      if (const Layer& l = m.layers()[static_cast<size_t>(i)]; !l.global && l.owns) used.push_back(&l);
    const double ms = time_graph_ms(ops.stream(), 9, [&] {
      for (const Layer* l : used) f(*l);
    });
    const auto count = static_cast<double>(used.size());
    report(name, what + ", " + std::to_string(rows) + " rows", ms / count, bytes * count / ms / c.bytes_per_ms, "GB/s",
           bytes * count / ms / 1e6);
  };
  const Layer& l = m.sliding();
  for (const int32_t rows : {1, 8, 16}) {
    product(
        "qkv", rows,
        [&](const Layer& at) {
          const Projection out[3] = {{&at.q, m.q_}, {&at.k, m.attended_}, {&at.v, m.wide_}};
          ops.linear(m.normed_, rows, Activation::bf16, out);
        },
        static_cast<double>(l.q.bytes() + l.k.bytes() + l.v.bytes()));
    product(
        "o", rows,
        [&](const Layer& at) {
          const Projection out{&at.o, m.branch_};
          ops.linear(m.attended_, rows, Activation::bf16, {&out, 1});
        },
        static_cast<double>(l.o.bytes()));
    product(
        "gate up", rows,
        [&](const Layer& at) { ops.gated(m.normed_, rows, Activation::bf16, at.gate, at.up, m.wide_); },
        static_cast<double>(l.gate.bytes() + l.up.bytes()));
    product(
        "down", rows,
        [&](const Layer& at) {
          const Projection out{&at.down, m.branch_};
          ops.linear(m.wide_, rows, Activation::bf16, {&out, 1});
        },
        static_cast<double>(l.down.bytes()));
  }
  for (const int32_t rows : {1, 8}) {
    const double ms = time_graph_ms(ops.stream(), 9, [&] { m.logits(rows); });
    const auto bytes = static_cast<double>(m.head().bytes());
    report(name, "head, " + std::to_string(rows) + " rows", ms, bytes / ms / c.bytes_per_ms, "GB/s", bytes / ms / 1e6);
  }
  const double rows_ms = time_graph_ms(ops.stream(), 9, [&] {
    for (int i = 0; i < 20; ++i) {
      ops.add_norm({m.x_, m.branch_, m.normed_, 1, m.shape().hidden, 1e-6f, 1});
      ops.rms_norm({m.x_, m.branch_, m.normed_, 1, m.shape().hidden, 1e-6f, 1});
    }
  });
  report(name, "both norms, 1 row", rows_ms / 20, 0, "us", rows_ms / 20 * 1000);
}

// One kind of operation over all layers, per layer.
void bench_parts(CudaOps& ops, Model& m, const Ceilings& c, const std::string& name, int32_t rows, int32_t pos) {
  const auto count = static_cast<double>(m.layers().size());
  m.reserve(rows);
  const auto over_layers = [&](const std::string& what, const std::function<void(const Layer&)>& f) {
    const double ms = time_graph_ms(ops.stream(), 5, [&] {
      for (const Layer& l : m.layers()) f(l);
    });
    report(name, what + ", " + std::to_string(rows) + " rows", ms / count, 0, "us", ms / count * 1000);
  };
  over_layers("heads", [&](const Layer& l) { m.attend(l, rows, pos, true, false); });
  over_layers("attention at " + std::to_string(pos), [&](const Layer& l) { m.attend(l, rows, pos, false, true); });
  over_layers("heads and attention at " + std::to_string(pos),
              [&](const Layer& l) { m.attend(l, rows, pos, true, true); });
  if (rows <= 16) return;
  const auto product = [&](const std::string& what, const std::function<double(const Layer&)>& operations_of,
                           const std::function<void(const Layer&)>& f) {
    double operations = 0;
    for (const Layer& l : m.layers()) operations += operations_of(l);
    const double ms = time_graph_ms(ops.stream(), 3, [&] {
      for (const Layer& l : m.layers()) f(l);
    });
    report(name, what + ", " + std::to_string(rows) + " rows", ms / count, operations / ms / c.operations_per_ms,
           "TFLOP/s", operations / ms / 1e9);
  };
  const auto of = [&](const Matrix& w) { return 2.0 * rows * w.rows * w.cols; };
  product(
      "qkv", [&](const Layer& l) { return of(l.q) + of(l.k) + of(l.v); }, [&](const Layer& l) { m.project(l, rows); });
  product(
      "o", [&](const Layer& l) { return of(l.o); },
      [&](const Layer& l) {
        const Projection out{&l.o, m.branch_};
        ops.linear(m.attended_, rows, Activation::bf16, {&out, 1});
      });
  product(
      "gate up", [&](const Layer& l) { return of(l.gate) + of(l.up); },
      [&](const Layer& l) { ops.gated(m.normed_, rows, Activation::bf16, l.gate, l.up, m.wide_); });
  product(
      "down", [&](const Layer& l) { return of(l.down); },
      [&](const Layer& l) {
        const Projection out{&l.down, m.branch_};
        ops.linear(m.wide_, rows, Activation::bf16, {&out, 1});
      });
  if (m.shape().experts > 0) {
    over_layers("route", [&](const Layer& l) { m.route(l, rows); });
    product(
        "experts", [&](const Layer& l) { return of(l.e_gate.first) * 3 * m.shape().top; },
        [&](const Layer& l) { m.mix(l, rows); });
  }
  over_layers("norms", [&](const Layer&) {
    ops.add_norm({m.x_, m.branch_, m.normed_, rows, m.shape().hidden, 1e-6f, 1});
    ops.rms_norm({m.x_, m.branch_, m.normed_, rows, m.shape().hidden, 1e-6f, 1});
  });
  if (m.shape().ple > 0) over_layers("per-layer inputs", [&](const Layer& l) { m.per_layer(l, rows, 0); });
}

bool brief = false, prompts_only = false;

void bench_prompts(CudaOps& ops, Model& m, const Ceilings& c, const std::string& name) {
  for (const int32_t rows : {256, 2048}) {
    const double ms = time_ms(ops.stream(), 3, [&] { m.step(1, rows, 0, false); });
    report(name, "prompt of " + std::to_string(rows), ms, m.operations(rows) / ms / c.operations_per_ms, "TFLOP/s",
           m.operations(rows) / ms / 1e9);
  }
  // After a whole step: the rows that experts are chosen by are there.
  bench_parts(ops, m, c, name, 2048, 0);
}

void bench_model(CudaOps& ops, const Shape& shape, WeightFormat format, const Ceilings& c) {
  const std::string name = std::string(shape.name) + (format == WeightFormat::bf16 ? ""
                                                      : format == WeightFormat::q8 ? " q8"
                                                                                   : " q4");
  Model m(ops, shape, format);
  const int32_t pos = 512;
  if (prompts_only) return bench_prompts(ops, m, c, name);
  bench_products(ops, m, c, name);
  for (const int32_t rows : {1, 8}) bench_parts(ops, m, c, name, rows, pos);
  if (const Status status = ops.wait(); !status.ok()) {
    std::printf("FAULT: %s\n", status.error().message.c_str());
    std::exit(2);
  }
  double plain = 0;
  for (const int32_t rows : {1, 5, 8}) {
    if (brief && rows == 5) continue;
    const double touched =
        shape.experts == 0 ? 0 : shape.experts * (1 - std::pow(1 - double(shape.top) / shape.experts, rows));
    const double bytes = m.bytes(touched) + m.kv_bytes(pos);
    const double ms = time_graph_ms(ops.stream(), 9, [&] { m.step(1, rows, pos, true); });
    if (rows == 1) plain = ms;
    report(name, rows == 1 ? "plain step" : "verify of " + std::to_string(rows), ms, bytes / ms / c.bytes_per_ms,
           "x plain", ms / plain);
    if (rows == 1) {
      const double eager = time_ms(ops.stream(), 5, [&] {
        m.step(1, rows, pos, true);
        (void)ops.wait();
      });
      report(name, "plain step without a graph", eager, bytes / eager / c.bytes_per_ms, "x plain", eager / plain);
    }
  }
  if (brief) return;
  const double many = time_graph_ms(ops.stream(), 7, [&] { m.step(16, 1, pos, true); });
  report(name, "16 sequences", many, 0, "x one", 16 * plain / many);
  bench_prompts(ops, m, c, name);
  if (const Status status = ops.wait(); !status.ok()) {
    std::printf("FAULT: %s\n", status.error().message.c_str());
    std::exit(2);
  }
}

bool listed(const std::string& list, const std::string& name) {
  return ("," + list + ",").find("," + name + ",") != std::string::npos;
}

int run(int argc, char** argv) {
  std::string file, models = "31b,26b-a4b,12b,e4b", formats = "bf16,q8,q4";
  int32_t layers = 1000;
  bool ceilings = true;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--brief") == 0) brief = std::strcmp(argv[i + 1], "yes") == 0;
    if (std::strcmp(argv[i], "--prompts") == 0) prompts_only = std::strcmp(argv[i + 1], "only") == 0;
    if (std::strcmp(argv[i], "--layers") == 0) layers = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--ceilings") == 0) ceilings = std::strcmp(argv[i + 1], "no") != 0;
    if (std::strcmp(argv[i], "--json") == 0) file = argv[i + 1];
    if (std::strcmp(argv[i], "--models") == 0) models = argv[i + 1];
    if (std::strcmp(argv[i], "--formats") == 0) formats = argv[i + 1];
  }
  auto made = CudaOps::make();
  if (!made.ok()) {
    std::printf("%s\n", made.error().message.c_str());
    return 3;
  }
  CudaOps& ops = **made;
  bench_ops = &ops;
  ops.launches().set_graphs(false);
  // An H200's, where they are not measured.
  const Ceilings c = ceilings ? measure_ceilings(ops.stream()) : Ceilings{4.5e9, 8.04e11};
  for (Shape shape : kShapes) {
    if (!listed(models, shape.name)) continue;
    shape.layers = std::min(shape.layers, layers);
    shape.shared = std::min(shape.shared, layers / 2);
    if (listed(formats, "bf16")) bench_model(ops, shape, WeightFormat::bf16, c);
    if (std::strcmp(shape.name, "31b") != 0) continue;
    if (listed(formats, "q8")) bench_model(ops, shape, WeightFormat::q8, c);
    if (listed(formats, "q4")) bench_model(ops, shape, WeightFormat::q4, c);
  }
  if (!file.empty()) {
    json += "\n]\n";
    if (FILE* out = std::fopen(file.c_str(), "w")) {
      std::fputs(json.c_str(), out);
      std::fclose(out);
    }
  }
  return 0;
}

}  // namespace
}  // namespace paceline::gpu

int main(int argc, char** argv) { return paceline::gpu::run(argc, argv); }
