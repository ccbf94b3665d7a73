// Ops on a CUDA device: one stream, in order. What is enqueued is written down, and started when somebody waits for it
// or its memory is given back; see Launches.
//
// The first error stays: from then on nothing is enqueued, and wait() says what happened. Rows that a product will read
// are made ready (bf16, or bytes for a group) by whoever writes them, where that is known; ready_ remembers which.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/block_ops.h"
#include "kernels/choosing_ops.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/matmul.h"
#include "kernels/cuda/rows.h"
#include "kernels/ops.h"
#include "kernels/recurrent_ops.h"
#include "kernels/vision_ops.h"

namespace paceline::kernels::cuda {

// Of host memory that copies to the device start from.
inline constexpr size_t kRingBytes = size_t{64} << 20;
// Spans, blocks and page tables of one call; the longest context has 4096 pages.
inline constexpr size_t kRoomForTables = size_t{8} << 20;
// Numbers of pages' units that the device is told, of all sequences together: 128 of 4096 pages with 8 units each.
inline constexpr size_t kPageNumbers = size_t{4} << 20;
// Memory up to this size is kept when it is given back, for who asks next: taking and freeing wait for the device.
inline constexpr size_t kMostKeptBytes = size_t{4} << 20;

// Device memory that only grows. What it held is gone when it grows.
struct Grown {
  std::shared_ptr<void> memory;
  size_t bytes = 0;
};

class CudaOps final : public Ops, public VisionOps, public ChoosingOps, public BlockOps, public RecurrentOps {
 public:
  static Result<std::unique_ptr<CudaOps>> make();
  ~CudaOps() override;
  CudaOps(const CudaOps&) = delete;
  CudaOps& operator=(const CudaOps&) = delete;

  std::shared_ptr<void> memory(size_t bytes) override;
  // To the byte, for what stays: weights, and keys and values.
  std::shared_ptr<void> arena(size_t bytes) override;
  void upload(void* to, const void* from, size_t bytes) override;
  void copy(void* to, const void* from, size_t bytes) override;
  void clear(void* to, size_t bytes) override;
  [[nodiscard]] VisionOps& vision() override { return *this; }
  [[nodiscard]] ChoosingOps* choosing() override { return this; }
  [[nodiscard]] BlockOps* blocks() override { return this; }
  [[nodiscard]] RecurrentOps* recurrent() override { return this; }
  const void* fetch(const void* from, size_t bytes, HostCopy& copy) override;
  Status wait() override;
  [[nodiscard]] Limits limits() const override;
  [[nodiscard]] size_t free_bytes() const override;
  double read_gbs() override;

  Matrix place(const Matrix& w, std::vector<std::shared_ptr<const void>>& owners) override;
  MatrixStack place(const MatrixStack& w, std::vector<std::shared_ptr<const void>>& owners) override;
  Matrix place_table(const Matrix& w, std::vector<std::shared_ptr<const void>>& owners) override;
  const float* place(std::span<const float> vector, std::vector<std::shared_ptr<const void>>& owners) override;
  const TokenId* place(std::span<const TokenId> tokens, std::vector<std::shared_ptr<const void>>& owners) override;
  [[nodiscard]] const void* placed_tag() const override { return this; }

  void embed(const Matrix& table, const TokenId* tokens, int32_t rows, float scale, float* y) override;
  void pick_tokens(const PickArgs& args) override;
  void rms_norm(const NormArgs& args) override;
  void add_norm(const AddNormArgs& args) override;
  void rms_norms(const kernels::NormsArgs& args) override;
  void linear(const float* x, int32_t rows, Activation activation, std::span<const Projection> out) override;
  void gated(const float* x, int32_t rows, Activation activation, const GatedArgs& args) override;
  void heads(const kernels::HeadsArgs& args) override;
  void attention(const kernels::AttentionArgs& args) override;
  void attend(const kernels::HeadsArgs& heads_args, const kernels::AttentionArgs& args) override;
  void route(const kernels::RouteArgs& args) override;
  void experts(const ExpertsArgs& args, Activation activation) override;
  void mixture(const MixtureArgs& args, Activation activation) override;
  void gate_mul(const kernels::GateMulArgs& args) override;
  void gated_by(const float* x, Activation activation, const Matrix& gate, const kernels::GateMulArgs& by) override;
  void add_scaled(float* y, const float* x, float scale, int64_t count) override;
  void softcap(float* y, float cap, int64_t count) override;
  void rope(const RopeArgs& args) override;
  void gather(const float* from, std::span<const int32_t> rows, int32_t width, float* to) override;
  void argmax(const float* x, int32_t rows, int32_t width, TokenId* best) override;
  void side_by_side(const float* a, const float* b, int32_t rows, int32_t width, float* y) override;
  void best_of_clusters(const ClustersArgs& args, Activation activation) override;
  void choose(const ChooseArgs& args) override;
  void follow(const FollowArgs& args) override;
  void mark(Mark at) override;
  double ms_between(Mark from, Mark to) override;
  double idle_ms() override { return launches_->idle_ms(); }
  void layer_norm(const LayerNormArgs& args) override;
  void average(const AverageArgs& args) override;
  void shift_scale(const ShiftScaleArgs& args) override;
  void clamp(const float* x, float* y, float low, float high, int64_t count) override;
  void join(const JoinArgs& args) override;
  void block_conv(const BlockConvArgs& args) override;
  void delta(const DeltaArgs& args) override;
  void sigmoid_mul(const SigmoidArgs& args) override;
  void part_pairs(const PartArgs& args) override;

