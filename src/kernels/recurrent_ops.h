// What only recurrent layers and those beside them need of a backend; one that has it says so (Ops::recurrent).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace paceline::kernels {

// A layer of Gated DeltaNet. Of a row's channels the first are all queries, then all keys, then all values.
struct DeltaShape {
  int32_t key_heads = 0, value_heads = 0;
  int32_t key_dim = 0, value_dim = 0;
  int32_t kernel = 0;  // taps of the convolution, the row itself among them
  bool dealt = false;  // which value heads share a key head: neighbours, or every key_heads-th, as dealt round

  [[nodiscard]] int32_t keys() const { return key_heads * key_dim; }
  [[nodiscard]] int32_t values() const { return value_heads * value_dim; }
  [[nodiscard]] int32_t channels() const { return 2 * keys() + values(); }
  // Whose query and key value head h reads.
  [[nodiscard]] int32_t key_head_of(int32_t h) const { return dealt ? h % key_heads : h / (value_heads / key_heads); }
  // What is remembered of a value head, [key_dim, value_dim], and of the newest inputs, [kernel - 1, channels].
  [[nodiscard]] int64_t head_floats() const { return int64_t{key_dim} * value_dim; }
  [[nodiscard]] int64_t recent_floats() const { return int64_t{kernel - 1} * channels(); }
  // What is kept of a row to run it again: its input [channels], key [key_heads, key_dim], error [value_heads,
  // value_dim] and decay [value_heads].
  [[nodiscard]] int64_t row_floats() const { return int64_t{channels()} + keys() + values() + value_heads; }

  bool operator==(const DeltaShape&) const = default;
};

// In a block of units that lie anywhere: which of them, and where in it.
struct StatePlace {
  int32_t unit = 0;
  int64_t offset = 0;  // in bytes
};

// Where one layer's states lie in blocks; the same for all sequences.
struct DeltaPlaces {
  std::byte* base = nullptr;  // of unit number 0
  int64_t unit_bytes = 0;
  const StatePlace* heads = nullptr;  // [value_heads], host memory: in the block of a state
  StatePlace recent;                  // likewise
  StatePlace row;                     // in the block of a row that is kept
  int32_t row_units = 0;              // of such a block

  [[nodiscard]] float* at(const int32_t* numbers, const StatePlace& place) const {
    return reinterpret_cast<float*>(base + numbers[place.unit] * unit_bytes + place.offset);
  }
};

// Consecutive rows of one sequence. Its state stands behind all rows before these but for the `replayed` newest, which
// were kept and are run again first. It is left behind the `certain` first of these rows; the others may be taken
// back, and are kept.
struct DeltaSpan {
  int32_t first_row = 0, count = 0;
  int32_t certain = 0, replayed = 0;
  const int32_t* state = nullptr;  // numbers of the state's units; all in host memory
  const int32_t* kept = nullptr;   // [replayed, row_units]
  const int32_t* keeps = nullptr;  // [count - certain, row_units]; none of those above
};

// With u_t the input of the row at t and S [key_dim, value_dim] the state of a value head:
//   y = silu(sum over j of taps[j] * u_{t - kernel + 1 + j}), before the text zeros;   q, k, v = y
//   q = q / sqrt(sum q^2 + 1e-6) / sqrt(key_dim),   k = k / sqrt(sum k^2 + 1e-6)
//   decay = exp(rate * softplus(a + bias)),   d = sigmoid(b) * (v - decay * S^T k)
//   S = decay * S + k d^T,   o = S^T q,   out = norm(o) * weight * silu(z)
// row after row, whatever the rows of a call: one order of all sums.
struct DeltaArgs {
  DeltaShape shape;
  DeltaPlaces places;
  const float* u = nullptr;       // [rows, channels]
  const float* a = nullptr;       // [rows, value_heads]
  const float* b = nullptr;       // [rows, value_heads]
  float* z = nullptr;             // [rows, value_heads, value_dim]; becomes out
  const float* taps = nullptr;    // [kernel, channels]
  const float* rate = nullptr;    // [value_heads]
  const float* bias = nullptr;    // [value_heads]
  const float* weight = nullptr;  // [value_dim]
  float eps = 0;
  float* y = nullptr;  // [rows, channels], scratch
  float* o = nullptr;  // [rows, value_heads, value_dim], scratch
  int32_t rows = 0;
  std::span<const DeltaSpan> seqs;
};

// y = y * sigmoid(gate)
struct SigmoidArgs {
  float* y = nullptr;           // [rows, width]
  const float* gate = nullptr;  // [rows, width]; or [rows], one for all of a row
  int32_t rows = 0, width = 0;
  bool one_per_row = false;
};

// first[r] = x[2 r], second[r] = x[2 r + 1]
struct PartArgs {
  const float* x = nullptr;  // [2 * rows, width]
  float* first = nullptr;    // [rows, width]
  float* second = nullptr;   // [rows, width]
  int32_t rows = 0, width = 0;
};

class RecurrentOps {
 public:
  virtual void delta(const DeltaArgs& args) = 0;
  virtual void sigmoid_mul(const SigmoidArgs& args) = 0;
  virtual void part_pairs(const PartArgs& args) = 0;

 protected:
  ~RecurrentOps() = default;
};

}  // namespace paceline::kernels
