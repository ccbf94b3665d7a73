// Recurrent layers on the device, and what stands beside them, as plain arguments. What is meant is recurrent_ops.h's.
#pragma once

#include "kernels/cuda/matmul.h"
#include "kernels/recurrent_ops.h"

namespace paceline::kernels::cuda {

// Equal arguments are equal bytes: see Launches.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"

// The widest key and value of a head, and what both are multiples of; and the longest convolution.
inline constexpr int32_t kMaxDeltaDim = 128, kDeltaStep = 4;
inline constexpr int32_t kMaxDeltaKernel = 8;

// One sequence's rows, and where what they read and write lies: one behind the other in a table of words, all of one
// length.
struct DeltaHead {
  int32_t first_row = 0, count = 0;
  int32_t certain = 0, replayed = 0;
};
struct DeltaTable {
  const DeltaHead* words = nullptr;     // device memory
  const int32_t* seq_of_row = nullptr;  // [rows], device memory
  int32_t stride = 0;                   // words of 8 bytes from one sequence to the next, even
  int32_t value_heads = 0;
  int32_t tape_slots = 0;  // room for rows that are run again, and as much for those that are kept
  int32_t filler = 0;

  static constexpr int32_t kHeadWords = sizeof(DeltaHead) / sizeof(uint64_t);
  // In words, of a sequence's: its states, the newest inputs, rows that are run again, rows that are kept.
  [[nodiscard]] PACELINE_BOTH int32_t recent_at() const { return kHeadWords + value_heads; }
  [[nodiscard]] PACELINE_BOTH int32_t kept_at() const { return recent_at() + 1; }
  [[nodiscard]] PACELINE_BOTH int32_t keeps_at() const { return kept_at() + tape_slots; }
  [[nodiscard]] PACELINE_BOTH int32_t words_of_seq() const { return round_up(keeps_at() + tape_slots, 2); }
};

struct DeltaRows {
  DeltaTable table;
  int32_t key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0;
  int32_t kernel = 0;
  int32_t dealt = 0, filler = 0;
  int32_t rows = 0, seqs = 0;
  float eps = 0;
  float query_scale = 1;
  int32_t out_stride = 0;
  const float* u = nullptr;
  const float* a = nullptr;
  const float* b = nullptr;
  float* z = nullptr;
  uint16_t* out_bf16 = nullptr;  // [rows, out_stride]: z once more when it has become out
  const float* taps = nullptr;
  const float* rate = nullptr;
  const float* bias = nullptr;
  const float* weight = nullptr;
  float* y = nullptr;      // [rows, channels]: queries and keys of unit length, values
  float* gates = nullptr;  // [rows, value_heads, 2]: decay, beta

  [[nodiscard]] PACELINE_BOTH int32_t keys() const { return key_heads * key_dim; }
  [[nodiscard]] PACELINE_BOTH int32_t values() const { return value_heads * value_dim; }
  [[nodiscard]] PACELINE_BOTH int32_t channels() const { return 2 * keys() + values(); }
};
void delta(const DeltaRows& args, Stream stream);

// y = y * sigmoid(gate)
struct SigmoidRows {
  float* y = nullptr;           // [rows, width]
  const float* gate = nullptr;  // [rows, width]; or [rows]
  uint16_t* y_bf16 = nullptr;   // [rows, y_stride], or none
  int32_t rows = 0, width = 0, y_stride = 0;
  int32_t one_per_row = 0;
};
void sigmoid_mul(const SigmoidRows& args, Stream stream);

// first[r] = x[2 r], second[r] = x[2 r + 1]
struct PartRows {
  const float* x = nullptr;  // [2 * rows, width]
  float* first = nullptr;
  float* second = nullptr;
  int32_t rows = 0, width = 0;
};
void part_pairs(const PartRows& args, Stream stream);

#pragma GCC diagnostic pop

}  // namespace paceline::kernels::cuda
