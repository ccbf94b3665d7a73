// How matrices lie in device memory, and where their sums are cut. Plain numbers: host and device code agree through
// this file.
//
// Weights are packed once, when they are uploaded, into the order in which tensor cores take them: tiles of 16 outputs,
// and in a tile one step of K after another, so that a warp streams its tile with one 16-byte load per lane and step
// and nothing in between.
//   bf16: [tile][k / 16][lane][8]            lane's part of a 16x16 fragment
//   f8, f4: [tile][k / 64], numbers that become bf16 without a loss on their way (narrow_chunks.cuh)
//   q8, q4: [pair of tiles][k / 128], and in such a step first the values of both tiles, then the scales of both, so
//   that
//         one copy brings all of it
//     values of q8: [k / 32][lane][16]       lane's part of a 16x32 fragment of bytes: of outputs g and g + 8, where g
//                                            is lane / 4, columns lane % 4 * 8 to + 3, then the same of columns + 4
//     values of q4: [k / 64][lane][16]       two such fragments: a byte holds column c in its low half, c + 4 above
//     scales: [g][group of the 128 columns][outputs g, g + 8][scale, bias], or as Scales says, [g][outputs g, g + 8]
//   Groups of 16 columns have fragments of 16: a lane's columns are lane % 4 * 4 to + 3 of each, and of q4 column c +
//   16 lies above c.
// Outputs are padded to 16 (bf16) or 32 and K to kBlockK (bf16) or kStepK, with zeros. Which columns a lane takes is
// free where integers are added up; these are eight in a row, so that rows give it 16 bytes at once (byte_place).
//
// The numerics rule of this backend: narrow and wide kernels give the same bits. A sum over K runs in steps of
// one tensor-core instruction, ascending, inside a part of K; parts are fixed by the matrix's shape and are added in
// ascending order in float32. How many rows there are decides only which kernel does it.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define PACELINE_BOTH __host__ __device__
#else
#define PACELINE_BOTH
#endif

