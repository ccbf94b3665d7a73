// CudaOps over rows: norms, products, experts, attention, each as the kernels want it.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "kernels/cuda/cuda_ops.h"

namespace paceline::kernels::cuda {
namespace {

// Spans, blocks and page tables of one call; the longest context has 4096 pages.
constexpr size_t kRoomForTables = size_t{8} << 20;

}  // namespace

// Rows of x were (or are about to be) changed: what was made ready of them is stale.
void CudaOps::written(const float* begin, int64_t floats) {
  for (Ready& r : ready_)
    if (r.x != nullptr && begin < r.x + static_cast<int64_t>(r.rows) * r.cols && r.x < begin + floats) r.x = nullptr;
}

uint16_t* CudaOps::make_ready(const float* x, int32_t rows, int32_t cols, int32_t& stride) {
  written(x, static_cast<int64_t>(rows) * cols);
  // The buffer that the same rows had before, so that a step that recurs finds its memory.
  size_t found = 0;
  while (found < ready_.size() && ready_[found].last_x != x) ++found;
  if (found == ready_.size()) found = next_ready_++ % ready_.size();
  Ready& r = ready_[found];
  r.last_x = x;
  stride = round_up(cols, kBlockK);
  // Padding stays zero: a buffer keeps its stride, or is cleared.
  const size_t bytes = static_cast<size_t>(rows) * static_cast<size_t>(stride) * 2;
  void* buffer = grown(r.buffer, bytes);
  if (buffer == nullptr) return nullptr;
  if (stride != cols && r.stride != stride) fine(cudaMemsetAsync(buffer, 0, r.buffer.bytes, stream_), "clearing rows");
  r.x = x;
  r.rows = rows;
  r.cols = cols;
  r.stride = stride;
  return static_cast<uint16_t*>(buffer);
}

Rows CudaOps::rows_for(const float* x, int32_t rows, const Weight& w, Activation activation) {
  Rows ready;
  ready.stride = w.depth();
  if (w.format == Format::q8 || w.format == Format::q4) {
    const size_t elements = static_cast<size_t>(rows) * static_cast<size_t>(w.depth());
    auto* values = static_cast<int8_t*>(grown(bytes_rows_, elements));
    auto* scales = static_cast<float*>(grown(bytes_scales_, elements / 32 * 2 * sizeof(float)));
    if (!status_.ok()) return ready;
    rows_to_bytes(x, values, scales, {rows, w.cols, w.depth(), w.group}, stream_);
    ready.values = values;
    ready.scales = scales;
    return ready;
  }
  if (w.format != Format::bf16 || activation == Activation::f32) {
    ready.values = x;
    ready.stride = w.cols;
    return ready;
  }
  for (const Ready& r : ready_)
    if (r.x == x && r.rows >= rows && r.cols == w.cols) {
      ready.values = r.buffer.memory.get();
      return ready;
    }
  int32_t stride = 0;
  uint16_t* values = make_ready(x, rows, w.cols, stride);
  if (values != nullptr) rows_to_bf16(x, values, rows, w.cols, stride, stream_);
  ready.values = values;
  return ready;
}

void CudaOps::multiply(MatmulArgs& args, Activation activation) {
  if (!status_.ok()) return;
  args.partial = static_cast<float*>(partial_.memory.get());
  args.arrivals = static_cast<int32_t*>(arrivals_.memory.get());
  const Weight& w = args.out[0].weight;
  const bool plain = w.format == Format::f32 || w.format == Format::f16 ||
                     (w.format == Format::bf16 && activation == Activation::f32);
  if (plain)
    matmul_f32(args, stream_);
  else if (args.rows <= kNarrowRows || w.format != Format::bf16)
    matmul_narrow(args, stream_, true);
  else
    matmul_wide(args, stream_);
}

void CudaOps::linear(const float* x, int32_t rows, Activation activation, std::span<const Projection> out) {
  flush();
  CHECK(out.size() <= kMaxProjections);
  // Products of one format and group share a launch.
  std::array<bool, kMaxProjections> done{};
  for (size_t i = 0; i < out.size(); ++i) {
    if (done[i]) continue;
    MatmulArgs args;
    const Matrix& first = *out[i].weight;
    args.x = rows_for(x, rows, weight_of(first), activation);
    args.rows = rows;
    for (size_t j = i; j < out.size(); ++j) {
      const Matrix& m = *out[j].weight;
      if (args.count == kMaxProducts) break;
      if (done[j] || m.format != first.format || m.group != first.group || m.scale_dtype != first.scale_dtype) continue;
      done[j] = true;
      Product& product = args.out[args.count++];
      product.weight = weight_of(m);
      product.y = out[j].y;
      written(out[j].y, static_cast<int64_t>(rows) * m.rows);
    }
    multiply(args, activation);
  }
}

void CudaOps::gated(const float* x, int32_t rows, Activation activation, const Matrix& gate, const Matrix& up, float* y) {
  flush();
  CHECK(gate.format == up.format && gate.group == up.group);
  MatmulArgs args;
  Product& product = args.out[0];
  product.weight = weight_of(gate);
  product.up = weight_of(up);
  args.x = rows_for(x, rows, product.weight, activation);
  args.rows = rows;
  args.count = 1;
  product.y = y;
  if (gate.format == WeightFormat::bf16 && activation == Activation::bf16)
    product.y_bf16 = make_ready(y, rows, gate.rows, product.y_stride);
  else
    written(y, static_cast<int64_t>(rows) * gate.rows);
  multiply(args, activation);
}

void CudaOps::flush() {
  if (!has_pending_) return;
  has_pending_ = false;
  NormsArgs a;
  a.x = pending_.x;
  a.branch = pending_.branch;
  a.branch_weight = pending_.weight;
  a.branch_scale = pending_.scale;
  a.rows = pending_.rows;
  a.width = pending_.width;
  a.eps = pending_.eps;
  if (status_.ok()) norms(a, stream_);
}

void CudaOps::add_norm(const AddNormArgs& args) {
  flush();
  CHECK(args.width <= kMaxNormWidth);
  written(args.x, static_cast<int64_t>(args.rows) * args.width);
  pending_ = args;
  has_pending_ = true;
}

void CudaOps::rms_norm(const NormArgs& args) {
  CHECK(args.width <= kMaxNormWidth);
  NormsArgs a;
  if (has_pending_ && pending_.x == args.x && pending_.rows == args.rows && pending_.width == args.width &&
      pending_.eps == args.eps && args.y != args.x) {
    has_pending_ = false;
    a.branch = pending_.branch;
    a.branch_weight = pending_.weight;
    a.branch_scale = pending_.scale;
  }
  flush();
  a.x = const_cast<float*>(args.x);
  a.weight = args.weight;
  a.y = args.y;
  a.scale = args.scale;
  a.rows = args.rows;
  a.width = args.width;
  a.eps = args.eps;
  a.y_bf16 = make_ready(args.y, args.rows, args.width, a.y_stride);
  if (status_.ok()) norms(a, stream_);
}

void CudaOps::embed(const Matrix& table, std::span<const TokenId> tokens, float scale, float* y) {
  flush();
  CHECK(table.packed || table.format == WeightFormat::none || table.format == WeightFormat::f32);
  written(y, static_cast<int64_t>(tokens.size()) * table.cols);
  EmbedArgs a;
  a.table = weight_of(table);
  a.tokens = sent(tokens);
  a.y = y;
  a.rows = static_cast<int32_t>(tokens.size());
  a.scale = scale;
  if (status_.ok()) cuda::embed(a, stream_);
}

void CudaOps::gelu_mul(const kernels::GeluMulArgs& args) {
  flush();
  written(args.y, static_cast<int64_t>(args.rows) * args.width);
  if (status_.ok()) cuda::gelu_mul({args.y, args.x, args.rows, args.width, args.stride}, stream_);
}

void CudaOps::add_scaled(float* y, const float* x, float scale, int64_t count) {
  flush();
  written(y, count);
  if (status_.ok()) cuda::add_scaled(y, x, scale, count, stream_);
}

void CudaOps::softcap(float* y, float cap, int64_t count) {
  flush();
  written(y, count);
  if (status_.ok()) cuda::softcap(y, cap, count, stream_);
}

void CudaOps::rope(const RopeArgs& args) {
  flush();
  make_room(kRoomForTables);
  RopeRowsArgs a;
  a.positions = sent(args.positions);
  a.frequencies = sent(args.frequencies);
  a.cos = args.cos;
  a.sin = args.sin;
  a.rows = static_cast<int32_t>(args.positions.size());
  a.pairs = static_cast<int32_t>(args.frequencies.size());
  if (status_.ok()) rope_rows(a, stream_);
}

void CudaOps::gather(const float* from, std::span<const int32_t> rows, int32_t width, float* to) {
  flush();
  written(to, static_cast<int64_t>(rows.size()) * width);
  const int32_t* device_rows = sent(rows);
  if (status_.ok()) gather_rows(from, device_rows, to, static_cast<int32_t>(rows.size()), width, stream_);
}

void CudaOps::argmax(const float* x, int32_t rows, int32_t width, TokenId* best) {
  flush();
  ArgmaxArgs a;
  a.x = x;
  a.rows = rows;
  a.width = width;
  a.best = best;
  a.partial = static_cast<uint64_t*>(
      grown(argmax_keys_, static_cast<size_t>(rows) * kArgmaxPieces * sizeof(uint64_t)));
  if (status_.ok()) cuda::argmax(a, stream_);
}

void CudaOps::route(const kernels::RouteArgs& args) {
  const Projection out{args.router, args.scores};
  // In float32 whatever the rest runs in, as on the processor.
  linear(args.x, args.rows, Activation::f32, {&out, 1});
  CHECK(args.router->rows <= kMaxExperts && args.top <= 32);
  cuda::RouteArgs a;
  a.scores = args.scores;
  a.expert_scale = args.expert_scale;
  a.rows = args.rows;
  a.experts = args.router->rows;
  a.top = args.top;
  a.chosen = args.chosen;
  a.share = args.share;
  if (status_.ok()) cuda::route(a, stream_);
}

void CudaOps::experts(const ExpertsArgs& args, Activation activation) {
  flush();
  const int32_t slots = args.rows * args.top;
  const int32_t hidden = args.gate->first.cols, width = args.gate->first.rows;
  PlanArgs plan;
  plan.chosen = args.chosen;
  plan.rows = args.rows;
  plan.top = args.top;
  plan.experts = args.gate->count;
  plan.plan = static_cast<ExpertPlan*>(grown(expert_plan_, sizeof(ExpertPlan)));
  plan.slot_row = static_cast<int32_t*>(grown(slots_, static_cast<size_t>(slots) * 2 * sizeof(int32_t)));
  plan.slot_of = plan.slot_row + slots;
  const Weight gate = weight_of(*args.gate, args.top);
  const size_t wide_floats = static_cast<size_t>(slots) * static_cast<size_t>(width);
  auto* wide = static_cast<float*>(grown(slot_rows_, (wide_floats + static_cast<size_t>(slots) * hidden) * sizeof(float)));
  float* down_rows = wide + wide_floats;
  if (!status_.ok()) return;
  plan_experts(plan, stream_);

  MatmulArgs first;
  first.x = rows_for(args.x, args.rows, gate, activation);
  first.rows = args.rows;
  first.count = 1;
  first.experts = {plan.plan, plan.slot_row, std::min(args.gate->count, slots)};
  Product& gated_product = first.out[0];
  gated_product.weight = gate;
  gated_product.up = weight_of(*args.up, args.top);
  gated_product.y = wide;
  if (gate.format == Format::bf16 && activation == Activation::bf16)
    gated_product.y_bf16 = make_ready(wide, slots, width, gated_product.y_stride);
  multiply(first, activation);

  MatmulArgs second;
  const Weight down = weight_of(*args.down, args.top);
  second.x = rows_for(wide, slots, down, activation);
  second.rows = args.rows;
  second.count = 1;
  second.experts = {plan.plan, nullptr, first.experts.most_touched};
  second.out[0].weight = down;
  second.out[0].y = down_rows;
  multiply(second, activation);
  written(args.y, static_cast<int64_t>(args.rows) * hidden);
  if (status_.ok())
    combine_experts({down_rows, plan.slot_of, args.share, args.y, args.rows, args.top, hidden}, stream_);
}

// The spans with their page tables in device memory. Tables are kept by where they lie on the host and sent again only
// as far as they changed; spans are sent once per distinct content between waits.
CudaOps::SeqTables CudaOps::tables_of(std::span<const SeqSpan> seqs) {
  SeqTables out;
  // What is sent below must not meet the end of the staging ring, where waiting gives everything out anew.
  make_room(kRoomForTables);
  std::vector<DeviceSeq> all;
  std::vector<int32_t> seq_of_row;
  for (const SeqSpan& seq : seqs) {
    const int32_t pages = (seq.first_pos + seq.count - 1) / kPageTokens + 1;
    const auto count = static_cast<size_t>(seq.pages.slots == 0 ? pages : std::min(pages, seq.pages.slots));
    void* tables[2];
    int which = 0;
    for (void* const* host : {seq.pages.keys, seq.pages.values}) {
      PageTable& table = page_tables_[host];
      size_t same = 0;
      while (same < count && same < table.mirror.size() && table.mirror[same] == host[same]) ++same;
      if (same < count) {
        if (table.device.bytes < count * sizeof(void*)) {
          grown(table.device, std::max<size_t>(64, count * 2) * sizeof(void*));
          same = 0;
        }
        table.mirror.assign(host, host + count);
        if (!status_.ok()) return out;
        void* stage = staged((count - same) * sizeof(void*));
        std::memcpy(stage, host + same, (count - same) * sizeof(void*));
        fine(cudaMemcpyAsync(static_cast<void**>(table.device.memory.get()) + same, stage, (count - same) * sizeof(void*),
                             cudaMemcpyHostToDevice, stream_),
             "sending pages");
      }
      tables[which++] = table.device.memory.get();
    }
    all.push_back({seq.first_row, seq.count, seq.first_pos, seq.pages.slots, static_cast<void* const*>(tables[0]),
                   static_cast<void* const*>(tables[1])});
    for (int32_t i = 0; i < seq.count; ++i) {
      const auto row = static_cast<size_t>(seq.first_row + i);
      if (seq_of_row.size() <= row) seq_of_row.resize(row + 1, 0);
      seq_of_row[row] = static_cast<int32_t>(all.size()) - 1;
    }
  }
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

void CudaOps::heads(const kernels::HeadsArgs& args) {
  flush();
  CHECK(args.shape.head_dim <= kMaxHeadDim);
  if (args.rope_parts != 1) return fail("a rotation in parts does not run on the CUDA device");
  const SeqTables tables = tables_of(args.seqs);
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
  a.eps = args.eps;
  a.rows = tables.rows;
  a.seqs = tables.seqs;
  a.seq_of_row = tables.seq_of_row;
  written(args.q, static_cast<int64_t>(a.rows) * a.heads * a.head_dim);
  if (status_.ok()) cuda::heads(a, stream_);
}

void CudaOps::attention(const kernels::AttentionArgs& args) {
  flush();
  int32_t most_rows = 0, rows = 0;
  for (const SeqSpan& seq : args.seqs) {
    most_rows = std::max(most_rows, seq.count);
    rows += seq.count;
  }
  const SeqTables tables = tables_of(args.seqs);
  cuda::AttentionArgs a;
  a.heads = args.shape.heads;
  a.kv_heads = args.shape.kv_heads;
  a.head_dim = args.shape.head_dim;
  a.wide_kv = args.shape.kv_dtype == DType::f32 ? 1 : 0;
  a.q = args.q;
  a.out = args.out;
  a.window = args.window;
  a.sees_self = args.sees_self ? 1 : 0;
  a.rows = tables.rows;
  a.seqs = tables.seqs;
  a.seq_of_row = tables.seq_of_row;
  if (args.last_pos != nullptr) a.last_pos = sent(std::span(args.last_pos, static_cast<size_t>(rows)));
  a.block_rows = rows_of_block(a.heads, a.kv_heads, a.head_dim, most_rows);
  std::vector<RowBlock> blocks;
  a.most_pages = 1;
  for (size_t s = 0; s < args.seqs.size(); ++s) {
    const SeqSpan& seq = args.seqs[s];
    for (int32_t first = 0; first < seq.count; first += a.block_rows) {
      const int32_t count = std::min(a.block_rows, seq.count - first);
      blocks.push_back({static_cast<int32_t>(s), first, count});
      int32_t last = seq.first_pos + first + count - 1;
      if (args.last_pos != nullptr)
        for (int32_t i = 0; i < count; ++i) last = std::max(last, args.last_pos[seq.first_row + first + i]);
      a.most_pages = std::max(a.most_pages, pages_seen(seq.first_pos + first, last, args.window));
    }
  }
  a.blocks = sent(std::span<const RowBlock>(blocks));
  a.block_count = static_cast<int32_t>(blocks.size());
  const int32_t width = a.heads * a.head_dim;
  if (args.shape.kv_dtype == DType::bf16)
    a.out_bf16 = make_ready(args.out, a.rows, width, a.out_stride);
  else
    written(args.out, static_cast<int64_t>(a.rows) * width);
  if (attention_splits(a.block_count, a.kv_heads, a.most_pages)) {
    const int32_t queries = queries_of(a.heads, a.kv_heads, a.block_rows);
    a.partial = static_cast<float*>(
        grown(attention_partial_, attention_partial_floats(a.block_count, a.kv_heads, a.most_pages, queries, a.head_dim) *
                                      sizeof(float)));
  }
  if (status_.ok()) cuda::attention(a, stream_);
}

}  // namespace paceline::kernels::cuda
