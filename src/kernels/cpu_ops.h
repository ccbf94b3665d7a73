// Ops on the processor: a table's kernels, dealt out over a thread pool. Scratch memory is this object's own, so two
// engines with an Ops each may share weights.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <vector>

#include "base/host_memory.h"
#include "base/thread_pool.h"
#include "kernels/block_ops.h"
#include "kernels/cpu_table.h"
#include "kernels/ops.h"
#include "kernels/recurrent_ops.h"
#include "kernels/vision_ops.h"

namespace paceline::kernels {

// Elementwise work worth waking another thread for.
inline constexpr int64_t kElementsPerPiece = 8192;

// A block of memory that only grows, 64-byte aligned.
class GrowingBuffer {
 public:
  void* at_least(size_t bytes);

 private:
  struct Free {
    void operator()(void* p) const;
  };
  std::unique_ptr<void, Free> block_;
  size_t bytes_ = 0;
};

class CpuOps : public Ops, public VisionOps, public BlockOps, public RecurrentOps {
 public:
  CpuOps(const CpuTable& table, ThreadPool& pool) : table_(table), pool_(pool) {}

  std::shared_ptr<void> memory(size_t bytes) override;
  std::shared_ptr<void> arena(size_t bytes) override { return reserved_host_memory(bytes); }
  void upload(void* to, const void* from, size_t bytes) override;
  void copy(void* to, const void* from, size_t bytes) override;
  void clear(void* to, size_t bytes) override;
  [[nodiscard]] VisionOps& vision() override { return *this; }
  [[nodiscard]] BlockOps* blocks() override { return this; }
  [[nodiscard]] RecurrentOps* recurrent() override { return this; }
  [[nodiscard]] std::optional<int32_t> count_distinct(const int32_t* values, int64_t count, int32_t end) const override;
  const void* fetch(const void* from, size_t, HostCopy&) override { return from; }
  Status wait() override { return Done{}; }
  [[nodiscard]] Limits limits() const override {
    Limits limits;
    limits.codes = limits.joins_f32 = limits.recurrent = limits.undivided_shares = true;
    limits.narrows = true;
    limits.joined_head = Limits::kNone;
    return limits;
  }

  Matrix place(const Matrix& w, std::vector<std::shared_ptr<const void>>& owners) override;
  MatrixStack place(const MatrixStack& w, std::vector<std::shared_ptr<const void>>& owners) override;
  Matrix place_table(const Matrix& w, std::vector<std::shared_ptr<const void>>&) override { return w; }
  const float* place(std::span<const float> vector, std::vector<std::shared_ptr<const void>>&) override {
    return vector.data();
  }
  const TokenId* place(std::span<const TokenId> tokens, std::vector<std::shared_ptr<const void>>&) override {
    return tokens.data();
  }
  [[nodiscard]] const void* placed_tag() const override { return &table_; }

  void embed(const Matrix& table, const TokenId* tokens, int32_t rows, float scale, float* y) override;
  void pick_tokens(const PickArgs& args) override;
  void rms_norm(const NormArgs& args) override;
  void add_norm(const AddNormArgs& args) override;
  void linear(const float* x, int32_t rows, Activation activation, std::span<const Projection> out) override;
  void gated(const float* x, int32_t rows, Activation activation, const GatedArgs& args) override;
  void heads(const HeadsArgs& args) override;
  void attention(const AttentionArgs& args) override;
  void route(const RouteArgs& args) override;
  void experts(const ExpertsArgs& args, Activation activation) override;
  void gate_mul(const GateMulArgs& args) override;
  void add_scaled(float* y, const float* x, float scale, int64_t count) override;
  void softcap(float* y, float cap, int64_t count) override;
  void rope(const RopeArgs& args) override;
  void gather(const float* from, std::span<const int32_t> rows, int32_t width, float* to) override;
  void argmax(const float* x, int32_t rows, int32_t width, TokenId* best) override;
  void side_by_side(const float* a, const float* b, int32_t rows, int32_t width, float* y) override;
  void best_of_clusters(const ClustersArgs& args, Activation activation) override;
  void join(const JoinArgs& args) override;
  void block_conv(const BlockConvArgs& args) override;
  void layer_norm(const LayerNormArgs& args) override;
  void average(const AverageArgs& args) override;
  void shift_scale(const ShiftScaleArgs& args) override;
  void clamp(const float* x, float* y, float low, float high, int64_t count) override;
  void delta(const DeltaArgs& args) override;
  void sigmoid_mul(const SigmoidArgs& args) override;
  void part_pairs(const PartArgs& args) override;

  [[nodiscard]] const CpuTable& table() const { return table_; }

 private:
  // x made ready for w. Acts of one x are kept until the next call with `fresh`, so that matrices of one shape share
  // one.
  Act prepared(const float* x, int32_t rows, const Matrix& w, Activation activation, bool fresh);

  // Rows with their columns in the order of w's values.
  const float* in_order(const float* x, int32_t rows, const Matrix& w);

  // The table's product with the rows' factors, or one by way of unpacked numbers.
  void multiply(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) const;

  // The parts of delta().
  void convolve(const DeltaArgs& args);
  void prepare_steps(const DeltaArgs& args, float* decay, float* beta);
  void run_heads(const DeltaArgs& args, const float* decay, const float* beta);

  // Memory for placed weights, in huge pages where the system has them; `owners` keeps it.
  void* place_memory(size_t bytes, std::vector<std::shared_ptr<const void>>& owners);

  const CpuTable& table_;
  ThreadPool& pool_;
  // What is left of the block that matrices are placed in: each starts where the last one ends, so that huge pages are
  // full.
  std::shared_ptr<void> place_block_;
  size_t place_used_ = 0, place_size_ = 0;
  struct KeptAct {
    ActShape shape;
    const int32_t* columns = nullptr;
    GrowingBuffer buffer;
  };
  std::vector<KeptAct> acts_;
  size_t live_acts_ = 0;
  GrowingBuffer gate_rows_, expert_rows_, expert_acts_, attention_rows_, cluster_scores_, delta_gates_, delta_heads_,
      ordered_rows_;
  std::vector<int32_t> best_clusters_;
  std::array<std::chrono::steady_clock::time_point, 2> marks_;
};

}  // namespace paceline::kernels
