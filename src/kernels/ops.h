// The one interface between the model and the machine: a small number of wide operations. A forward is written once
// against it; what only the vision side, recurrent layers, drafters and choosing need is in files of their own. Every
// operation treats rows as an outer dimension only: a row's result has the same bits alone, among others and for any
// number of threads.
//
// Shapes are written [outer, inner], contiguous, float32 unless said otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "kernels/draft_ops.h"
#include "kernels/kv_pages.h"
#include "tensor/dtype.h"
#include "tensor/matrix.h"

namespace paceline::kernels {

class BlockOps;
class ChoosingOps;
class RecurrentOps;
class VisionOps;

// What an unquantised matrix is multiplied with. Quantised ones take 8-bit activations, one scale per row and group.
enum class Activation : uint8_t { f32, bf16 };

// What a gate goes through before it multiplies: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))), x * sigmoid(x).
enum class GateFunction : uint8_t { gelu, silu };

// The most products that one call takes.
inline constexpr size_t kMaxProjections = 32;

struct Projection {
  const Matrix* weight = nullptr;  // [out, in]
  float* y = nullptr;              // [rows, out]
};

struct NormArgs {
  const float* x = nullptr;       // [rows, width]
  const float* weight = nullptr;  // [width], or none
  float* y = nullptr;             // [rows, width]; may be x
  int32_t rows = 0, width = 0;
  float eps = 0;
  float scale = 1;  // y = norm(x) * weight * scale
};

// x = (x + norm(branch) * weight) * scale; where the branch has no norm behind it, x = (x + branch) * scale
struct AddNormArgs {
  float* x = nullptr;             // [rows, width]
  const float* branch = nullptr;  // [rows, width]
  const float* weight = nullptr;  // [width], or none: no norm
  int32_t rows = 0, width = 0;
  float eps = 0;
  float scale = 1;
};

// Several norms of the same rows, each with a weight of its own: y = norm(x) * weight * scale
struct NormOutput {
  const float* weight = nullptr;  // [width], or none
  float* y = nullptr;             // [rows, width]; not x
  float scale = 1;
};
inline constexpr size_t kMaxNorms = 3;
struct NormsArgs {
  const float* x = nullptr;  // [rows, width]
  int32_t rows = 0, width = 0;
  float eps = 0;
  std::span<const NormOutput> out;  // up to kMaxNorms
};

// Per head: q = rope(norm(q) * q_weight) in place; k likewise and v, or norm(v), into the pages. Joined or in codes, q
// is left as attention() of the same backend takes it.
struct HeadsArgs {
  HeadShape shape;
  float* q = nullptr;               // [rows, heads, head_dim]
  const float* k = nullptr;         // [rows, kv_heads, head_dim], or none: the layer reads another's keys
  const float* v = nullptr;         // likewise; k again where V is the raw K projection
  const float* q_weight = nullptr;  // [head_dim]
  const float* k_weight = nullptr;  // [head_dim]; joined, also where k is none: whose keys are read
  const float* cos = nullptr;       // [rows, rotary / 2]
  const float* sin = nullptr;       // [rows, rotary / 2]
  float eps = 0;
  std::span<const SeqSpan> seqs;
  bool norms_values = true;
  // So many numbers of a head are rotated, the first ones, in pairs (i, i + rotary / 2); the others stay. 0: all.
  int32_t rotary = 0;
  // A head is cut into so many equal parts, each rotated by itself with its share of the cosines: 2 for patches of a
  // picture, by column and by row. Only where all of it is rotated.
  int32_t rope_parts = 1;