  // A matrix as kernels take it.
  [[nodiscard]] static Weight weight_of(const Matrix& m, int32_t at_once = 1);
  // Of a gate, or of what it gates.
  [[nodiscard]] static Weight gated_weight_of(const Matrix& m);
  // Starts what is enqueued, and does not wait for it.
  void start();
  [[nodiscard]] Launches& launches() const { return *launches_; }
  [[nodiscard]] cudaStream_t stream() const { return cuda_stream_; }

 private:
  CudaOps() = default;

  bool fine(cudaError_t error, const char* what);
  void fail(std::string message);
  // Whether a kernel takes so much; else it is the backend's error.
  bool takes(const char* what, int32_t found, int32_t most);
  void* taken(size_t bytes);
  std::shared_ptr<void> owned(size_t whole, bool comes_again);
  void* grown(Grown& buffer, size_t bytes);
  // Floats that blocks of a launch leave for each other.
  float* handover(Grown& buffer, size_t floats);
  // Host memory that copies to the device start from; given out anew after wait(). What lies in it when the list is
  // started is sent to the device's ring first, in one piece.
  void* staged(size_t bytes);
  void make_room(size_t bytes);
  ThreadPool& loading_threads();
  void copy_by_many(void* to, const void* from, size_t bytes);
  void send_staged();
  void send_numbers(int32_t* to, std::span<const int32_t> numbers);
  // A table's room: twice what it has now, so that it grows seldom.
  [[nodiscard]] static size_t room_for(size_t numbers) { return (2 * numbers + 63) / 64 * 64; }
  bool make_room_for_numbers(std::span<const SeqSpan> seqs);
  const int32_t* numbers_on_device(const SeqSpan& seq);
  // `bytes` of host memory, in device memory that stays until the next wait().
  const void* sent(const void* from, size_t bytes);
  template <class T>
  const T* sent(std::span<const T> values) {
    return static_cast<const T*>(sent(values.data(), values.size_bytes()));
  }
  // The same, but what is there already is not sent again.
  const void* sent_once(const void* from, size_t bytes);

  void pack_blocks(const Matrix& m, const Weight& w, char* staging, void* to);
  void pack_floats(const Matrix& m, const Weight& w, char* staging, void* to);
  MatrixStack packed(const MatrixStack& w, std::vector<std::shared_ptr<const void>>& owners);
  [[nodiscard]] static Weight weight_of(const MatrixStack& s, int32_t at_once);

  // Rows as bf16, or as bytes for matrices of a group, beside their float32: made by the operation that writes them.
  struct Ready {
    const float* x = nullptr;       // none: stale
    const float* last_x = nullptr;  // whose rows it held last
    int32_t group = 0;              // 0: bf16
    int32_t rows = 0, cols = 0, stride = 0;
    int32_t unasked = 0;  // how often it was made since a product last asked for it
    uint64_t last_used = 0;
    Grown buffer, scales;
  };
  Ready* find_ready(const float* x, int32_t group);
  Ready* ready_entry(const float* x, int32_t group);
  Ready* ready_buffer(const float* x, int32_t group, int32_t rows, int32_t cols, int32_t stride);
  uint16_t* make_bf16(const float* x, int32_t rows, int32_t cols, int32_t& stride);
  ByteRows make_bytes(const float* x, int32_t group, int32_t rows, int32_t cols);
  // For an operation that is about to write x.
  uint16_t* make_ready(const float* x, int32_t rows, int32_t cols, int32_t& stride);
  int32_t wanted_group(const float* x);
  bool wants_bf16(const float* x);
  void written(const float* begin, int64_t floats);
  Rows rows_for(const float* x, int32_t rows, const Weight& w, Activation activation);
  void multiply(MatmulArgs& args, Activation activation);
  void multiply_unpacked(const MatmulArgs& args);
  void multiply_waiting(float* left);
  // Launches what waits.
  void flush();
  NormsArgs take_pending(std::span<const NormOutput> to);

