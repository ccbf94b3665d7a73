// Models of the family's shapes with random bits for weights, in device memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cuda/cuda_ops.h"

namespace paceline::gpu {

struct Shape {
  const char* name;
  int32_t layers, hidden, ffn, heads, kv_sliding, kv_global, per_global, window, shared;
  bool value_is_key;
  int32_t ple, experts, top, expert_ffn;
  int32_t draft_hidden, draft_ffn, draft_heads;
};
inline constexpr int32_t kVocab = 262144;
inline constexpr Shape kShapes[] = {
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

// Of every so many bytes those from here on are bf16, others are any bits. Multiples of 8.
struct Bits {
  int64_t every = 8, bf16_from = 0;
};

// Random bits: where bf16, sign and fraction random, exponent 2^-6 to 2^-5.
void fill(void* to, size_t bytes, uint64_t seed, const Bits& bits, cudaStream_t stream);

// A model of random bits in device memory.
class Model {
 public:
  // With room for keys and values of so many positions.
  Model(kernels::cuda::CudaOps& ops, const Shape& shape, WeightFormat format, int32_t most_context = 4096);

  // Bytes that a step of `rows` rows reads of weights; experts as `touched` says.
  [[nodiscard]] double bytes(double touched) const;
  // Bytes of keys and values that one row's step at this position reads.
  [[nodiscard]] double kv_bytes(int32_t pos) const;
  // Operations of a prompt of so many rows, without the head.
  [[nodiscard]] double operations(int32_t rows) const;

  // Experts of a layer that a step of one sequence's rows touches, on average; none where there are none.
  [[nodiscard]] double touched(int32_t rows, int32_t pos);

  // One step: `seqs` sequences of `rows` rows each, at position pos. The same operations as the text model's forward.
  void step(int32_t seqs, int32_t rows, int32_t pos, bool with_head);

  const Layer& sliding() const { return layers_[0]; }
  const Matrix& head() const { return head_; }
  void logits(int32_t rows);
  const std::vector<Layer>& layers() const { return layers_; }
  const Shape& shape() const { return s_; }

  // What pages are: keys and values joined, in codes where asked, or apart.
  void set_pages(bool joins, bool codes) {
    joins_ = joins;
    codes_ = codes;
  }
  [[nodiscard]] int32_t joined_of(const Layer& l) const;
  [[nodiscard]] kernels::HeadShape heads_of(const Layer& l) const;

  // Attention alone, with heads in front of it where asked.
  void attend(const Layer& l, int32_t rows, int32_t pos, bool with_heads, bool attends);

  void layer(const Layer& l, int32_t all, int32_t i, const std::vector<kernels::SeqSpan>& spans);

  void project(const Layer& l, int32_t all);
  void route(const Layer& l, int32_t all);
  void mix(const Layer& l, int32_t all);
  void per_layer(const Layer& l, int32_t all, int32_t i);

  // Row buffers for so many rows.
  void reserve(int32_t rows);

  float *x_ = nullptr, *normed_ = nullptr, *branch_ = nullptr, *wide_ = nullptr, *q_ = nullptr, *attended_ = nullptr;

 private:
  void* random(size_t bytes, const Bits& bits);
  float* floats(size_t count);
  Matrix matrix(int32_t rows, int32_t cols, int32_t count = 1);
  MatrixStack stack(int32_t rows, int32_t cols);

  kernels::cuda::CudaOps& ops_;
  Shape s_;
  WeightFormat format_;
  uint64_t seed_ = 1;
  int32_t rows_ = 0;
  bool joins_ = true, codes_ = false;
  int64_t* touched_ = nullptr;  // where touched experts are counted, if they are
  std::vector<std::shared_ptr<void>> owners_;
  std::vector<Layer> layers_;
  std::vector<int32_t> page_numbers_;
  std::vector<kernels::KvPages> pages_;  // of each layer
  Matrix head_, ple_projection_;
  float *ones_ = nullptr, *turns_ = nullptr, *k_ = nullptr, *v_ = nullptr, *best_ = nullptr, *logits_ = nullptr;
  float *routed_ = nullptr, *tokens_ = nullptr;
  float *e_in_ = nullptr, *e_out_ = nullptr, *scores_ = nullptr, *chosen_ = nullptr, *share_ = nullptr, *ple_ = nullptr;
};

}  // namespace paceline::gpu