  [[nodiscard]] int32_t rotated() const { return rotary == 0 ? shape.head_dim : rotary; }
};

// out = softmax(q · keys) · values; row at position p sees keys max(0, p - window + 1) … p (window 0: all).
// Rows that only read have no key of their own: they see keys below p. Rows of an image may see further
// ahead, to the image's last position; the window only bounds how far back a row sees.
struct AttentionArgs {
  HeadShape shape;
  const float* q = nullptr;  // [rows, heads, head_dim]
  float* out = nullptr;      // [rows, heads, head_dim]
  int32_t window = 0;
  bool sees_self = true;
  std::span<const SeqSpan> seqs;
  const int32_t* last_pos = nullptr;  // [rows], the last position each row sees, its own or later; none: as above
};

struct RouteArgs {
  const Matrix* router = nullptr;       // [experts, hidden]
  const float* x = nullptr;             // [rows, hidden], normed and scaled
  const float* expert_scale = nullptr;  // [experts]
  int32_t rows = 0;
  int32_t top = 0;
  float* scores = nullptr;    // [rows, experts], scratch
  int32_t* chosen = nullptr;  // [rows, top], best first
  float* share = nullptr;     // [rows, top]
  bool divides = true;        // shares by the sum of those chosen; else they are of all experts
};

struct ExpertsArgs {
  const MatrixStack* gate = nullptr;
  const MatrixStack* up = nullptr;
  const MatrixStack* down = nullptr;
  const float* x = nullptr;         // [rows, hidden]
  const int32_t* chosen = nullptr;  // [rows, top]
  const float* share = nullptr;     // [rows, top]
  int32_t rows = 0, top = 0;
  float* y = nullptr;  // [rows, hidden]: sum over ranks, best first
  GateFunction function = GateFunction::gelu;
};

// The feed-forward half of a layer with experts: a dense part and the experts side by side.
//   dense = down (f(gate x) * up x), y: what experts() gives, with the same f
//   dense = norm(dense) * dense_weight + norm(y) * expert_weight, each without its norm where it has no weight
//   add.x: as add_norm() does it
struct MixtureArgs {
  const Matrix* gate = nullptr;  // [width, hidden]
  const Matrix* up = nullptr;    // [width, hidden]
  const Matrix* down = nullptr;  // [hidden, width]
  const float* x = nullptr;      // [rows, hidden]
  float* wide = nullptr;         // [rows, width], scratch
  float* dense = nullptr;        // [rows, hidden], scratch, as the experts' y is
  ExpertsArgs experts;
  const float* dense_weight = nullptr;   // [hidden], or none: no norm
  const float* expert_weight = nullptr;  // [hidden], or none: no norm
  AddNormArgs add;                       // its branch is `dense`
};

// cos, sin [positions, frequencies] of position * frequency.
struct RopeArgs {
  std::span<const int32_t> positions;  // host memory
  std::span<const float> frequencies;  // host memory
  float* cos = nullptr;
  float* sin = nullptr;
};

// Rows of the input of a forward: the host's tokens, or some that only the backend knows.
struct PickArgs {
  std::span<const TokenId> given;  // [rows], host memory
  std::span<const int32_t> from;   // [rows], host memory: which of `known`, or negative: the given one
  const TokenId* known = nullptr;  // the backend's memory; may be none where nothing is picked
  TokenId* to = nullptr;           // [rows], the backend's memory
};

// y = f(gate x) * up x
struct GatedArgs {
  const Matrix* gate = nullptr;  // [out, in]
  const Matrix* up = nullptr;    // [out, in]
  float* y = nullptr;            // [rows, out]
  GateFunction function = GateFunction::gelu;
};

// y = f(y) * x, row by row.
struct GateMulArgs {
  float* y = nullptr;        // [rows, width]
  const float* x = nullptr;  // [rows, stride]
  int32_t rows = 0, width = 0, stride = 0;
  GateFunction function = GateFunction::gelu;
};

// The largest shapes that a backend's kernels take. Loading asks (ModelWeights::check); what was not asked for and
// comes all the same is an error of the backend.
struct Limits {
  static constexpr int32_t kNone = std::numeric_limits<int32_t>::max();
  int32_t experts = kNone, experts_per_token = kNone;
  int32_t norm_width = kNone;
  int32_t head_step = 1;          // text heads are multiples of it
  int32_t picture_head = kNone;   // of the vision side
  int32_t picture_head_step = 1;  // heads of which keys and values may be bf16 there are multiples of it
  int32_t clusters = kNone, cluster_width = kNone;
  bool gates_alike = false;     // experts() takes gate and up in one format
  uint32_t unread = 0;          // formats of weights that it does not take: bits of format_bit()
  bool scaled_f8 = true;        // f8 may have scales along a row
  bool block_factors = true;    // rows of GGUF's blocks may have factors
  bool columns = true;          // columns may have an order of their own
  bool codes = false;           // keys and values may be codes
  bool codes_apart = true;      // also where they are not joined
  int32_t candidates = kNone;   // ChoosingOps::follow()
  bool recurrent = false;       // Ops::recurrent() is there
  int32_t delta_head = kNone;   // the widest key or value of a head there
  int32_t delta_head_step = 1;  // which are multiples of it
  int32_t delta_kernel = kNone;
  bool undivided_shares = false;  // RouteArgs::divides may be false
  bool narrows = false;           // attention takes a window also over pages that are not a ring
  // Heads whose keys and values may be joined: of so many numbers, so many of them rotated. kNone: any; 0: none.
  int32_t joined_head = 0, joined_rotated = kNone;
  bool joins_f32 = false;
  bool own_memory = false;  // a device: memory() is not the host's, and there is no more than it has

