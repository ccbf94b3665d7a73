// Matrix products on the device, as plain arguments: y[r] = W x[r].
//
// Few rows go through matmul_narrow or matmul_quantised, some through matmul_ring (bound by the bytes of the weights),
// more through matmul_wide or matmul_quantised_wide (bound by operations). All give a row the same bits; see layout.h.
#pragma once

#include "kernels/cuda/launches.h"
#include "kernels/cuda/layout.h"

namespace paceline::kernels::cuda {

// Equal arguments are equal bytes: see Launches.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"

// Of one launch. Few: every block reads its arguments cold.
inline constexpr int32_t kMaxProducts = 4;
inline constexpr int32_t kMaxExperts = 256;
inline constexpr int32_t kMaxExpertsPerToken = 32;  // a lane of a warp for each

// Which rows go to which expert; made on the device by plan_experts(). A slot is a (row, rank) pair, slots lie expert
// by expert.
struct ExpertPlan {
  int32_t touched = 0;
  int32_t expert[kMaxExperts];     // [touched], ascending
  int32_t first[kMaxExperts + 1];  // [touched + 1]: slots of the touched experts
};

// The products of a stack with the rows that the plan gives each expert.
struct ExpertRows {
  const ExpertPlan* plan = nullptr;   // none: no stack
  const int32_t* slot_row = nullptr;  // [slots]: the row to read; none: rows are slots already
  int32_t most_touched = 0;           // no plan has more
  int32_t slots = 0;
  int32_t known = 0;  // the plan is older than the kernel in front
  int32_t filler = 0;
};

struct Product {
  Weight weight;
  Weight up;  // present: y = f(weight x) * (up x)
  // Of no expert, though the launch has a plan, and with rows of its own. Only where joins().
  int32_t dense = 0;
  int32_t times_stride = 0;
  Rows x;
  // [rows, times_stride], or none: y = f(weight x) * times. Of bf16 only, and of no expert.
  const float* times = nullptr;
  float* y = nullptr;          // [rows, outputs], or none
  float* left = nullptr;       // y once more, left for the next launch (handover.cuh), or none; only where leaves()
  uint16_t* y_bf16 = nullptr;  // [rows, y_stride] as bf16, or none
  ByteRows y_bytes;            // or none; only where makes_bytes()
  int32_t y_stride = 0;
  int32_t silu = 0;  // what f is; else gelu
  // Filled in by the launch. fours: four outputs in a row can be written at once.
  int32_t first_block = 0, units = 0, split = 1;
  int32_t fours = 0;

