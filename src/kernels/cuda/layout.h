// How matrices lie in device memory, and where their sums are cut. Plain numbers: host and device code agree through
// this file.
//
// Weights are packed once, when they are uploaded, into the order in which tensor cores take them: tiles of 16 outputs,
// and in a tile one step of K after another, so that a warp streams its tile with one 16-byte load per lane and step
// and nothing in between.
//   bf16: [tile][k / 16][lane][8]            lane's part of a 16x16 fragment
//   q8:   [tile][k / 32][lane][16]           lane's part of a 16x32 fragment of bytes: of outputs g and g + 8, where g
//                                            is lane / 4, columns lane % 4 * 8 to + 3, then the same of columns + 4
//   q4:   [tile][k / 64][lane][16]           two such fragments: a byte holds column c in its low half, c + 4 above
//   scales of q8, q4: [tile][k / 128][g][group of the 128 columns][outputs g, g + 8][scale, bias]
// Outputs are padded to 16 and K to kBlockK (bf16) or kStepK (q8, q4), with zeros. Which columns a lane takes is free
// where integers are added up; these are eight in a row, so that rows give it 16 bytes at once (byte_place).
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
inline constexpr int32_t kUnitOutputs = 64;  // of one block of a narrow kernel of bf16: four warps
inline constexpr int32_t kBlockK = 64;       // parts are cut at multiples of this
inline constexpr int32_t kStepK = 128;       // K of q8 and q4 is padded to it
inline constexpr int32_t kNarrowRows = 16;   // the most that narrow kernels take
inline constexpr int32_t kPageTokens = 64;

// Every byte of a float that is not there yet, where blocks wait for each other's (handover.cuh): not a number, and
// none that arithmetic gives, since those have no sign.
inline constexpr int32_t kNothingByte = 0xff;

PACELINE_BOTH constexpr int32_t ceil_div(int32_t a, int32_t b) { return (a + b - 1) / b; }
PACELINE_BOTH constexpr int32_t round_up(int32_t a, int32_t b) { return ceil_div(a, b) * b; }

enum class Format : int32_t { f32, f16, bf16, q8, q4 };

PACELINE_BOTH constexpr int32_t padded_cols(Format format, int32_t cols) {
  return round_up(cols, format == Format::q8 || format == Format::q4 ? kStepK : kBlockK);
}

// A matrix [rows, cols] in device memory, packed as above (f32, f16: row-major as they are).
struct Weight {
  const void* values = nullptr;
  const void* scales = nullptr;
  int32_t rows = 0, cols = 0;
  int32_t group = 0;
  Format format = Format::bf16;
  int32_t wide_scales = 0;                       // scales are float32, not bf16
  int32_t part = 0;                              // length of a part of K, in blocks: part_blocks()
  int64_t stride_values = 0, stride_scales = 0;  // bytes to the next matrix of a stack

  PACELINE_BOTH int32_t tiles() const { return ceil_div(rows, kTileOutputs); }
  PACELINE_BOTH int32_t depth() const { return padded_cols(format, cols); }
  PACELINE_BOTH int32_t parts() const { return ceil_div(ceil_div(cols, kBlockK), part); }
};

PACELINE_BOTH constexpr size_t value_bytes(Format format, int32_t rows, int32_t cols) {
  if (format == Format::f32) return static_cast<size_t>(rows) * static_cast<size_t>(cols) * 4;
  if (format == Format::f16) return static_cast<size_t>(rows) * static_cast<size_t>(cols) * 2;
  const auto all = static_cast<size_t>(round_up(rows, kTileOutputs)) * static_cast<size_t>(padded_cols(format, cols));
  return format == Format::bf16 ? all * 2 : format == Format::q8 ? all : all / 2;
}

PACELINE_BOTH constexpr size_t scale_bytes(Format format, int32_t rows, int32_t cols, int32_t group, bool wide) {
  if (format != Format::q8 && format != Format::q4) return 0;
  return static_cast<size_t>(round_up(rows, kTileOutputs)) * static_cast<size_t>(padded_cols(format, cols) / group) *
         (wide ? 8 : 4);
}

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

// The same for q8 and q4, whose units are larger and whose steps are of two blocks: longer parts, since the same
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

// Where element (row, col) of a q8 or q4 matrix lies: its byte, and its pair of scale and bias.
PACELINE_BOTH constexpr int64_t quantised_place(Format format, int32_t depth, int64_t row, int32_t col) {
  const int64_t tile = row / kTileOutputs, high = row % kTileOutputs / 8, lane = row % 8 * 4 + col % 32 / 8;
  if (format == Format::q8)
    return ((tile * (depth / 32) + col / 32) * 32 + lane) * 16 + (col % 8 / 4 * 2 + high) * 4 + col % 4;
  return ((tile * (depth / 64) + col / 64) * 32 + lane) * 16 + (col % 64 / 32 * 2 + high) * 4 + col % 4;
}
PACELINE_BOTH constexpr int64_t scale_place(int32_t depth, int32_t group, int64_t row, int32_t col) {
  const int64_t tile = row / kTileOutputs, high = row % kTileOutputs / 8, groups = kStepK / group;
  return (((tile * (depth / kStepK) + col / kStepK) * 8 + row % 8) * groups + col % kStepK / group) * 2 + high;
}
// Where the byte of a row's column lies: what a lane takes of 64 columns is 16 bytes.
PACELINE_BOTH constexpr int32_t byte_place(int32_t col) {
  return col / 64 * 64 + col % 32 / 8 * 16 + col % 64 / 32 * 8 + col % 8;
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

  PACELINE_BOTH int32_t run_bits() const { return group < 64 ? 5 : 6; }  // a run is 32 or 64 columns
};

}  // namespace paceline::kernels::cuda