  static constexpr uint32_t format_bit(WeightFormat format) { return uint32_t{1} << static_cast<uint32_t>(format); }
  [[nodiscard]] bool joins(const HeadShape& shape) const {
    return (joined_head == kNone || joined_head == shape.head_dim) &&
           (joined_rotated == kNone || joined_rotated == shape.joined) && (joins_f32 || shape.kv_dtype != DType::f32);
  }
};

// A copy that the host can read; kept by whoever asked for it, so that memory is taken once.
struct HostCopy {
  std::shared_ptr<void> memory;
  size_t bytes = 0;
};

// Pointers into rows and pages are memory of the backend: what memory() gave, or what lies in it. Operations are only
// enqueued, in order; nothing has run for certain before wait().
class Ops : public DraftOps {
 public:
  // Zeroed, 64-byte aligned. Where there is no more: of a device none, which wait() says then; of the host it is
  // std::bad_alloc, as of the heap.
  virtual std::shared_ptr<void> memory(size_t bytes) = 0;
  // The same for a large piece that may never be used to its end: the host's is only taken as far as it is written.
  // None where there is no more.
  virtual std::shared_ptr<void> arena(size_t bytes) { return memory(bytes); }
  // A number that nobody else got here, for what has changed; never 0.
  uint64_t next_stamp() { return ++last_stamp_; }
  // From host memory, which may change once this returns.
  virtual void upload(void* to, const void* from, size_t bytes) = 0;
  virtual void copy(void* to, const void* from, size_t bytes) = 0;
  virtual void clear(void* to, size_t bytes) = 0;
  // What a backend can do beside: operations of the vision side (every one has them), choosing tokens where its memory
  // is not the host's (none: the host does that itself), and recurrent layers.
  [[nodiscard]] virtual VisionOps& vision() = 0;
  [[nodiscard]] virtual ChoosingOps* choosing() { return nullptr; }
  // What guessing whole blocks takes; none: this backend runs no such drafter.
  [[nodiscard]] virtual BlockOps* blocks() { return nullptr; }
  // None: models that need it are refused when they are loaded.
  [[nodiscard]] virtual RecurrentOps* recurrent() { return nullptr; }
  // What `from` holds when all that was enqueued before has run, for the host to read after wait(): in `copy`, or where
  // it lies.
  virtual const void* fetch(const void* from, size_t bytes, HostCopy& copy) = 0;
  [[nodiscard]] virtual Limits limits() const { return {}; }
  // Of memory of its own (Limits::own_memory): how much is left, and how fast it is read, measured now, in 1e9 bytes
  // per second.
  [[nodiscard]] virtual size_t free_bytes() const { return 0; }
  virtual double read_gbs() { return 0; }
  // How many different values there are among `count` of 0 … end - 1; none where the host cannot look.
  [[nodiscard]] virtual std::optional<int32_t> count_distinct(const int32_t* /*values*/, int64_t /*count*/,
                                                              int32_t /*end*/) const {
    return std::nullopt;
  }
  // Until all that was enqueued has run. An error is the backend's last word: nothing enqueued after it runs.
  virtual Status wait() = 0;

