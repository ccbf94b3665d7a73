// CudaOps over sequences: heads and attention, with page tables kept in device memory.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/sign_pattern.h"
#include "kernels/cuda/cuda_ops.h"
#include "kernels/cuda/pictures.h"
#include "kernels/kv_rotation.h"

namespace paceline::kernels::cuda {
namespace {

// Floats that a block merges while another one would come to help it: four of each thread.
constexpr int32_t kMergedFloats = 1024;
// So many chunks the last one's block merges by itself.
constexpr int32_t kFewChunks = 4;

// Blocks of sequences of few rows that are worth a launch of their own beside those of many.
constexpr int32_t kFewestApart = 32;

// With so many blocks chunks get none of their own.
constexpr int32_t kManyBlocks = 100;
// What parts may take.
constexpr size_t kMostPartFloats = size_t{64} << 20;

// Rows of each sequence in blocks of so many, and the most pages and chunks that one of them sees.
struct RowBlocks {
  std::vector<RowBlock> all;
  int32_t pages = 1, chunks = 1;

  [[nodiscard]] int32_t count() const { return static_cast<int32_t>(all.size()); }
};
RowBlocks blocks_of(const kernels::AttentionArgs& args, int32_t block_rows) {
  RowBlocks blocks;
  blocks.all.reserve(args.seqs.size());
  for (size_t s = 0; s < args.seqs.size(); ++s) {
    const SeqSpan& seq = args.seqs[s];
    for (int32_t first = 0; first < seq.count; first += block_rows) {
      const int32_t count = std::min(block_rows, seq.count - first);
      blocks.all.push_back({static_cast<int32_t>(s), first, count});
      int32_t last = seq.first_pos + first + count - 1;
      if (args.last_pos != nullptr)
        for (int32_t i = 0; i < count; ++i) last = std::max(last, args.last_pos[seq.first_row + first + i]);
      blocks.pages = std::max(blocks.pages, pages_seen(seq.first_pos + first, last, args.window));
      blocks.chunks = std::max(blocks.chunks, chunks_seen(seq.first_pos + first, last, args.window));
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
  for (; rows < most; rows *= 2) {
    const RowBlocks blocks = blocks_of(args, rows);
    if (blocks.count() * shape.kv_heads * blocks.pages <= places(shape.head_dim)) break;
  }
  return std::min(rows, most);
}

// Into how many blocks the merging of parts goes: a block should have little of it, while all find a place at once.
int32_t shares_of_merge(const AttentionArgs& a) {
  const int32_t queries = a.part_queries > 0 ? a.part_queries : a.block_rows * (a.heads / a.kv_heads);
  const int32_t wanted = (queries * a.head_dim + kMergedFloats - 1) / kMergedFloats;
  // Who waits for chunks takes nobody's place: they are behind all of them.
  if (!a.parts_are_pages) return a.most_parts > kFewChunks ? std::min(wanted, queries) : 1;
  // Of heads with 512 dims some more than places() has: pages' blocks are gone when these are needed. Measured.
  const int32_t most = a.head_dim > 256 ? 152 : places(a.head_dim);
  const int32_t room = most / (a.block_count * a.kv_heads) - a.most_parts + 1;
  return std::clamp(std::min(wanted, room), 1, queries);
}

// What the keys of a block are cut into.
enum class Parts : uint8_t { none, pages, chunks };

// Blocks that share the pages of a KV head evenly, or none: where chunks take rounds of the multiprocessors, of which
// the last is not full. Those that merge have a multiprocessor of their own, while they are few. (Of more queries than
// few, what is handed on takes registers from the loop over pages: that was 25 % slower than whole chunks.)
constexpr int32_t kFewMerging = 16;
int32_t walks_of(const RowBlocks& blocks, int32_t kv_heads, int32_t merging) {
  const int32_t walks = (multiprocessors() - (merging > kFewMerging ? 0 : merging)) / kv_heads;
  const int32_t rounds = ceil_div(blocks.chunks * kv_heads, multiprocessors());
  // A few pages' time for what is handed on, and for all that is merged in the end.
  constexpr int32_t kWorth = 3;
  const bool pays = walks > 0 && blocks.pages >= walks * kChunkPages &&
                    ceil_div(blocks.pages, walks) + kWorth <= rounds * kChunkPages;
  return pays ? walks : 0;
}

CodeSigns code_signs() {
  CodeSigns signs;
  const std::vector<float> pattern = sign_pattern(kCodeVersion, kJoinedDim);
  for (size_t i = 0; i < pattern.size(); ++i)
    if (pattern[i] < 0) signs.bits[i / 32] |= 1u << i % 32;
  return signs;
}

// In steps, so that what is started recurs from token to token: a block without a
// part has nothing to do.
void cut(cuda::AttentionArgs& a, const RowBlocks& blocks, Parts parts) {
  a.block_count = blocks.count();
  a.parts_are_pages = parts == Parts::pages ? 1 : 0;
  a.most_parts = parts == Parts::none ? 1 : parts == Parts::pages ? blocks.pages : blocks.chunks;
  a.most_parts = round_up(a.most_parts, a.most_parts <= 4 ? 1 : a.most_parts <= 32 ? 4 : 16);
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
// host, and sent again only as far as they changed: where a stamp says that they did not, nobody looks.
const int32_t* CudaOps::numbers_on_device(const SeqSpan& seq) {
  const std::span<const int32_t> numbers = numbers_of(seq);
  PageTable& table = page_tables_[seq.pages.numbers];
  const uint64_t stamp = seq.pages.stamp;
  if (stamp != 0 && table.stamp == stamp && numbers.size() <= table.mirror.size()) return table.device;
  table.stamp = stamp;
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
  // No more of it is known under this stamp.
  table.mirror.assign(numbers.begin(), numbers.end());
  if (same == numbers.size()) return table.device;
  send_numbers(table.device + same, numbers.subspan(same));
  return table.device;
}

// The spans, with their pages' numbers in device memory. `rows`: there are as many at least, those of no span being
// somebody else's.
CudaOps::SeqTables CudaOps::tables_of(std::span<const SeqSpan> seqs, int32_t rows) {
  SeqTables out;
  if (!make_room_for_numbers(seqs)) return out;
  for (const SeqSpan& seq : seqs) rows = std::max(rows, seq.first_row + seq.count);
  static_assert(sizeof(DeviceSeq) % 16 == 0);
  const size_t seq_bytes = seqs.size() * sizeof(DeviceSeq);
  tables_.resize(seq_bytes + static_cast<size_t>(rows) * sizeof(int32_t));
  auto* const seq_of_row = reinterpret_cast<int32_t*>(tables_.data() + seq_bytes);
  std::fill_n(seq_of_row, rows, -1);
  for (size_t i = 0; i < seqs.size(); ++i) {
    const SeqSpan& seq = seqs[i];
    const KvPages& pages = seq.pages;
    const DeviceSeq one{seq.first_row,
                        seq.count,
                        seq.first_pos,
                        pages.slots,
                        numbers_on_device(seq),
                        reinterpret_cast<char*>(pages.keys),
                        reinterpret_cast<char*>(pages.values),
                        pages.unit_bytes,
                        pages.block_units,
                        pages.key_unit,
                        pages.value_unit,
                        0};
    std::memcpy(tables_.data() + i * sizeof one, &one, sizeof one);
    std::fill_n(seq_of_row + seq.first_row, seq.count, static_cast<int32_t>(i));
  }
  if (!status_.ok()) return out;
  out.rows = rows;
  const auto* const device = static_cast<const char*>(sent_once(tables_.data(), tables_.size()));
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
  a.joined = args.shape.joined > 0 ? 1 : 0;
  a.codes = args.shape.kv_dtype == DType::i8 ? 1 : 0;
  a.eps = args.eps;
  a.rows = tables.rows;
  a.seqs = tables.seqs;
  a.seq_of_row = tables.seq_of_row;
  return a;
}

// Attention reads pages in front of its rows while kernels before it still run, since they were written long ago. Where
// that was in the same list, by a drafter that goes on from there, it must not begin before they are.
void CudaOps::keep_order(std::span<const SeqSpan> seqs, bool writes) {
  if (seqs.empty()) return;
  WrittenKeys now{seqs.front().pages.keys, seqs.front().pages.key_unit, seqs.front().pages.numbers, 0};
  for (const SeqSpan& seq : seqs) now.positions += seq.first_pos;
  const auto same_layer = [&](const WrittenKeys& one) { return one.keys == now.keys && one.unit == now.unit; };
  const auto before = std::ranges::find_if(keys_written_, same_layer);
  if (before != keys_written_.end()) {
    if (*before == now) return;
    launches_->fence();
    keys_written_.clear();
  }
  if (writes) keys_written_.push_back(now);
}

void CudaOps::heads(const kernels::HeadsArgs& args) {
  flush();
  keep_order(args.seqs, args.k != nullptr);
  make_heads(args, 0);
}

void CudaOps::make_heads(const kernels::HeadsArgs& args, int32_t rows) {
  const cuda::HeadsArgs a = heads_of(args, tables_of(args.seqs, rows));
  written(args.q, static_cast<int64_t>(a.rows) * a.heads * a.head_dim);
  CHECK(args.rope_parts == 1 || (args.k != nullptr && args.norms_values && args.rotated() == a.head_dim));
  if (args.rope_parts > 1) takes("the width of a picture's head", a.head_dim, kMaxPictureHead);
  CHECK(a.codes == 0 || a.joined != 0);
  if (!status_.ok()) return;
  if (a.codes)
    coded_heads(a, code_signs(), stream_);
  else if (args.rope_parts == 1)
    cuda::heads(a, stream_);
  else
    heads_in_parts(a, args.rope_parts, stream_);
}

void CudaOps::attention(const kernels::AttentionArgs& args) { attend_with(nullptr, args); }

void CudaOps::attend(const kernels::HeadsArgs& heads_args, const kernels::AttentionArgs& args) {
  CHECK(heads_args.rope_parts == 1);
  attend_with(&heads_args, args);
}

// Sequences that read and those that write, in one step: large blocks are made for the former, and the latter, of a few
// rows each, would have them to themselves.
void CudaOps::attend_with(const kernels::HeadsArgs* heads_args, const kernels::AttentionArgs& args) {
  flush();
  keep_order(args.seqs, heads_args != nullptr && heads_args->k != nullptr);
  const HeadShape& shape = args.shape;
  const auto has_few = [&](const SeqSpan& seq) {
    return seq.count * (shape.heads / shape.kv_heads) <= kMostQueriesOfChunk;
  };
  int32_t rows = 0;
  for (const SeqSpan& seq : args.seqs) rows = std::max(rows, seq.first_row + seq.count);
  const std::ptrdiff_t with_few = std::ranges::count_if(args.seqs, has_few);
  const bool apart = shape.joined == 0 && shape.kv_dtype == DType::bf16 && with_few < std::ssize(args.seqs) &&
                     with_few * shape.kv_heads >= kFewestApart;
  if (!apart) return attend_some(heads_args, args, rows);
  std::vector<SeqSpan> few, many;
  for (const SeqSpan& seq : args.seqs) (has_few(seq) ? few : many).push_back(seq);
  for (const std::vector<SeqSpan>* some : {&few, &many}) {
    kernels::AttentionArgs of_some = args;
    of_some.seqs = *some;
    if (heads_args == nullptr) {
      attend_some(nullptr, of_some, rows);
      continue;
    }
    kernels::HeadsArgs heads_of_some = *heads_args;
    heads_of_some.seqs = *some;
    attend_some(&heads_of_some, of_some, rows);
  }
}

// With heads in front where there are any: in the same kernel where rows are few. all_rows: of the step.
void CudaOps::attend_some(const kernels::HeadsArgs* heads_args, const kernels::AttentionArgs& args, int32_t all_rows) {
  cuda::AttentionArgs a;
  a.heads = args.shape.heads;
  a.kv_heads = args.shape.kv_heads;
  a.head_dim = args.shape.head_dim;
  a.wide_kv = args.shape.kv_dtype == DType::f32 ? 1 : 0;
  a.q = args.q;
  a.out = args.out;
  a.window = args.window;
  a.sees_self = args.sees_self ? 1 : 0;
  if (args.shape.joined > 0) return attend_joined(heads_args, args, a);
  int32_t most_rows = 0, rows = 0;
  for (const SeqSpan& seq : args.seqs) {
    most_rows = std::max(most_rows, seq.count);
    rows += seq.count;
  }
  // As many as large blocks would be.
  const int32_t wide_rows = wide_queries(a.head_dim) / (a.heads / a.kv_heads);
  const bool wide = !a.wide_kv && can_attend_wide(a.heads, a.kv_heads, a.head_dim) && most_rows >= wide_rows &&
                    rows / wide_rows * a.kv_heads >= kWideAttentionBlocks;
  a.block_rows = wide ? wide_rows : rows_of_block(a.heads, a.kv_heads, a.head_dim, most_rows);
  if (rows <= kNarrowRows) a.block_rows = few_rows_of_block(args, a.block_rows);
  const RowBlocks blocks = blocks_of(args, a.block_rows);
  const int32_t queries = queries_of(a.heads, a.kv_heads, a.block_rows);
  const bool on_tiles = !wide && !a.wide_kv;
  const bool at_once = on_tiles && attention_splits(blocks.count(), a.kv_heads, blocks.pages, places(a.head_dim));
  const bool in_turns =
      on_tiles && !at_once && walks_are_few(blocks.count() * a.kv_heads, a.head_dim, blocks.pages, queries);
  const bool splits = at_once || in_turns;
  cut(a, blocks, wide ? Parts::none : splits ? Parts::pages : Parts::chunks);
  if (heads_args != nullptr) {
    // A row that is not seen by itself would not be written by whoever makes its key. Walks of more blocks than run at
    // once are faster without heads, which cost each of them registers: 64 clients of 12B +4 %, 128 +5 %.
    const bool walks =
        on_tiles && !splits && walks_with_heads(a.head_dim) && blocks.count() * a.kv_heads <= places(a.head_dim);
    const bool apart = in_turns && blocks.count() * a.kv_heads >= kManyBlocks;
    const int32_t most = apart ? 0 : splits ? kMostQueriesMadeReady : walks ? kMostQueriesOfChunk : 0;
    a.makes_heads = queries <= most && args.last_pos == nullptr && (args.sees_self || heads_args->k == nullptr);
    if (!a.makes_heads) make_heads(*heads_args, all_rows);
  }
  send(a, args, blocks.all, all_rows);
  if (a.makes_heads) a.head = heads_of(*heads_args, {a.seqs, a.seq_of_row, a.rows});
  if (a.most_parts > 1 && !a.wide_kv) hand_over(a, queries);
  if (wide && blocks.chunks > 1) keep_totals(a, wide_queries(a.head_dim));
  if (!status_.ok()) return;
  if (wide)
    attention_wide(a, stream_);
  else
    cuda::attention(a, stream_);
}

// Over joined pages: a block takes as many queries as it has room for whatever the number of rows, and prompts and
// steps alike. Where parts would take more memory than they are worth, blocks walk all chunks.
void CudaOps::attend_joined(const kernels::HeadsArgs* heads_args, const kernels::AttentionArgs& args,
                            cuda::AttentionArgs& a) {
  if (heads_args != nullptr) make_heads(*heads_args, 0);
  a.codes = args.shape.kv_dtype == DType::i8 ? 1 : 0;
  const int32_t grouped = a.heads / a.kv_heads, few_queries = a.codes ? kFewCodedQueries : kFewJoinedQueries;
  if (!takes("query heads of a joined KV head", grouped, wide_queries(kJoinedDim))) return;
  a.block_rows = wide_queries(kJoinedDim) / grouped;
  int32_t most_rows = 1, rows = 0;
  for (const SeqSpan& seq : args.seqs) {
    most_rows = std::max(most_rows, seq.count);
    rows += seq.count;
  }
  // Where all queries of a sequence are few they go together; more get large blocks, but for contexts so short that
  // small ones find a place at once.
  const int32_t most_queries = most_rows * grouped <= few_queries ? few_queries : wide_queries(kJoinedDim);
  if (rows <= kNarrowRows) a.block_rows = few_rows_of_block(args, std::max(1, most_queries / grouped));
  const RowBlocks blocks = blocks_of(args, a.block_rows);
  a.part_queries = queries_of(a.heads, a.kv_heads, std::min(most_rows, a.block_rows));
  const size_t chunk_floats =
      attention_partial_floats(blocks.count(), a.kv_heads, blocks.chunks, a.part_queries, a.head_dim);
  const bool splits = attention_splits(blocks.count(), a.kv_heads, blocks.pages, places(a.head_dim));
  const bool few = a.part_queries <= few_queries, many = blocks.count() * a.kv_heads >= kManyBlocks;
  const bool in_one = !splits && (chunk_floats > kMostPartFloats || (many && !few));
  cut(a, blocks, splits ? Parts::pages : in_one ? Parts::none : Parts::chunks);
  send(a, args, blocks.all, 0);
  if (!in_one && !splits) {
    const int32_t merging = blocks.count() * a.kv_heads * a.part_queries;
    // Where a block's first page begins a chunk.
    if (few && blocks.count() == 1 && args.window == 0) a.walks = walks_of(blocks, a.kv_heads, merging);
    a.merges_apart = a.walks > 0 || (a.most_parts > kFewChunks && merging <= 2 * multiprocessors()) ? 1 : 0;
  }
  if (!in_one) hand_over(a, a.part_queries);
  if (in_one && blocks.chunks > 1) keep_totals(a, wide_queries(a.head_dim));
  if (!status_.ok()) return;
  TurnBackArgs back;
  if (a.codes) {
    const int32_t width = a.heads * a.head_dim;
    back = {nullptr, a.out, nullptr, 0, a.rows, a.heads, 0, code_signs()};
    if (wants_bf16(args.out)) back.out_bf16 = make_bf16(args.out, a.rows, width, back.out_stride);
    a.out = static_cast<float*>(grown(coded_out_, static_cast<size_t>(a.rows) * static_cast<size_t>(width) * 4));
    back.in = a.out;
    if (!status_.ok()) return;
  }
  if (!few || in_one)
    attention_joined(a, stream_);
  else if (a.walks > 0)
    attention_joined_walks(a, stream_);
  else
    attention_joined_few(a, stream_);
  if (a.codes) turn_back(back, stream_);
}

// All that the kernel reads and writes beside keys and values. Nothing that is sent from here on may be given out anew
// before the kernel has it: there is room for all of it.
void CudaOps::send(cuda::AttentionArgs& a, const kernels::AttentionArgs& args, const std::vector<RowBlock>& blocks,
                   int32_t rows) {
  const SeqTables tables = tables_of(args.seqs, rows);
  a.rows = tables.rows;
  a.seqs = tables.seqs;
  a.seq_of_row = tables.seq_of_row;
  if (args.last_pos != nullptr) a.last_pos = sent(std::span(args.last_pos, static_cast<size_t>(a.rows)));
  if (blocks.size() <= kFewBlocks)
    std::copy(blocks.begin(), blocks.end(), a.few_blocks);
  else
    a.blocks = static_cast<const RowBlock*>(sent_once(blocks.data(), blocks.size() * sizeof(RowBlock)));
  const int32_t width = a.heads * a.head_dim;
  written(args.out, static_cast<int64_t>(a.rows) * width);
  if (args.shape.kv_dtype != DType::bf16) return;
  if (wants_bf16(args.out)) a.out_bf16 = make_bf16(args.out, a.rows, width, a.out_stride);
  // Of all rows or of none: others' may have been made by a launch that makes no bytes.
  int32_t own = 0;
  for (const SeqSpan& seq : args.seqs) own += seq.count;
  if (own < rows || !makes_bytes(a.parts_are_pages != 0, a.head_dim)) return;
  if (const int32_t group = wanted_group(args.out); group != 0)
    a.out_bytes = make_bytes(args.out, group, a.rows, width);
}

void CudaOps::hand_over(cuda::AttentionArgs& a, int32_t queries) {
  const size_t floats =
      attention_partial_floats(a.block_count, a.kv_heads, a.most_parts + a.walks, queries, a.head_dim);
  a.partial = handover(attention_partial_, floats);
  a.merge_shares = shares_of_merge(a);
}

void CudaOps::keep_totals(cuda::AttentionArgs& a, int32_t queries) {
  const size_t floats = static_cast<size_t>(a.block_count) * static_cast<size_t>(a.kv_heads) *
                        static_cast<size_t>(queries) * static_cast<size_t>(a.head_dim);
  a.totals = static_cast<float*>(grown(attention_totals_, floats * sizeof(float)));
}

}  // namespace paceline::kernels::cuda
