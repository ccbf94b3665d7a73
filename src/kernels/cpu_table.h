// The kernels of one instruction set. Which table is used is decided once at start: the best that the processor has,
// or what PACELINE_ISA names. Functions here are single-threaded and work on pieces; cpu_ops.cc deals the pieces out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernels/code_rows.h"
#include "tensor/matrix.h"

namespace paceline::kernels {

// Rows of activations made ready to be multiplied. `layout` is the table's own business; the kinds are
//   f32:     float32 rows, for f32, f16 and bf16 weights
//   bf16:    rounded to bf16, for bf16 weights
//   int8:    8 bits with one scale per row and group, for q8 weights
//   nibbles: the same in the order in which q4 weights unpack
//   blocks:  the same in the order of the columns, for weights in blocks; as portable/act.h has them, except on NEON
enum class ActKind : uint8_t { f32, bf16, int8, nibbles, blocks };

struct ActShape {
  ActKind kind = ActKind::f32;
  int32_t rows = 0, cols = 0;
  int32_t group = 0;  // int8, nibbles, blocks: the weights' group

  friend bool operator==(const ActShape&, const ActShape&) = default;
};

struct Act {
  ActShape shape;
  void* bytes = nullptr;  // table->act_bytes(shape), 64-byte aligned
};

// Inputs of a convolution over rows, of some channels: y[c] = silu(sum over j of taps[j * stride + c] * rows[j][c]).
struct Convolution {
  const float* const* rows = nullptr;  // [kernel], oldest first
  const float* taps = nullptr;
  int64_t stride = 0;
  int32_t kernel = 0;
  int32_t begin = 0, end = 0;  // channels
};

// Some columns of one head's state S, `stride` numbers from one key to the next:
//   d = beta * (v - decay * S^T k),  S = decay * S + k d^T,  o = S^T q;  keys ascending in both sums
inline constexpr int32_t kMaxDeltaKeys = 512;
struct DeltaStep {
  float* state = nullptr;
  int64_t stride = 0;
  int32_t keys = 0, columns = 0;
  const float* q = nullptr;  // [keys]
  const float* k = nullptr;  // [keys]
  const float* v = nullptr;  // [columns]
  float* d = nullptr;        // [columns]
  float* o = nullptr;        // [columns]
  float decay = 0, beta = 0;
  const float* ahead = nullptr;  // a state of the same form that is wanted next; may be none
};

struct HeadShape;
class PageProducts;

struct CpuTable {
  const char* name;

  // Matrices that the kernels want in an order of their own: the bytes of w so rearranged, 0 where it is used as it
  // lies; and the rearranging of blocks of pack_rows rows, [block_begin, block_end). None: every matrix is used as it
  // lies.
  size_t (*packed_bytes)(const Matrix& w);
  void (*pack)(const Matrix& w, void* out, int32_t block_begin, int32_t block_end);
  int32_t pack_rows;

  // Memory that prepared rows need; rows are prepared in units of act_unit, [unit_begin, unit_end).
  size_t (*act_bytes)(const ActShape& shape);
  int32_t act_unit;
  // x [rows, cols] with row stride ldx.
  void (*prepare)(const Act& act, const float* x, int64_t ldx, int32_t unit_begin, int32_t unit_end);

  // matmul takes f8 whose scales are factors of rows, without these.
  bool reads_f8;
  // For tables that do not: up to so many rows it takes it all the same, and for more its numbers as bf16.
  int32_t few_f8_rows;
  void (*widen_f8)(const uint8_t* from, int64_t count, uint16_t* to);
  // Up to so many rows of float32 it takes f8 and nf4 whose scales differ along a row, groups being multiples of
  // kOutputTile, and for more what they stand for.
  int32_t few_scaled_rows;
  // y[r * ldy + n] = W[n] · x[r] for all rows r and n in [n_begin, n_end); n_begin is a multiple of kOutputTile.
  void (*matmul)(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end);

  // matmul of a head's part of a page, while one that lies alike is asked for, which is wanted next (may be none).
  // None: matmul does it.
  void (*matmul_page)(const Matrix& w, const void* ahead, const Act& x, float* y, int64_t ldy, int32_t n_begin,
                      int32_t n_end);