  PACELINE_BOTH bool gated() const { return up.values != nullptr; }
};

struct MatmulArgs {
  int32_t count = 0;
  int32_t rows = 0;
  Rows x;
  ExpertRows experts;
  // Sums of parts, not shared with a launch that may still run: of long ones [kPartialFloats], kNothing (handover.cuh)
  // before and after; of short ones [kCountedFloats] with a count per unit [kMaxArrivals], zero before and after.
  float* partial = nullptr;
  float* counted = nullptr;
  int32_t* arrivals = nullptr;
  int32_t blocks = 0;  // filled in by the launch
  int32_t filler = 0;
  Product out[kMaxProducts];  // all of one format
};

inline constexpr int32_t kMaxArrivals = 1 << 18;
inline constexpr size_t kPartialFloats = size_t{1} << 25;
inline constexpr size_t kCountedFloats = size_t{1} << 24;

// Whether the device has the instructions that rings and large blocks of wide kernels are written in.
bool has_warpgroups();
int32_t multiprocessors();

// Whether a launch is better off with a narrow kernel than with another one. Measured on an H200, a step of 32 rows
// then takes 0.69 of the time in q8, where weights are read for every kNarrowRows rows anew, and 0.54 in q4; in bf16
// 0.67 to 0.80 of what a wide kernel takes, but 1.07 to 1.10 of a ring's. Of all rows, an expert gets a few.
inline constexpr int32_t kMostNarrowRows = 32, kMostNarrowExpertRows = 64;
inline int32_t most_narrow_rows(Format format) {
  return format == Format::bf16 && has_warpgroups() ? kNarrowRows : kMostNarrowRows;
}
inline bool goes_narrow(const MatmulArgs& args) {
  if (const Format f = args.out[0].weight.format; f == Format::f8 || f == Format::f4) return true;
  if (args.experts.plan == nullptr) return args.rows <= most_narrow_rows(args.out[0].weight.format);
  return args.rows <= (args.out[0].weight.format == Format::bf16 ? kMostNarrowExpertRows : kNarrowRows);
}
// f8 and f4 of so many rows and no stack are better off as bf16, where so many bytes hold them.
inline constexpr int32_t kFewestUnpackedRows = 65;
inline constexpr size_t kMostUnpackedBytes = size_t{512} << 20;
inline bool unpacks(const Weight& w, int32_t rows) {
  return (w.format == Format::f8 || w.format == Format::f4) && rows >= kFewestUnpackedRows &&
         static_cast<size_t>(w.tiles()) * static_cast<size_t>(w.depth()) * 32 <= kMostUnpackedBytes;
}
// Whether a launch may have products beside its experts: bf16 and few rows.
inline bool joins(const MatmulArgs& args) {
  bool all = args.rows <= most_narrow_rows(Format::bf16);
  for (int32_t i = 0; i < args.count; ++i) all = all && args.out[i].weight.format == Format::bf16;
  return all;
}
// Whether a product may make bytes of its outputs, of which the next one's group is so long: gated ones of few rows,
// whose blocks have whole groups and leave no column out.
inline bool makes_bytes(const Product& p, int32_t rows, int32_t group) {
  const bool quantised = p.weight.format == Format::q8 || p.weight.format == Format::q4;
  return quantised && p.gated() && rows <= kNarrowRows && group <= kQuantisedUnitOutputs / 2 &&
         p.weight.rows % kStepK == 0;
}
// What is left for the next launch lets that one start later: of few rows and a small matrix that costs more than it
// brings (measured on an H200).
inline constexpr int32_t kFewestLeft = 2;
inline constexpr size_t kFewestBytesLeft = 20'000'000;
// Whether a launch may leave its outputs for the one behind it: a single product of few rows, through a narrow kernel.
inline bool leaves(const MatmulArgs& args) {
  const Weight& w = args.out[0].weight;
  const bool quantised = w.format == Format::q8 || w.format == Format::q4;
  const int32_t most = like_bf16(w.format) ? most_narrow_rows(Format::bf16) : quantised ? kNarrowRows : 0;
  const bool pays = args.rows > kFewestLeft || bytes_of(w) >= kFewestBytesLeft;
  return args.count == 1 && args.rows <= most && args.experts.plan == nullptr && pays;
}
// early: may start before the kernel in front of it has ended (its weights do not depend on that one).
void matmul_narrow(MatmulArgs args, Stream stream, bool early);
// Up to kFloatRows rows may be float32 [rows, cols], without scales.
inline constexpr int32_t kFloatRows = 2;
void matmul_quantised(MatmulArgs args, Stream stream, bool early);
// Scales or groups that only matrices in blocks have; matmul_quantised() and matmul_quantised_wide() hand these on.
inline bool of_blocks_alone(const Weight& w) { return !pairs(w.scales) || w.group == 16; }
void matmul_in_blocks(const MatmulArgs& args, Stream stream, bool early);
void matmul_in_blocks_wide(const MatmulArgs& args, Stream stream);
inline constexpr int32_t kMostRingRows = 128, kMostRingExpertRows = 64;  // of an expert, on the average
// Of bf16: whether the memory is what such a product waits for.
inline bool goes_through_ring(const MatmulArgs& args) {
  if (!has_warpgroups()) return false;
  if (args.experts.plan == nullptr) return args.rows <= kMostRingRows;
  return ceil_div(args.experts.slots, args.experts.most_touched) <= kMostRingExpertRows;
}
void matmul_ring(MatmulArgs args, Stream stream);
void matmul_wide(MatmulArgs args, Stream stream);
void matmul_quantised_wide(const MatmulArgs& args, Stream stream);
// Unquantised weights with float32 rows: `x.values` is float32 [rows, stride]. For checks and for routers.
void matmul_f32(MatmulArgs args, Stream stream);
// The same for many rows, where can_multiply_many_f32().
bool can_multiply_many_f32(const MatmulArgs& args);
void matmul_f32_many(const MatmulArgs& args, Stream stream);

#pragma GCC diagnostic pop

}  // namespace paceline::kernels::cuda
