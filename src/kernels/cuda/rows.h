// Everything on the device that is not a matrix product or attention, as plain arguments.
#pragma once

#include "kernels/cuda/matmul.h"

namespace paceline::kernels::cuda {

// Equal arguments are equal bytes: see Launches.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"

// Into layout.h's order. `from` is device memory, as it lies in a checkpoint.
void pack_values(const void* from, void* to, const Weight& w, Stream stream);
void pack_scales(const void* scales, const void* biases, void* to, const Weight& w, Stream stream);
void pack_f8(const void* from, void* to, const Weight& w, Stream stream);
// scales: E4M3 [rows, cols / 16].
void pack_f4(const void* from, const void* scales, void* to, const Weight& w, Stream stream);
// f8 or f4 as bf16, without factors.
void unpack_chunks(const Weight& w, void* to, Stream stream);
// y[r][i] *= factors[i], [rows, width]
void times_factors(float* y, const double* factors, int32_t rows, int32_t width, Stream stream);
// [rows, depth / kStepK] of record_bytes() each.
void pack_records(const void* records, void* to, const Weight& w, Stream stream);

// Rows made ready for a matrix.
void rows_to_bf16(const float* x, uint16_t* y, int32_t rows, int32_t cols, int32_t stride, Stream stream);
void rows_to_bytes(const float* x, const ByteRows& to, int32_t rows, int32_t cols, Stream stream);

// y[r] = table[tokens[r]] * scale, [rows, cols]
struct EmbedArgs {
  Weight table;
  const int32_t* tokens = nullptr;  // [rows], device memory
  float* y = nullptr;
  int32_t rows = 0;
  float scale = 1;
};
void embed(const EmbedArgs& args, Stream stream);

// One of the norms of x: y = norm(x) * weight * scale
struct NormTo {
  const float* weight = nullptr;  // [width], or none
  float* y = nullptr;             // [rows, width]; may be x without a branch
  uint16_t* y_bf16 = nullptr;     // [rows, y_stride], or none
  ByteRows y_bytes;               // or none
  float scale = 1;
  int32_t filler = 0;
};

// The branch of a layer with experts: norm(branch) * dense_weight + norm(mixed) * expert_weight, where mixed is the sum
// over ranks of share * slots[slot], best first.
struct Mixed {
  const float* slots = nullptr;          // [slots, width], or none: the branch as it is
  const int32_t* slot_of = nullptr;      // [rows, top]
  const float* share = nullptr;          // [rows, top]
  const float* dense_weight = nullptr;   // [width], or none
  const float* expert_weight = nullptr;  // [width], or none
  int32_t top = 0;
  int32_t known = 0;  // slot_of and share are older than the kernel in front
};

// Norms in one pass, any of which may be missing.
//   x = (x + norm(branch) * branch_weight) * branch_scale      where there is a branch; without a weight
//                                                              it is not normed, nor are the parts of a mixed one
//   y = norm(x) * weight * scale                               for each of `to`
// Where a product leaves the branch (handover.cuh), it is the kernel in front, its y is none of what is written here,
// and all that it leaves is taken.
inline constexpr int32_t kMaxNormsTo = 3;
struct NormsArgs {
  float* x = nullptr;                    // [rows, width]; written where there is a branch
  const float* branch = nullptr;         // [rows, width]
  float* left = nullptr;                 // [rows, width], or none: the branch as the kernel in front leaves it
  const float* branch_weight = nullptr;  // [width], or none
  float branch_scale = 1;
  float eps = 0;
  uint16_t* x_bf16 = nullptr;  // [rows, y_stride], or none: x once more, where there is a branch
  Mixed mixed;
  NormTo to[kMaxNormsTo];
  int32_t count = 0;
  int32_t y_stride = 0;
  int32_t rows = 0, width = 0;
};
inline constexpr int32_t kMaxNormWidth = 8192;
void norms(const NormsArgs& args, Stream stream);

// y = f(y) * x per row; rows of x lie x_stride apart.
struct GateMulArgs {
  float* y = nullptr;        // [rows, width]
  const float* x = nullptr;  // [rows, x_stride]
  int32_t rows = 0, width = 0, x_stride = 0;
  int32_t y_stride = 0;
  uint16_t* y_bf16 = nullptr;  // [rows, y_stride]
  int32_t silu = 0;            // what f is; else gelu
  int32_t filler = 0;
};
void gate_mul(const GateMulArgs& args, Stream stream);
// Between two places of device memory that do not meet.
void copy_bytes(const void* from, void* to, int64_t bytes, Stream stream);
// y = (y + x) * scale
void add_scaled(float* y, const float* x, float scale, int64_t count, Stream stream);
// y = cap * tanh(y / cap)
void softcap(float* y, float cap, int64_t count, Stream stream);
// to[i] = from[rows[i]], rows of `width` floats
void gather_rows(const float* from, const int32_t* rows, float* to, int32_t count, int32_t width, Stream stream);
// The first of the largest of each row; what is not a number is never it.
struct ArgmaxArgs {
  const float* x = nullptr;  // [rows, width]
  int32_t rows = 0, width = 0;
  int32_t* best = nullptr;      // [rows]
  uint64_t* partial = nullptr;  // [rows, kArgmaxPieces]
};
inline constexpr int32_t kArgmaxPieces = 64;
void argmax(const ArgmaxArgs& args, Stream stream);

// Reads all of it once, for measurements; bytes a multiple of 4 MiB.
void read_all(void* block, size_t bytes, Stream stream);

// cos, sin [rows, pairs] of pos * frequency.
struct RopeRowsArgs {
  const int32_t* positions = nullptr;  // [rows]
  const float* frequencies = nullptr;  // [pairs]
  float* cos = nullptr;
  float* sin = nullptr;
  int32_t rows = 0, pairs = 0;
};
void rope_rows(const RopeRowsArgs& args, Stream stream);

// Shares of the experts, best first: softmax over the scores, the top ones divided by their sum, times expert_scale.
struct RouteArgs {
  const float* scores = nullptr;        // [rows, experts]
  const float* expert_scale = nullptr;  // [experts]
  int32_t rows = 0, experts = 0, top = 0;
  int32_t divides = 1;        // else by all experts' sum
  int32_t* chosen = nullptr;  // [rows, top]
  float* share = nullptr;     // [rows, top]
};
void route(const RouteArgs& args, Stream stream);
// The router's product, the choice and the plan in one kernel, where can_route_and_plan().
struct PlanArgs;
struct RouterArgs {
  Weight router;             // [experts, hidden]
  const float* x = nullptr;  // [rows, hidden]
  float* left = nullptr;     // [kNarrowRows, kMaxExperts], kNothing (handover.cuh) before and after
};
bool can_route_and_plan(const RouterArgs& router, int32_t rows);
void route_and_plan(const RouterArgs& router, const RouteArgs& route, const PlanArgs& plan, Stream stream);

// Slots of the chosen experts: expert by expert, in each by row.
struct PlanArgs {
  const int32_t* chosen = nullptr;  // [rows, top]
  int32_t rows = 0, top = 0, experts = 0;
  int32_t filler = 0;
  ExpertPlan* plan = nullptr;
  int32_t* slot_row = nullptr;  // [rows * top]
  int32_t* slot_of = nullptr;   // [rows, top]
};
void plan_experts(const PlanArgs& args, Stream stream);
// The same, for more than kNarrowRows rows.
void plan_many_experts(const PlanArgs& args, Stream stream);
// y[r] = sum over ranks of share * from[slot], best first
struct CombineArgs {
  const float* from = nullptr;       // [slots, width]
  const int32_t* slot_of = nullptr;  // [rows, top]
  const float* share = nullptr;      // [rows, top]
  float* y = nullptr;                // [rows, width]
  int32_t rows = 0, top = 0, width = 0;
  int32_t filler = 0;
};
void combine_experts(const CombineArgs& args, Stream stream);

#pragma GCC diagnostic pop

}  // namespace paceline::kernels::cuda