  // Weights as this backend reads them best. The same matrix where it is used as it lies; else a copy, in memory that
  // `owners` keeps alive. `placed` tells who placed: what one Ops placed, another with the same tag can use.
  virtual Matrix place(const Matrix& w, std::vector<std::shared_ptr<const void>>& owners) = 0;
  virtual MatrixStack place(const MatrixStack& w, std::vector<std::shared_ptr<const void>>& owners) = 0;
  // A table that is read row by row, and a vector.
  virtual Matrix place_table(const Matrix& w, std::vector<std::shared_ptr<const void>>& owners) = 0;
  virtual const float* place(std::span<const float> vector, std::vector<std::shared_ptr<const void>>& owners) = 0;
  virtual const TokenId* place(std::span<const TokenId> tokens, std::vector<std::shared_ptr<const void>>& owners) = 0;
  [[nodiscard]] virtual const void* placed_tag() const = 0;

  // y[r] = table[tokens[r]] * scale
  virtual void embed(const Matrix& table, const TokenId* tokens, int32_t rows, float scale, float* y) = 0;
  virtual void pick_tokens(const PickArgs& args) = 0;
  virtual void rms_norm(const NormArgs& args) = 0;
  virtual void add_norm(const AddNormArgs& args) = 0;
  virtual void rms_norms(const NormsArgs& args) {
    for (const NormOutput& o : args.out) rms_norm({args.x, o.weight, o.y, args.rows, args.width, args.eps, o.scale});
  }
  // Up to kMaxProjections products of the same rows x [rows, in].
  virtual void linear(const float* x, int32_t rows, Activation activation, std::span<const Projection> out) = 0;
  virtual void gated(const float* x, int32_t rows, Activation activation, const GatedArgs& args) = 0;
  virtual void heads(const HeadsArgs& args) = 0;
  virtual void attention(const AttentionArgs& args) = 0;
  // heads() and then attention() of the same rows; what q holds afterwards is not said.
  virtual void attend(const HeadsArgs& heads_args, const AttentionArgs& args) {
    heads(heads_args);
    attention(args);
  }
  virtual void route(const RouteArgs& args) = 0;
  virtual void experts(const ExpertsArgs& args, Activation activation) = 0;
  virtual void mixture(const MixtureArgs& args, Activation activation) {
    const AddNormArgs& a = args.add;
    const auto norm = [&](float* x, const float* weight) {
      if (weight != nullptr) rms_norm({x, weight, x, a.rows, a.width, a.eps, 1.0f});
    };
    gated(args.x, a.rows, activation, {args.gate, args.up, args.wide, args.experts.function});
    const Projection down_out{args.down, args.dense};
    linear(args.wide, a.rows, activation, {&down_out, 1});
    norm(args.dense, args.dense_weight);
    experts(args.experts, activation);
    norm(args.experts.y, args.expert_weight);
    add_scaled(args.dense, args.experts.y, 1.0f, static_cast<int64_t>(a.rows) * a.width);
    add_norm(a);
  }
  virtual void gate_mul(const GateMulArgs& args) = 0;
  // y = f(gate x) * by.x, with y and by.x as gate_mul has them
  virtual void gated_by(const float* x, Activation activation, const Matrix& gate, const GateMulArgs& by) {
    const Projection out{&gate, by.y};
    linear(x, by.rows, activation, {&out, 1});
    gate_mul(by);
  }
  // y = (y + x) * scale, both [count]
  virtual void add_scaled(float* y, const float* x, float scale, int64_t count) = 0;
  // y = cap * tanh(y / cap), [count]
  virtual void softcap(float* y, float cap, int64_t count) = 0;
  virtual void rope(const RopeArgs& args) = 0;
  // to[i] = from[rows[i]], [rows, width]; rows in host memory
  virtual void gather(const float* from, std::span<const int32_t> rows, int32_t width, float* to) = 0;
  // y[r] = a[r] and then b[r], [rows, 2 * width]
  virtual void side_by_side(const float* a, const float* b, int32_t rows, int32_t width, float* y) = 0;

 private:
  uint64_t last_stamp_ = 0;
};

}  // namespace paceline::kernels