namespace paceline::kernels::cuda {

inline constexpr int32_t kTileOutputs = 16;  // of one fragment
inline constexpr int32_t kPairOutputs = 32;  // of two, which lie together where they are q8 or q4
inline constexpr int32_t kUnitOutputs = 64;  // of one block of a narrow kernel of bf16: four warps
inline constexpr int32_t kBlockK = 64;       // parts are cut at multiples of this
inline constexpr int32_t kStepK = 128;       // K of q8 and q4 is padded to it
inline constexpr int32_t kNarrowRows = 16;   // the most that all narrow kernels take at once
inline constexpr int32_t kPageTokens = 64;
// Pages of a chunk, 1,024 absolute positions: attention merges pages in chunks from nothing, and then chunks.
inline constexpr int32_t kChunkPages = 16;

// Joined pages (ops.h), [kv_head][panel][64 tokens][64], of heads of 512 dims of which 128 are turned: values in the
// first eight panels, and the turned dims of keys behind them. Rows are swizzled as the tensor cores take them.
inline constexpr int32_t kJoinedDim = 512, kJoinedTurned = 128, kJoinedPanels = 10;
// Where a number lies in a KV head's page, in elements: of the value, or of what is turned from kJoinedDim on. Eight in
// a row lie in a row.
PACELINE_BOTH constexpr int32_t joined_place(int32_t token, int32_t at) {
  return at / 64 * (kPageTokens * 64) + token * 64 + ((at % 64 / 8 ^ token % 8) * 8) + at % 8;
}

// The same in codes (kv_rotation.h), of each KV head [panel][64 tokens][64] bytes, code + 128 each, in the order of
// blocks: what is turned first. Then scales of values and scales of keys, [64 tokens] float32.
inline constexpr int32_t kCodePanelBytes = kPageTokens * 64, kCodeBytes = kJoinedPanels * kCodePanelBytes;
inline constexpr int32_t kCodedPageBytes = kCodeBytes + 2 * kPageTokens * 4;
// The place in a head of what is `at` in the order of blocks; four in a row lie in a row.
PACELINE_BOTH constexpr int32_t joined_dim(int32_t at) {
  constexpr int32_t kTurns = kJoinedTurned / 2, kHalf = kJoinedDim / 2;
  return at < kTurns ? at : at < 2 * kTurns ? kHalf + at - kTurns : at < kHalf + kTurns ? at - kTurns : at;
}

// Every byte of a float that is not there yet, where blocks wait for each other's (handover.cuh): not a number, and
// none that arithmetic gives, since those have no sign.
inline constexpr int32_t kNothingByte = 0xff;

PACELINE_BOTH constexpr int32_t ceil_div(int32_t a, int32_t b) { return (a + b - 1) / b; }
PACELINE_BOTH constexpr int32_t round_up(int32_t a, int32_t b) { return ceil_div(a, b) * b; }

// f8: E4M3. f4: E2M1, and for every 16 columns a scale that was E4M3.
enum class Format : int32_t { f32, f16, bf16, q8, q4, f8, f4 };
// Of rows that are multiplied as bf16.
PACELINE_BOTH constexpr bool like_bf16(Format f) { return f == Format::bf16 || f == Format::f8 || f == Format::f4; }

// What q8 and q4 have besides their codes. Pairs are as wide as said; the others are GGUF's, each output's of a step of
// K together.
enum class Scales : int32_t {
  bf16,            // {scale, bias} of a group
  f32,             // the same
  centred,         // a float16 scale of each group of 32; codes are signed
  products,        // {factor of scales, factor of what is subtracted} float16, then of each group of 32 a byte of both
  signed_products  // {factor, 0} float16, then of each group of 16 a byte, 128 more than it stands for; codes are
                   // signed
};
PACELINE_BOTH constexpr bool pairs(Scales s) { return s == Scales::bf16 || s == Scales::f32; }
// Codes are as they are: nothing is added to their products.
PACELINE_BOTH constexpr bool signed_codes(Scales s) { return s == Scales::centred || s == Scales::signed_products; }

PACELINE_BOTH constexpr int32_t padded_cols(Format format, int32_t cols) {
  return round_up(cols, format == Format::q8 || format == Format::q4 ? kStepK : kBlockK);
}

// A matrix [rows, cols] in device memory, packed as above (f32, f16: row-major as they are).
struct Weight {
  const void* values = nullptr;
  int32_t rows = 0, cols = 0;
  int32_t group = 0;
  Format format = Format::bf16;
  Scales scales = Scales::bf16;
  int32_t part = 0;    // length of a part of K, in blocks: part_blocks()
  int64_t stride = 0;  // bytes to the next matrix of a stack
  int32_t exact = 0;   // rows in float32 are multiplied as they are, whatever the format
  int32_t filler = 0;
  const double* factors = nullptr;  // f8, f4: [matrices, rows], or none: what all of a row is multiplied with