  // Attention's two products with pages, for shapes that a table has its own way with (cpu_products.h): the memory that
  // this takes, 0 for other shapes. None: there are no such shapes.
  size_t (*page_products_bytes)(const HeadShape& shape);
  std::unique_ptr<PageProducts> (*make_page_products)(const HeadShape& shape, void* memory);
  // The most queries that share a walk, at most kBlockQueries; 0: kFewBlockQueries.
  int32_t block_queries;

  // Attention's second product where a page has a token's numbers side by side: W [kPageTokens, cols] unquantised, x
  // [rows, kPageTokens]: y[r * ldy + k] = y[r * ldy + k] * keep[r] + Σ x[r][t] * W[t][k], tokens ascending. None: pages
  // are turned for matmul.
  void (*mix)(const Matrix& w, const float* x, int32_t rows, const float* keep, float* y, int64_t ldy);
  // A page so turned: to[k * kPageTokens + t] = from[t * stride + k] for k below dim, a multiple of 8. None: a plain
  // loop does it.
  void (*turn_page)(const uint16_t* from, int64_t stride, int32_t dim, uint16_t* to);
  // Pages of codes lie in pairs and eights for it wherever their numbers allow it (cpu_pages.h), else in rows.
  bool interleaves_codes;
  // Codes of x [count] at -127 … 127; returns their scale (kv_rotation.h).
  float (*encode)(const float* x, int32_t count, int8_t* codes);
  // The same two products in codes, exact: y[r * kPageTokens + t] = Σ x[r * cols + k] * w[t][k], sums[r] being
  // Σ x[r * cols + k], and y[r * cols + k] = Σ x[r * kPageTokens + t] * w[t][k].
  void (*code_scores)(const CodeRows& w, const int8_t* x, const int32_t* sums, int32_t rows, int32_t* y);
  void (*code_mix)(const CodeRows& w, const uint8_t* x, int32_t rows, int32_t* y);
  // y[t] = x[t] * (part * scales[t]), or added to y; [kPageTokens]
  void (*scale_scores)(const int32_t* x, float part, const float* scales, bool add, float* y);
  // Codes 0 … 255 of x[t] * scales[t], none of them negative; returns their scale. [kPageTokens]
  float (*encode_shares)(const float* x, const float* scales, uint8_t* codes);
  // y = y * keep + x * part
  void (*blend_codes)(float* y, float keep, const int32_t* x, float part, int64_t count);

  // One row each.
  void (*rms_norm)(const float* x, const float* weight, float* y, int32_t width, float eps, float scale);
  void (*add_norm)(float* x, const float* branch, const float* weight, int32_t width, float eps, float scale);
  // Rotates pairs (i, i + width/2) in place.
  void (*rope)(float* x, const float* cos, const float* sin, int32_t width);
  // y = row `row` of the matrix * scale.
  void (*dequantise)(const Matrix& w, int32_t row, float scale, float* y);
  // y = gelu(y) * x, y = silu(y) * x
  void (*gelu_mul)(float* y, const float* x, int64_t count);
  void (*silu_mul)(float* y, const float* x, int64_t count);
  void (*add_scaled)(float* y, const float* x, float scale, int64_t count);
  void (*softcap)(float* y, float cap, int64_t count);
  // y = y * keep + x * part
  void (*blend)(float* y, float keep, const float* x, float part, int64_t count);
  // The largest of count >= 1 values.
  float (*max_of)(const float* x, int32_t count);
  // y = y * sigmoid(gate)
  void (*sigmoid_mul)(float* y, const float* gate, int64_t count);
  void (*convolve)(const Convolution& c, float* y);
  // The second one again with the d that there is: the same bits in S.
  void (*delta_step)(const DeltaStep& step);
  void (*delta_replay)(const DeltaStep& step);
  // x[i] = exp(x[i] - top), returns the sum in an order fixed by count. -infinity gives exactly 0.
  float (*exp_sum)(float* x, float top, int32_t count);
};

// matmul's output ranges start at multiples of this.
inline constexpr int32_t kOutputTile = 16;

// Tables that this processor can run, best first; the last is always portable.
const std::vector<const CpuTable*>& cpu_tables();
// The one named, or the best where name is empty.
Result<const CpuTable*> find_cpu_table(std::string_view name);
// What PACELINE_ISA asks for.
Result<const CpuTable*> default_cpu_table();

}  // namespace paceline::kernels
