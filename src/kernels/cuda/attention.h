// Heads and attention on the device, as plain arguments. Pages and their borders are kv_pages.h's.
#pragma once

#include "kernels/cuda/matmul.h"

namespace paceline::kernels::cuda {

// Equal arguments are equal bytes: see Launches.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"

// Heads of text have a multiple of so many numbers.
inline constexpr int32_t kHeadStep = 8;
// Of pictures, where keys and values are bf16: tiles of 16.
inline constexpr int32_t kPictureHeadStep = 16;
// Queries that a block of heads with 512 dims takes: registers for more there are not.
inline constexpr int32_t kMaxQueries512 = 32;

// Consecutive rows of one sequence, in device memory. Pages as in kernels::KvPages.
struct DeviceSeq {
  int32_t first_row = 0, count = 0, first_pos = 0;
  int32_t slots = 0;                 // of the ring; 0: page p is slot p
  const int32_t* numbers = nullptr;  // [slots, block_units], device memory
  char* keys = nullptr;              // where the layer's keys would lie if its unit were number 0
  char* values = nullptr;            // likewise
  int64_t unit_bytes = 0;
  int32_t block_units = 1;
  int32_t key_unit = 0, value_unit = 0;
  int32_t filler = 0;

  [[nodiscard]] PACELINE_BOTH int32_t slot_of(int32_t page) const { return slots == 0 ? page : page % slots; }
  [[nodiscard]] PACELINE_BOTH void* keys_of(int32_t page) const { return keys + offset_of(page, key_unit); }
  [[nodiscard]] PACELINE_BOTH void* values_of(int32_t page) const { return values + offset_of(page, value_unit); }
  [[nodiscard]] PACELINE_BOTH int64_t offset_of(int32_t page, int32_t unit) const {
    return numbers[slot_of(page) * block_units + unit] * unit_bytes;
  }
};

// Rows of one sequence that share a walk over keys.
struct RowBlock {
  int32_t seq = 0;
  int32_t first = 0, count = 0;  // in the sequence's span
};

// So many blocks travel with the arguments: nothing has to be sent for a step of few rows.
inline constexpr int32_t kFewBlocks = 16;

// Signs of a rotation of kJoinedDim numbers, in the order of blocks: a bit each, set for minus.
struct CodeSigns {
  uint32_t bits[kJoinedDim / 32] = {};
};

struct HeadsArgs {
  int32_t heads = 0, kv_heads = 0, head_dim = 0;
  int32_t wide_kv = 0;              // pages hold float32, not bf16
  float* q = nullptr;               // [rows, heads, head_dim], in place
  const float* k = nullptr;         // [rows, kv_heads, head_dim], or none
  const float* v = nullptr;         // likewise; k again where V is the raw K projection
  const float* q_weight = nullptr;  // [head_dim]
  const float* k_weight = nullptr;  // [head_dim]
  const float* cos = nullptr;       // [rows, turned]
  const float* sin = nullptr;
  int32_t turned = 0;  // pairs of a head that are rotated, a multiple of 4: the numbers in front
  int32_t norms_values = 1;
  float eps = 0;
  int32_t rows = 0;
  int32_t joined = 0;                   // pages are
  int32_t codes = 0;                    // joined pages are
  const DeviceSeq* seqs = nullptr;      // device memory
  const int32_t* seq_of_row = nullptr;  // [rows], device memory; -1: somebody else's
};
void heads(const HeadsArgs& args, Stream stream);
// The same where joined pages are codes: queries are rotated, too, in the order of blocks, and over the block's size.
void coded_heads(const HeadsArgs& args, const CodeSigns& signs, Stream stream);

// What attention over codes gives, [rows, heads, kJoinedDim] in the order of blocks, rotated back.
struct TurnBackArgs {
  const float* in = nullptr;
  float* out = nullptr;          // [rows, heads, kJoinedDim]
  uint16_t* out_bf16 = nullptr;  // [rows, out_stride], or none
  int32_t out_stride = 0;
  int32_t rows = 0, heads = 0;
  int32_t filler = 0;
  CodeSigns signs;
};
void turn_back(const TurnBackArgs& args, Stream stream);

// Queries of a block that attention's own kernel makes ready: where it has a page, and where it walks a chunk.
inline constexpr int32_t kMostQueriesMadeReady = 32, kMostQueriesOfChunk = 16;
PACELINE_BOTH constexpr bool walks_with_heads(int32_t head_dim) {
  return head_dim == 128 || head_dim == 256 || head_dim == 512;
}

struct AttentionArgs {
  int32_t heads = 0, kv_heads = 0, head_dim = 0;
  int32_t wide_kv = 0;
  const float* q = nullptr;      // [rows, heads, head_dim]
  float* out = nullptr;          // [rows, heads, head_dim], or none
  uint16_t* out_bf16 = nullptr;  // [rows, out_stride], or none
  ByteRows out_bytes;            // or none; only where makes_bytes()
  int32_t out_stride = 0;
  int32_t window = 0;
  int32_t sees_self = 1;
  int32_t rows = 0;
  const int32_t* last_pos = nullptr;  // [rows], or none
  const DeviceSeq* seqs = nullptr;
  const int32_t* seq_of_row = nullptr;  // [rows]
  const RowBlock* blocks = nullptr;     // [block_count], device memory; none: few_blocks
  RowBlock few_blocks[kFewBlocks];
  int32_t block_count = 0;
  int32_t block_rows = 0;  // the most rows of a block
  // Into how many parts the keys of any block are cut: pages, or chunks of them.
  int32_t most_parts = 1;
  // Where heads() has not run: attention's kernel does that, too, where queries are few. q is left as it was.
  int32_t makes_heads = 0;
  float* partial = nullptr;     // attention_partial_floats(), where there are parts: kNothing before and after
  float* totals = nullptr;      // of blocks that walk chunks: wide_queries() times head_dim each
  int32_t merge_shares = 1;     // blocks that merge the parts of one
  int32_t parts_are_pages = 0;  // not chunks
  int32_t part_queries = 0;     // that a part has room for, where pages are joined
  int32_t codes = 0;            // joined pages are
  int32_t walks = 0;            // blocks that share the pages of a KV head evenly, and cut chunks; or none
  int32_t merges_apart = 0;     // of joined pages: a query's chunks are merged by a block of its own, not in shares
  HeadsArgs head;
};

// Whether attention may make bytes of its outputs: where pages have blocks of their own, whose warps have 128 dims of a
// head at a time.
PACELINE_BOTH constexpr bool makes_bytes(bool splits, int32_t head_dim) {
  return splits && (head_dim == 256 || head_dim == 512);
}

// Rows that a block may have: as many as fill it with queries.
PACELINE_BOTH constexpr int32_t rows_of_block(int32_t heads, int32_t kv_heads, int32_t head_dim, int32_t most_rows) {
  const int32_t grouped = heads / kv_heads, most = head_dim > 256 ? kMaxQueries512 : 64;
  int32_t queries = 8;
  while (queries < most && queries < most_rows * grouped) queries *= 2;
  while (queries < grouped) queries *= 2;
  return queries / grouped;
}
// Pages that rows at positions first … last see.
PACELINE_BOTH constexpr int32_t pages_seen(int32_t first_pos, int32_t last_pos, int32_t window) {
  const int32_t begin = window == 0 || first_pos - window + 1 < 0 ? 0 : first_pos - window + 1;
  return last_pos / kPageTokens - begin / kPageTokens + 1;
}
// Likewise chunks.
PACELINE_BOTH constexpr int32_t chunks_seen(int32_t first_pos, int32_t last_pos, int32_t window) {
  constexpr int32_t kChunkTokens = kChunkPages * kPageTokens;
  const int32_t begin = window == 0 || first_pos - window + 1 < 0 ? 0 : first_pos - window + 1;
  return last_pos / kChunkTokens - begin / kChunkTokens + 1;
}
// Whether pages get blocks of their own: where all of them find a place at once. Else those that merge would take the
// places of those that they wait for.
PACELINE_BOTH constexpr bool attention_splits(int32_t blocks, int32_t kv_heads, int32_t pages, int32_t places) {
  return pages > 1 && blocks * kv_heads < 100 && blocks * kv_heads * pages <= places * 5 / 4;
}
// And where walks are so few and so short that the memory would wait for them: one page after the other takes each of
// them longer than it takes all blocks of single pages to have had their turn. Measured on an H200: a step of 16
// sequences of 12B 6 % faster, of 32 of E4B 8 %; 200 walks not, nor 200 of 512 dims, which are slower so.
PACELINE_BOTH constexpr bool walks_are_few(int32_t walks, int32_t head_dim, int32_t pages, int32_t queries) {
  return walks <= (head_dim > 256 ? 66 : 132) && pages >= 4 && pages <= 24 && queries <= kMostQueriesOfChunk;
}
PACELINE_BOTH constexpr int32_t queries_of(int32_t heads, int32_t kv_heads, int32_t block_rows) {
  int32_t queries = 8;
  while (queries < block_rows * (heads / kv_heads)) queries *= 2;
  return queries;
}

// What parts with blocks of their own leave for each other: of each query values [head_dim], top and sum.
PACELINE_BOTH constexpr size_t attention_partial_floats(int32_t blocks, int32_t kv_heads, int32_t parts,
                                                        int32_t queries, int32_t head_dim) {
  return static_cast<size_t>(blocks) * static_cast<size_t>(kv_heads) * static_cast<size_t>(parts) *
         static_cast<size_t>(queries) * static_cast<size_t>(head_dim + 2);
}
void attention(const AttentionArgs& args, Stream stream);
// What it is made of: heads with 128 dims, and pages of float32.
void attention_128(const AttentionArgs& args, Stream stream);
void attention_f32(const AttentionArgs& args, Stream stream);

// The same for many rows on devices with warpgroups: blocks of more queries, pages walked by one block. Same bits.
PACELINE_BOTH constexpr int32_t wide_queries(int32_t head_dim) { return head_dim == 256 ? 128 : 64; }
inline constexpr int32_t kWideAttentionBlocks = 64;  // with fewer, most of a device would wait
bool can_attend_wide(int32_t heads, int32_t kv_heads, int32_t head_dim);
void attention_wide(const AttentionArgs& args, Stream stream);

// Over joined pages, of heads of kJoinedDim, on devices with warpgroups.
bool can_attend_joined(int32_t heads, int32_t kv_heads);
void attention_joined(const AttentionArgs& args, Stream stream);
// The same for parts of up to so many queries.
inline constexpr int32_t kFewJoinedQueries = 32, kFewCodedQueries = 16;
void attention_joined_few(const AttentionArgs& args, Stream stream);
// The same where chunks are more than places: `walks` of kChunkPages pages at least.
void attention_joined_walks(const AttentionArgs& args, Stream stream);

#pragma GCC diagnostic pop

}  // namespace paceline::kernels::cuda
