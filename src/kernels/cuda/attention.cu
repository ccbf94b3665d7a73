// Attention over pages of 64 absolute positions, on the tensor cores.
//
//   q [rows, heads, dim], keys [kv_head][64][dim], values likewise, bf16 -> out [rows, heads, dim]
// A block has one KV head and up to 64 queries (rows times grouped heads; 32 where heads have 512 dims). Both products
// have the pages as their fixed operand and queries as the narrow one: scores = K q, out = V^T p. A page gives each
// query its top score m, the sum l of exp(score - m), and o = the values weighted so. Pages are merged in ascending
// order,
//   M' = max(M, m), a = exp(M - M'), b = exp(m - M'):  L = L a + l b,  O = O a + o b
// into chunks of kChunkPages absolute pages, each from nothing, and then chunks likewise. A block walks the pages of
// one chunk, or, where there are few blocks, has a single page; parts are merged by the last one's
// (attention_merge.cuh): the same operations, and so the same bits. A key that a query does not see counts as minus
// infinity, and a page of such keys has b = 0 and a = 1: it changes nothing.
//
// Bound: bytes of keys and values at few rows, operations at many. Far from both at short contexts: 8 us for one row of
// 31B at 512 positions on an H200 with its heads, and 13 us for eight rows, where the bytes would take 2.
#include "kernels/cuda/attention_bf16.cuh"

namespace paceline::kernels::cuda {

using attention_block::start;

namespace {

template <int kNt>
void start_dim(const AttentionArgs& args, Stream stream) {
  if (args.head_dim == 256)
    start<kNt, 2, 256>(args, stream);
  else if (args.head_dim < 128)
    start<kNt, 1, 0>(args, stream);
  else if (args.head_dim < 256)
    start<kNt, 2, 0>(args, stream);
  else if constexpr (kNt <= kMaxQueries512 / 8)
    start<kNt, 4, 512>(args, stream);
}

}  // namespace

void attention(const AttentionArgs& args, Stream stream) {
  if (args.wide_kv) return attention_f32(args, stream);
  if (args.head_dim == 128) return attention_128(args, stream);
  const int32_t queries = queries_of(args.heads, args.kv_heads, args.block_rows);
  if (queries <= 8)
    start_dim<1>(args, stream);
  else if (queries <= 16)
    start_dim<2>(args, stream);
  else if (queries <= 32)
    start_dim<4>(args, stream);
  else
    start_dim<8>(args, stream);
}

}  // namespace paceline::kernels::cuda