  struct SlotRows {
    const float* rows = nullptr;       // [slots, hidden]
    const int32_t* slot_of = nullptr;  // [rows, top]
  };
  PlanArgs plan_for(const int32_t* chosen, int32_t rows, int32_t top, int32_t experts);
  SlotRows expert_products(const ExpertsArgs& args, Activation activation, const MixtureArgs* beside = nullptr);

  struct SeqTables {
    const DeviceSeq* seqs = nullptr;
    const int32_t* seq_of_row = nullptr;
    int32_t rows = 0;
  };
  void keep_order(std::span<const SeqSpan> seqs, bool writes);
  SeqTables tables_of(std::span<const SeqSpan> seqs, int32_t rows);
  cuda::HeadsArgs heads_of(const kernels::HeadsArgs& args, const SeqTables& tables);
  void make_heads(const kernels::HeadsArgs& args, int32_t rows);
  void attend_with(const kernels::HeadsArgs* heads_args, const kernels::AttentionArgs& args);
  void attend_some(const kernels::HeadsArgs* heads_args, const kernels::AttentionArgs& args, int32_t all_rows);
  void attend_joined(const kernels::HeadsArgs* heads_args, const kernels::AttentionArgs& args, cuda::AttentionArgs& a);
  void send(cuda::AttentionArgs& a, const kernels::AttentionArgs& args, const std::vector<RowBlock>& blocks,
            int32_t rows);
  void hand_over(cuda::AttentionArgs& a, int32_t queries);
  void keep_totals(cuda::AttentionArgs& a, int32_t queries);

  cudaStream_t cuda_stream_ = nullptr;
  std::shared_ptr<Launches> launches_;
  Stream stream_ = nullptr;  // launches_
  Status status_ = Done{};
  std::array<Ready, 32> ready_;
  uint64_t ready_uses_ = 0;
  // An add_norm that waits for the norm which usually follows, to be one kernel with it.
  AddNormArgs pending_;
  Mixed pending_mixed_;
  bool has_pending_ = false;
  // A product that waits for an add_norm of its outputs, to leave them where the norms' kernel takes them. Where both
  // wait, the product's outputs are the add_norm's branch.
  MatmulArgs waiting_;
  bool has_waiting_ = false;
  // The choice that the plan in memory is for, if it was made with it.
  struct Planned {
    const int32_t* chosen = nullptr;
    int32_t rows = 0, top = 0;
  };
  Planned planned_;

  Grown partial_, counted_, arrivals_, left_, scores_left_, attention_partial_, attention_totals_, coded_out_,
      expert_plan_, slots_, slot_rows_, unlike_, unpacked_, argmax_keys_, choice_tops_, clusters_, cluster_keys_,
      candidates_, delta_gates_;
  std::array<cudaEvent_t, 2> marks_{};
  std::unique_ptr<ThreadPool> loading_;  // that read what is uploaded: files that are mapped, page by page
  std::shared_ptr<void> host_ring_, device_ring_;
  size_t ring_used_ = 0, ring_sent_ = 0, ring_pages_ = 0;

  // Page tables by where they lie on the host, with what was sent of them.
  struct PageTable {
    int32_t* device = nullptr;
    size_t room = 0;
    uint64_t stamp = 0;  // of the mirror, as KvPages has it
    std::vector<int32_t> mirror;
  };
  std::unordered_map<const void*, PageTable> page_tables_;
  std::shared_ptr<void> page_numbers_;  // [kPageNumbers]
  size_t numbers_used_ = 0;
  // Small pieces that were given back, by their size.
  std::map<size_t, std::vector<void*>> kept_;
  // What was sent once since the last wait, as offsets in the rings.
  struct SentOnce {
    size_t at = 0, bytes = 0;
  };
  // Whose keys have been written since the last wait: a layer's, of these sequences, from these positions on.
  struct WrittenKeys {
    const void* keys = nullptr;
    int32_t unit = 0;
    const int32_t* numbers = nullptr;  // the first one's
    int64_t positions = 0;             // of the first rows, added up

    friend bool operator==(const WrittenKeys&, const WrittenKeys&) = default;
  };
  std::vector<WrittenKeys> keys_written_;
  std::vector<SentOnce> sent_once_;
  std::vector<std::byte> tables_;  // of one call
  // What was packed already, by where it lay: tied matrices are packed once. Others may come to lie there later.
  struct Packed {
    std::weak_ptr<void> memory;
    MatrixStack view;
    uint64_t print = 0;
  };
  std::map<const void*, Packed> packed_;
};

}  // namespace paceline::kernels::cuda
