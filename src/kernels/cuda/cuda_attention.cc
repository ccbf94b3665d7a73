// CudaOps over sequences: heads and attention, with page tables kept in device memory.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "kernels/cuda/cuda_ops.h"
#include "kernels/cuda/pictures.h"

namespace paceline::kernels::cuda {
namespace {

// Floats that a block merges while another one would come to help it: four of each thread.
constexpr int32_t kMergedFloats = 1024;

// Rows of each sequence in blocks of so many, and the most pages that one of them sees.
std::vector<RowBlock> blocks_of(const kernels::AttentionArgs& args, int32_t block_rows, int32_t& most_pages) {
  std::vector<RowBlock> blocks;
  most_pages = 1;
  for (size_t s = 0; s < args.seqs.size(); ++s) {
    const SeqSpan& seq = args.seqs[s];
    for (int32_t first = 0; first < seq.count; first += block_rows) {
      const int32_t count = std::min(block_rows, seq.count - first);
      blocks.push_back({static_cast<int32_t>(s), first, count});
      int32_t last = seq.first_pos + first + count - 1;
      if (args.last_pos != nullptr)
        for (int32_t i = 0; i < count; ++i) last = std::max(last, args.last_pos[seq.first_row + first + i]);
      most_pages = std::max(most_pages, pages_seen(seq.first_pos + first, last, args.window));
    }
  }
  return blocks;
}

// Blocks that find a place on a large device at once.
int32_t places(int32_t head_dim) { return head_dim > 256 ? 120 : 240; }

// Few rows do not fill a device: a block gets as few as a tile of queries has, while all blocks find a place at once.
int32_t few_rows_of_block(const kernels::AttentionArgs& args, int32_t most) {
  const HeadShape& shape = args.shape;
  int32_t rows = std::min(most, rows_of_block(shape.heads, shape.kv_heads, shape.head_dim, 1));
  for (int32_t pages = 1; rows < most; rows *= 2) {
    const auto blocks = static_cast<int32_t>(blocks_of(args, rows, pages).size());
    if (blocks * shape.kv_heads * pages <= places(shape.head_dim)) break;
  }
  return rows;
}

// Into how many blocks the merging of pages goes: a block should have little of it, while all find a place at once.
int32_t shares_of_merge(const AttentionArgs& a) {
  const int32_t queries = a.block_rows * (a.heads / a.kv_heads);
  const int32_t wanted = (queries * a.head_dim + kMergedFloats - 1) / kMergedFloats;
  // Of heads with 512 dims some more than places() has: pages' blocks are gone when these are needed. Measured.
  const int32_t most = a.head_dim > 256 ? 152 : places(a.head_dim);
  const int32_t room = most / (a.block_count * a.kv_heads) - a.most_pages + 1;
  return std::clamp(std::min(wanted, room), 1, queries);
}

}  // namespace

// At once, in front of all that is only written down: a page that is still read keeps its place in the table. From the
// far end of the ring, so that what else is sent lies where it lay before, and the list recurs.
void CudaOps::send_numbers(int32_t* to, std::span<const int32_t> numbers) {
  const size_t bytes = numbers.size_bytes();
  ring_pages_ += (bytes + 15) / 16 * 16;
  if (ring_used_ + ring_pages_ > kRingBytes) {
    ring_pages_ -= (bytes + 15) / 16 * 16;
    return fail("CUDA: the page tables of one step take more than " + std::to_string(kRingBytes >> 20) + " MiB");
  }
  void* stage = static_cast<char*>(host_ring_.get()) + (kRingBytes - ring_pages_);
  std::memcpy(stage, numbers.data(), bytes);
  fine(cudaMemcpyAsync(to, stage, bytes, cudaMemcpyHostToDevice, cuda_stream_), "sending pages");
}

namespace {

// The numbers of all pages that a span's rows see or write.
std::span<const int32_t> numbers_of(const SeqSpan& seq) {
  const int32_t pages = (seq.first_pos + seq.count - 1) / kPageTokens + 1;
  const int32_t slots = seq.pages.slots == 0 ? pages : std::min(pages, seq.pages.slots);
  return {seq.pages.numbers, static_cast<size_t>(slots) * static_cast<size_t>(seq.pages.block_units)};
}

}  // namespace

// What is sent from here on must not meet the end of the staging ring, where waiting gives everything out anew. And all
// tables lie in one piece of memory, behind each other: when it is full, they are forgotten and sent anew. Whoever has
// read them has run by then.
bool CudaOps::make_room_for_numbers(std::span<const SeqSpan> seqs) {
  size_t wanted = 0;
  for (const SeqSpan& seq : seqs) wanted += room_for(numbers_of(seq).size());
  if (wanted > kPageNumbers) {
    fail("CUDA: the page tables of one call take " + std::to_string(wanted) + " numbers, kernels have room for " +
         std::to_string(kPageNumbers));
    return false;
  }
  make_room(kRoomForTables + wanted * sizeof(int32_t));
  if (numbers_used_ + wanted > kPageNumbers) {
    (void)wait();
    page_tables_.clear();
    numbers_used_ = 0;
  }
  return status_.ok();
}

// A sequence's numbers in device memory, the same for all layers of a kind. They are known by where they lie on the
// host, and sent again only as far as they changed.
const int32_t* CudaOps::numbers_on_device(const SeqSpan& seq) {
  const std::span<const int32_t> numbers = numbers_of(seq);
  PageTable& table = page_tables_[seq.pages.numbers];
  size_t same = 0;
  if (table.room < numbers.size()) {
    table.room = room_for(numbers.size());
    table.device = static_cast<int32_t*>(page_numbers_.get()) + numbers_used_;
    table.mirror.clear();
    numbers_used_ += table.room;
  } else {
    const size_t known = std::min(numbers.size(), table.mirror.size());
    same = static_cast<size_t>(
        std::mismatch(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(known), table.mirror.begin())
            .first -
        numbers.begin());
  }
  if (same == numbers.size()) return table.device;
  table.mirror.assign(numbers.begin(), numbers.end());
  send_numbers(table.device + same, numbers.subspan(same));
  return table.device;
}

// The spans, with their pages' numbers in device memory; sent once per distinct content between waits.
CudaOps::SeqTables CudaOps::tables_of(std::span<const SeqSpan> seqs) {
  SeqTables out;
  if (!make_room_for_numbers(seqs)) return out;
  std::vector<DeviceSeq> all;
  std::vector<int32_t> seq_of_row;
  for (const SeqSpan& seq : seqs) {
    const KvPages& pages = seq.pages;
    all.push_back({seq.first_row, seq.count, seq.first_pos, pages.slots, numbers_on_device(seq),
                   reinterpret_cast<char*>(pages.keys), reinterpret_cast<char*>(pages.values), pages.unit_bytes,
                   pages.block_units, pages.key_unit, pages.value_unit, 0});
    for (int32_t i = 0; i < seq.count; ++i) {
      const auto row = static_cast<size_t>(seq.first_row + i);
      if (seq_of_row.size() <= row) seq_of_row.resize(row + 1, 0);
      seq_of_row[row] = static_cast<int32_t>(all.size()) - 1;
    }
  }
  if (!status_.ok()) return out;
  out.rows = static_cast<int32_t>(seq_of_row.size());
  const size_t seq_bytes = (all.size() * sizeof(DeviceSeq) + 15) / 16 * 16;
  std::vector<char> content(seq_bytes + seq_of_row.size() * sizeof(int32_t));
  std::memcpy(content.data(), all.data(), all.size() * sizeof(DeviceSeq));
  std::memcpy(content.data() + seq_bytes, seq_of_row.data(), seq_of_row.size() * sizeof(int32_t));
  const char* device = nullptr;
  for (const SentTables& s : sent_)
    if (s.key == content) device = static_cast<const char*>(s.device);
  if (device == nullptr) {
    device = static_cast<const char*>(sent(content.data(), content.size()));
    sent_.push_back({content, device});
  }
  out.seqs = reinterpret_cast<const DeviceSeq*>(device);
  out.seq_of_row = reinterpret_cast<const int32_t*>(device + seq_bytes);
  return out;
}

cuda::HeadsArgs CudaOps::heads_of(const kernels::HeadsArgs& args, const SeqTables& tables) {
  takes("the width of a head", args.shape.head_dim, kMaxHeadDim);
  if (args.rope_parts == 1) takes("a head beyond a multiple of 8", args.shape.head_dim % kHeadStep, 0);
  cuda::HeadsArgs a;
  a.heads = args.shape.heads;
  a.kv_heads = args.shape.kv_heads;
  a.head_dim = args.shape.head_dim;
  a.wide_kv = args.shape.kv_dtype == DType::f32 ? 1 : 0;
  a.q = args.q;
  a.k = args.k;
  a.v = args.v;
  a.q_weight = args.q_weight;
  a.k_weight = args.k_weight;
  a.cos = args.cos;
  a.sin = args.sin;
  a.turned = args.rotated() / 2;
  if (args.rope_parts == 1) takes("what is rotated of a head beyond a multiple of 8", args.rotated() % kHeadStep, 0);
  a.norms_values = args.norms_values ? 1 : 0;
  a.eps = args.eps;
  a.rows = tables.rows;
  a.seqs = tables.seqs;
  a.seq_of_row = tables.seq_of_row;
  return a;
}

void CudaOps::heads(const kernels::HeadsArgs& args) {
  flush();
  const cuda::HeadsArgs a = heads_of(args, tables_of(args.seqs));
  written(args.q, static_cast<int64_t>(a.rows) * a.heads * a.head_dim);
  CHECK(args.rope_parts == 1 || (args.k != nullptr && args.norms_values && args.rotated() == a.head_dim));
  if (args.rope_parts > 1) takes("the width of a picture's head", a.head_dim, kMaxPictureHead);
  if (!status_.ok()) return;
  if (args.rope_parts == 1)
    cuda::heads(a, stream_);
  else
    heads_in_parts(a, args.rope_parts, stream_);
}

void CudaOps::attention(const kernels::AttentionArgs& args) { attend_with(nullptr, args); }

void CudaOps::attend(const kernels::HeadsArgs& heads_args, const kernels::AttentionArgs& args) {
  CHECK(heads_args.rope_parts == 1);
  attend_with(&heads_args, args);
}

// With heads in front where there are any: in the same kernel where rows are few.
void CudaOps::attend_with(const kernels::HeadsArgs* heads_args, const kernels::AttentionArgs& args) {
  flush();
  int32_t most_rows = 0, rows = 0;
  for (const SeqSpan& seq : args.seqs) {
    most_rows = std::max(most_rows, seq.count);
    rows += seq.count;
  }
  cuda::AttentionArgs a;
  a.heads = args.shape.heads;
  a.kv_heads = args.shape.kv_heads;
  a.head_dim = args.shape.head_dim;
  a.wide_kv = args.shape.kv_dtype == DType::f32 ? 1 : 0;
  a.q = args.q;
  a.out = args.out;
  a.window = args.window;
  a.sees_self = args.sees_self ? 1 : 0;
  // As many as large blocks would be.
  const int32_t wide_rows = wide_queries(a.head_dim) / (a.heads / a.kv_heads);
  const bool wide = !a.wide_kv && can_attend_wide(a.heads, a.kv_heads, a.head_dim) && most_rows >= wide_rows &&
                    rows / wide_rows * a.kv_heads >= kWideAttentionBlocks;
  a.block_rows = wide ? wide_rows : rows_of_block(a.heads, a.kv_heads, a.head_dim, most_rows);
  if (rows <= kNarrowRows) a.block_rows = few_rows_of_block(args, a.block_rows);
  const std::vector<RowBlock> blocks = blocks_of(args, a.block_rows, a.most_pages);
  // In steps, so that what is started recurs from token to token: a block without a page has nothing to do.
  a.most_pages = round_up(a.most_pages, a.most_pages <= 4 ? 1 : a.most_pages <= 32 ? 4 : 16);
  a.block_count = static_cast<int32_t>(blocks.size());
  const int32_t width = a.heads * a.head_dim, queries = queries_of(a.heads, a.kv_heads, a.block_rows);
  const bool splits = !wide && attention_splits(a.block_count, a.kv_heads, a.most_pages);
  if (heads_args != nullptr) {
    // A row that is not seen by itself would not be written by whoever makes its key.
    a.makes_heads = splits && !a.wide_kv && queries <= kMostQueriesMadeReady && args.last_pos == nullptr &&
                    (args.sees_self || heads_args->k == nullptr);
    if (!a.makes_heads) heads(*heads_args);
  }
  // Nothing that is sent from here on may be given out anew before the kernel has it: there is room for all of it.
  const SeqTables tables = tables_of(args.seqs);
  a.rows = tables.rows;
  a.seqs = tables.seqs;
  a.seq_of_row = tables.seq_of_row;
  if (a.makes_heads) a.head = heads_of(*heads_args, tables);
  if (args.last_pos != nullptr) a.last_pos = sent(std::span(args.last_pos, static_cast<size_t>(rows)));
  if (blocks.size() <= kFewBlocks)
    std::copy(blocks.begin(), blocks.end(), a.few_blocks);
  else
    a.blocks = sent(std::span<const RowBlock>(blocks));
  written(args.out, static_cast<int64_t>(a.rows) * width);
  if (args.shape.kv_dtype == DType::bf16) {
    if (wants_bf16(args.out)) a.out_bf16 = make_bf16(args.out, a.rows, width, a.out_stride);
    if (const int32_t group = wanted_group(args.out); group != 0 && makes_bytes(splits, a.head_dim))
      a.out_bytes = make_bytes(args.out, group, a.rows, width);
  }
  if (splits) {
    const size_t floats = attention_partial_floats(a.block_count, a.kv_heads, a.most_pages, queries, a.head_dim);
    a.partial = handover(attention_partial_, floats);
    a.merge_shares = shares_of_merge(a);
  }
  if (!status_.ok()) return;
  if (wide)
    attention_wide(a, stream_);
  else
    cuda::attention(a, stream_);
}

}  // namespace paceline::kernels::cuda