  PACELINE_BOTH constexpr int32_t tiles() const { return ceil_div(rows, kTileOutputs); }
  PACELINE_BOTH constexpr int32_t depth() const { return padded_cols(format, cols); }
  PACELINE_BOTH constexpr int32_t parts() const { return ceil_div(ceil_div(cols, kBlockK), part); }
};

// Of a tile's block of K where rows are bf16.
PACELINE_BOTH constexpr int32_t chunk_bytes(Format format) {
  return format == Format::bf16 ? 2048 : format == Format::f8 ? 1024 : 640;
}
// Numbers of f4 are made so much smaller, and their factors larger: their scales' exponents end with bf16's.
inline constexpr int32_t kF4Smaller = 16;

// Of a tile's step of K, where it is q8 or q4; and of two tiles' with all that belongs to it.
PACELINE_BOTH constexpr int32_t step_value_bytes(Format format) {
  return kTileOutputs * kStepK / (format == Format::q8 ? 1 : 2);
}
// Of an output and a step where they are no pairs.
PACELINE_BOTH constexpr int32_t record_bytes(Scales scales) { return scales == Scales::centred ? 8 : 12; }
PACELINE_BOTH constexpr int32_t step_scale_bytes(int32_t group, Scales scales) {
  return kTileOutputs * (pairs(scales) ? kStepK / group * (scales == Scales::f32 ? 8 : 4) : record_bytes(scales));
}
PACELINE_BOTH constexpr int32_t pair_step_bytes(Format format, int32_t group, Scales scales) {
  return 2 * (step_value_bytes(format) + step_scale_bytes(group, scales));
}

// So many rows of a matrix, or all of it.
PACELINE_BOTH constexpr size_t bytes_of(const Weight& w, int32_t rows) {
  const auto cols = static_cast<size_t>(w.cols), depth = static_cast<size_t>(w.depth());
  switch (w.format) {
    case Format::f32: return static_cast<size_t>(rows) * cols * 4;
    case Format::f16: return static_cast<size_t>(rows) * cols * 2;
    case Format::bf16:
    case Format::f8:
    case Format::f4:
      return static_cast<size_t>(ceil_div(rows, kTileOutputs)) * (depth / kBlockK) *
             static_cast<size_t>(chunk_bytes(w.format));
    default:
      return static_cast<size_t>(ceil_div(rows, kPairOutputs)) * (depth / kStepK) *
             static_cast<size_t>(pair_step_bytes(w.format, w.group, w.scales));
  }
}
PACELINE_BOTH constexpr size_t bytes_of(const Weight& w) { return bytes_of(w, w.rows); }

// The length of one part of K, in blocks of kBlockK, a multiple of what the wide kernel takes at once (4). Measured on
// an H200: units of 64 outputs times parts should fill half of the device's places, so that the next launch finds room
// to begin; parts longer than 16 make the last ones late, but where K is long and outputs are few one full set of
// places is better than three. Matrices of few outputs share a launch: they count as if they had more. Experts count as
// often as one row takes them.
inline constexpr int32_t kPlaces = 528;
inline constexpr int32_t kLongestPart = 16;
inline constexpr int32_t kTiny = 200;
PACELINE_BOTH constexpr int32_t part_blocks(int32_t rows, int32_t cols) {
  const int32_t blocks = ceil_div(cols, kBlockK), units = ceil_div(rows, kUnitOutputs);
  if (units <= 128 && blocks >= 100 && units * ceil_div(blocks, kLongestPart) > kPlaces)
    return round_up(ceil_div(blocks, kPlaces / units), 4);
  // So little that only the way to the memory and back counts: all of it at once.
  if (units * blocks <= kTiny) return 4;
  const int32_t many = units > 64 ? units : 64, wanted = (kPlaces + many) / (2 * many);
  const int32_t length = round_up(ceil_div(blocks, wanted > 1 ? wanted : 1), 4);
  return length < kLongestPart ? length : kLongestPart;
}

// The same for q8, whose units are larger and whose steps are of two blocks: longer parts, since the same
// columns are fewer bytes. So many that units times parts fill a large device's places about once, with some left for
// a small matrix of the same launch, but none shorter than what makes a block worth its beginning and its end. Matrices
// of short K share a launch: they count as if they had more outputs.
inline constexpr int32_t kQuantisedUnitOutputs = 128;
inline constexpr int32_t kWantedQuantisedUnits = 480, kSharedQuantisedUnits = 120;
inline constexpr int32_t kShortK = 100;  // blocks
inline constexpr int32_t kShortestPart = 12, kLongestQuantisedPart = 28;
PACELINE_BOTH constexpr int32_t quantised_part_blocks(int32_t rows, int32_t cols) {
  const int32_t blocks = ceil_div(cols, kBlockK), units = ceil_div(rows, kQuantisedUnitOutputs);
  const int32_t many = blocks < kShortK && units < kSharedQuantisedUnits ? kSharedQuantisedUnits : units;
  const int32_t enough = kWantedQuantisedUnits / many, most = blocks / kShortestPart;
  const int32_t wanted = enough < most ? enough : most, needed = ceil_div(blocks, kLongestQuantisedPart);
  return round_up(ceil_div(blocks, wanted > needed ? wanted : needed), 2);
}

// And for those of fewer bytes, of which blocks of K pass faster: rounds of a device's places, each of a part and of
// what a block does before and behind it, about kBeginning blocks' time, are to be few and short. A part is a whole
// number of `step` blocks; there are no more than blocks ÷ `shortest` of them, rounded up.
inline constexpr int32_t kBeginning = 8;
PACELINE_BOTH constexpr int32_t few_rounds_part(int32_t units, int32_t blocks, int32_t step, int32_t shortest) {
  int32_t best = 0, least = 0;
  for (int32_t parts = 1; parts <= ceil_div(blocks, shortest); ++parts) {
    const int32_t length = round_up(ceil_div(blocks, parts), step);
    const int32_t time = ceil_div(units * ceil_div(blocks, length), kPlaces) * (length + kBeginning);
    if (best != 0 && time >= least) continue;
    best = length;
    least = time;
  }
  return best;
}
PACELINE_BOTH constexpr int32_t q4_part_blocks(int32_t rows, int32_t cols) {
  const int32_t blocks = ceil_div(cols, kBlockK), units = ceil_div(rows, kQuantisedUnitOutputs);
  const bool shares = blocks < kShortK && units < kSharedQuantisedUnits;
  return few_rounds_part(shares ? kSharedQuantisedUnits : units, blocks, 2, kShortestPart);
}
// Of f8 and f4, whose units are bf16's.
inline constexpr int32_t kSharedChunkUnits = 128, kShortestChunkPart = 8;
PACELINE_BOTH constexpr int32_t chunk_part_blocks(int32_t rows, int32_t cols) {
  const int32_t blocks = ceil_div(cols, kBlockK), units = ceil_div(rows, kUnitOutputs);
  const bool shares = blocks < kShortK && units < kSharedChunkUnits;
  return few_rounds_part(shares ? kSharedChunkUnits : units, blocks, 4, kShortestChunkPart);
}

// Where the step of K of a tile of a q8 or q4 matrix lies: its values, and its scales.
struct StepPlace {
  int64_t values, scales;
};
PACELINE_BOTH constexpr StepPlace step_place(const Weight& w, int64_t tile, int32_t step) {
  const int64_t steps = w.depth() / kStepK, half = tile % 2, values = step_value_bytes(w.format);
  const int64_t begin = (tile / 2 * steps + step) * pair_step_bytes(w.format, w.group, w.scales);
  return {begin + half * values, begin + 2 * values + half * step_scale_bytes(w.group, w.scales)};
}
// Which lane of four has a column, and whether it is of the second four bytes that the lane has of 32 columns.
PACELINE_BOTH constexpr int32_t lane_of_column(int32_t group, int32_t col) {
  return group == 16 ? col % 16 / 4 : col % 32 / 8;
}
PACELINE_BOTH constexpr int32_t second_four(int32_t group, int32_t col) {
  return group == 16 ? col % 32 / 16 : col % 8 / 4;
}
// Where its element (row, col) lies: its byte, and its pair of scale and bias, or what its output has of the step.
PACELINE_BOTH constexpr StepPlace quantised_place(const Weight& w, int64_t row, int32_t col) {
  StepPlace at = step_place(w, row / kTileOutputs, col / kStepK);
  const int32_t g = static_cast<int32_t>(row % 8), high = static_cast<int32_t>(row % kTileOutputs / 8);
  const int32_t lane = g * 4 + lane_of_column(w.group, col), in_step = col % kStepK, groups = kStepK / w.group;
  at.values += w.format == Format::q8
                   ? (in_step / 32 * 32 + lane) * 16 + (second_four(w.group, col) * 2 + high) * 4 + col % 4
                   : (in_step / 64 * 32 + lane) * 16 + (col % 64 / 32 * 2 + high) * 4 + col % 4;
  at.scales += pairs(w.scales) ? ((g * groups + in_step / w.group) * 2 + high) * (w.scales == Scales::f32 ? 8 : 4)
                               : (g * 2 + high) * record_bytes(w.scales);
  return at;
}
// Where the byte of a row's column lies: what a lane takes of 64 columns is 16 bytes.
PACELINE_BOTH constexpr int32_t byte_place(int32_t group, int32_t col) {
  return col / 64 * 64 + lane_of_column(group, col) * 16 + col % 64 / 32 * 8 + second_four(group, col) * 4 + col % 4;
}

// Rows made ready for a matrix: bf16 [rows, stride], or bytes [rows, stride] in byte_place's order with
// {scale, scale * sum} per row and run of min(group, 64) columns: [rows, stride / run].
struct Rows {
  const void* values = nullptr;
  const float* scales = nullptr;
  int32_t stride = 0;  // elements; the matrix's depth()
  int32_t filler = 0;
};

// Where bytes of rows are to be written, for matrices of this group.
struct ByteRows {
  int8_t* values = nullptr;  // none: nowhere
  float* scales = nullptr;
  int32_t stride = 0, group = 0;

  // A run is 16, 32 or 64 columns.
  PACELINE_BOTH int32_t run_bits() const { return group < 32 ? 4 : group < 64 ? 5 : 6; }
};

}  // namespace paceline::kernels::cuda
