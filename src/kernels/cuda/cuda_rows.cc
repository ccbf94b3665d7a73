// CudaOps over rows: norms, products, experts, each as the kernels want it.
#include <algorithm>

#include "base/check.h"
#include "kernels/cuda/cuda_ops.h"

namespace paceline::kernels::cuda {
namespace {

// What was made so often without a product that asked for it is not made again until one does. Twice, so that rows of
// which products want now one thing, now another, are made ready for both.
constexpr int32_t kMostUnasked = 2;

bool meet(const float* a, int64_t a_floats, const float* b, int64_t b_floats) {
  return a < b + b_floats && b < a + a_floats;
}

// Whether it is multiplied with rows in float32.
bool reads_floats(const Weight& w, Activation activation) {
  if (w.format == Format::f32 || w.format == Format::f16) return true;
  return activation == Activation::f32 && (w.format == Format::bf16 || w.exact != 0);
}

}  // namespace

// Rows of x were (or are about to be) changed: what was made ready of them is stale.
void CudaOps::written(const float* begin, int64_t floats) {
  const auto* chosen = reinterpret_cast<const float*>(planned_.chosen);
  if (chosen != nullptr && meet(begin, floats, chosen, planned_.rows * planned_.top)) planned_ = {};
  for (Ready& r : ready_)
    if (r.x != nullptr && meet(begin, floats, r.x, static_cast<int64_t>(r.rows) * r.cols)) r.x = nullptr;
}

// Where rows of x are, or were, for products with this group; or none.
CudaOps::Ready* CudaOps::find_ready(const float* x, int32_t group) {
  const auto found = std::ranges::find_if(ready_, [&](const Ready& r) { return r.last_x == x && r.group == group; });
  return found != ready_.end() ? &*found : nullptr;
}

// The buffer that the same rows had before, so that a step that recurs finds its memory; else the one that was not used
// for longest, which no operand of this operation lies in. Nothing is ready in it.
CudaOps::Ready* CudaOps::ready_entry(const float* x, int32_t group) {
  Ready* r = find_ready(x, group);
  if (r == nullptr) {
    r = &*std::ranges::min_element(ready_, {}, &Ready::last_used);
    r->unasked = 0;
  }
  r->x = nullptr;
  r->last_x = x;
  r->group = group;
  r->last_used = ++ready_uses_;
  return r;
}

// A buffer for rows of x, about to be made for products with this group.
CudaOps::Ready* CudaOps::ready_buffer(const float* x, int32_t group, int32_t rows, int32_t cols, int32_t stride) {
  Ready* r = ready_entry(x, group);
  ++r->unasked;
  const size_t elements = static_cast<size_t>(rows) * static_cast<size_t>(stride);
  (void)grown(r->buffer, group == 0 ? elements * 2 : elements);
  if (group != 0) (void)grown(r->scales, elements / (group == 16 ? 16 : 32) * 2 * sizeof(float));
  if (!status_.ok()) return nullptr;
  // Padding of bf16 stays zero: a buffer keeps its columns and its stride, or is cleared. Whoever makes bytes makes the
  // padding, too.
  if (group == 0 && stride != cols && (r->stride != stride || r->cols != cols))
    launches_->clear(r->buffer.memory.get(), r->buffer.bytes);
  r->x = x;
  r->rows = rows;
  r->cols = cols;
  r->stride = group == 0 ? stride : 0;
  return r;
}

uint16_t* CudaOps::make_bf16(const float* x, int32_t rows, int32_t cols, int32_t& stride) {
  stride = padded_cols(Format::bf16, cols);
  const Ready* r = ready_buffer(x, 0, rows, cols, stride);
  return r != nullptr ? static_cast<uint16_t*>(r->buffer.memory.get()) : nullptr;
}

ByteRows CudaOps::make_bytes(const float* x, int32_t group, int32_t rows, int32_t cols) {
  const int32_t stride = padded_cols(Format::q8, cols);
  const Ready* r = ready_buffer(x, group, rows, cols, stride);
  if (r == nullptr) return {};
  return {static_cast<int8_t*>(r->buffer.memory.get()), static_cast<float*>(r->scales.memory.get()), stride, group};
}

uint16_t* CudaOps::make_ready(const float* x, int32_t rows, int32_t cols, int32_t& stride) {
  written(x, static_cast<int64_t>(rows) * cols);
  return make_bf16(x, rows, cols, stride);
}

// The group of bytes that products have asked for of late where these rows lie, or none.
int32_t CudaOps::wanted_group(const float* x) {
  for (const Ready& r : ready_)
    if (r.last_x == x && r.group != 0 && r.unasked < kMostUnasked) return r.group;
  return 0;
}

// The same of bf16; of rows that are new here it is guessed.
bool CudaOps::wants_bf16(const float* x) {
  const Ready* r = find_ready(x, 0);
  return r != nullptr ? r->unasked < kMostUnasked : wanted_group(x) == 0;
}

Rows CudaOps::rows_for(const float* x, int32_t rows, const Weight& w, Activation activation) {
  Rows ready;
  ready.stride = w.depth();
  const bool quantised = w.format == Format::q8 || w.format == Format::q4;
  if (reads_floats(w, activation)) {
    ready.values = x;
    ready.stride = w.cols;
    return ready;
  }
  const int32_t group = quantised ? w.group : 0;
  Ready* found = find_ready(x, group);
  if (found == nullptr || found->x != x || found->rows < rows || found->cols != w.cols) {
    if (quantised && rows <= kFloatRows) {
      // Made by the product itself; whoever writes them may make them the next time.
      if (found == nullptr) found = ready_entry(x, group);
      found->unasked = 0;
      ready.values = x;
      ready.stride = w.cols;
      return ready;
    }
    if (quantised) {
      const ByteRows to = make_bytes(x, group, rows, w.cols);
      if (to.values != nullptr) rows_to_bytes(x, to, rows, w.cols, stream_);
    } else {
      int32_t stride = 0;
      uint16_t* to = make_bf16(x, rows, w.cols, stride);
      if (to != nullptr) rows_to_bf16(x, to, rows, w.cols, stride, stream_);
    }
    found = find_ready(x, group);
  }
  found->unasked = 0;
  found->last_used = ++ready_uses_;
  ready.values = found->buffer.memory.get();
  ready.scales = static_cast<const float*>(found->scales.memory.get());
  return ready;
}

void CudaOps::multiply(MatmulArgs& args, Activation activation) {
  if (!status_.ok()) return;
  args.partial = static_cast<float*>(partial_.memory.get());
  args.counted = static_cast<float*>(counted_.memory.get());
  args.arrivals = static_cast<int32_t*>(arrivals_.memory.get());
  const Weight& w = args.out[0].weight;
  const bool plain = reads_floats(w, activation);
  if (!plain && args.experts.plan == nullptr && unpacks(w, args.rows)) return multiply_unpacked(args);
  if (plain && can_multiply_many_f32(args))
    matmul_f32_many(args, stream_);
  else if (plain)
    matmul_f32(args, stream_);
  else if (like_bf16(w.format) && goes_narrow(args))
    matmul_narrow(args, stream_, true);
  else if (w.format == Format::bf16 && goes_through_ring(args))
    matmul_ring(args, stream_);
  else if (w.format == Format::bf16)
    matmul_wide(args, stream_);
  else if (goes_narrow(args))
    matmul_quantised(args, stream_, true);
  else
    matmul_quantised_wide(args, stream_);
}

// Products of many rows, none of them gated, one by one.
void CudaOps::multiply_unpacked(const MatmulArgs& args) {
  for (int32_t i = 0; i < args.count; ++i) {
    MatmulArgs one = args;
    one.count = 1;
    one.out[0] = args.out[i];
    Weight& w = one.out[0].weight;
    CHECK(!one.out[0].gated());
    const Weight packed = w;
    w.format = Format::bf16;
    w.factors = nullptr;
    w.exact = 0;
    void* const to = grown(unpacked_, bytes_of(w));
    if (!status_.ok()) return;
    unpack_chunks(packed, to, stream_);
    w.values = to;
    // Kernels ask for weights before those in front of them have ended.
    launches_->fence();
    multiply(one, Activation::bf16);
    if (packed.factors != nullptr) times_factors(one.out[0].y, packed.factors, args.rows, w.rows, stream_);
  }
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
    if (out.size() == 1 && activation == Activation::bf16 && leaves(args) && first.rows <= kMaxNormWidth) {
      waiting_ = args;
      has_waiting_ = true;
    } else {
      multiply(args, activation);
    }
  }
}

// The product that waits, if there is one.
void CudaOps::multiply_waiting(float* left) {
  if (!has_waiting_) return;
  has_waiting_ = false;
  waiting_.out[0].left = left;
  multiply(waiting_, Activation::bf16);
}

void CudaOps::gated(const float* x, int32_t rows, Activation activation, const GatedArgs& gated_args) {
  flush();
  const Matrix &gate = *gated_args.gate, &up = *gated_args.up;
  float* const y = gated_args.y;
  const bool unlike = gate.format != up.format || gate.group != up.group || gate.scale_dtype != up.scale_dtype;
  const bool unpacked = !unlike && activation == Activation::bf16 && unpacks(gated_weight_of(gate), rows);
  if (unlike || unpacked) {
    auto* times =
        static_cast<float*>(grown(unlike_, static_cast<size_t>(rows) * static_cast<size_t>(up.rows) * sizeof(float)));
    if (!status_.ok()) return;
    const Projection both[] = {{&gate, y}, {&up, times}};
    if (unlike) {
      linear(x, rows, activation, both);
    } else {
      MatmulArgs args;
      args.x = rows_for(x, rows, gated_weight_of(gate), activation);
      args.rows = rows;
      for (const Projection& p : both) {
        args.out[args.count].weight = gated_weight_of(*p.weight);
        args.out[args.count++].y = p.y;
        written(p.y, static_cast<int64_t>(rows) * gate.rows);
      }
      multiply(args, activation);
    }
    return gate_mul({y, times, rows, gate.rows, gate.rows, gated_args.function});
  }
  MatmulArgs args;
  Product& product = args.out[0];
  product.weight = gated_weight_of(gate);
  product.up = gated_weight_of(up);
  product.silu = gated_args.function == GateFunction::silu ? 1 : 0;
  args.x = rows_for(x, rows, product.weight, activation);
  args.rows = rows;
  args.count = 1;
  product.y = y;
  written(y, static_cast<int64_t>(rows) * gate.rows);
  if (like_bf16(product.weight.format) && activation == Activation::bf16)
    product.y_bf16 = make_ready(y, rows, gate.rows, product.y_stride);
  else if (const int32_t group = wanted_group(y);
           group != 0 && !reads_floats(product.weight, activation) && makes_bytes(product, rows, group))
    product.y_bytes = make_bytes(y, group, rows, gate.rows);
  multiply(args, activation);
}

// The norm that waits, as the kernel takes it, which also makes these; nothing waits afterwards. A product in front of
// it is launched now: the norms' kernel comes next.
NormsArgs CudaOps::take_pending(std::span<const NormOutput> to) {
  NormsArgs a;
  has_pending_ = false;
  if (has_waiting_) {
    // Outputs are left first and written to y then: nobody who has taken them may write there.
    const int64_t floats = static_cast<int64_t>(pending_.rows) * pending_.width;
    const bool apart =
        std::ranges::none_of(to, [&](const NormOutput& o) { return meet(o.y, floats, pending_.branch, floats); });
    if (apart) a.left = static_cast<float*>(left_.memory.get());
    multiply_waiting(a.left);
  }
  a.x = pending_.x;
  a.branch = pending_.branch;
  a.branch_weight = pending_.weight;
  a.branch_scale = pending_.scale;
  a.mixed = pending_mixed_;
  a.rows = pending_.rows;
  a.width = pending_.width;
  a.eps = pending_.eps;
  pending_mixed_ = {};
  return a;
}

void CudaOps::flush() {
  if (!has_pending_) return multiply_waiting(nullptr);
  NormsArgs a = take_pending({});
  // Whoever asks for x itself is most often a product.
  written(a.x, static_cast<int64_t>(a.rows) * a.width);
  if (wants_bf16(a.x)) a.x_bf16 = make_bf16(a.x, a.rows, a.width, a.y_stride);
  if (status_.ok()) norms(a, stream_);
}

void CudaOps::add_norm(const AddNormArgs& args) {
  if (!takes("the width of a norm", args.width, kMaxNormWidth)) return;
  const Product& product = waiting_.out[0];
  const int64_t floats = static_cast<int64_t>(args.rows) * args.width;
  const bool behind = has_waiting_ && !has_pending_ && product.y == args.branch && waiting_.rows == args.rows &&
                      product.weight.rows == args.width && !meet(args.x, floats, args.branch, floats);
  if (!behind) flush();
  written(args.x, floats);
  pending_ = args;
  has_pending_ = true;
}

void CudaOps::rms_norm(const NormArgs& args) {
  const NormOutput out{args.weight, args.y, args.scale};
  rms_norms({args.x, args.rows, args.width, args.eps, {&out, 1}});
}

void CudaOps::rms_norms(const kernels::NormsArgs& args) {
  CHECK(args.out.size() <= kMaxNorms);
  if (!takes("the width of a norm", args.width, kMaxNormWidth)) return;
  const bool in_place = args.out.front().y == args.x;
  NormsArgs a;
  if (has_pending_ && pending_.x == args.x && pending_.rows == args.rows && pending_.width == args.width &&
      pending_.eps == args.eps && !in_place)
    a = take_pending(args.out);
  flush();
  a.x = const_cast<float*>(args.x);
  a.rows = args.rows;
  a.width = args.width;
  a.eps = args.eps;
  for (const NormOutput& o : args.out) {
    NormTo& to = a.to[a.count++];
    to.weight = o.weight;
    to.y = o.y;
    to.scale = o.scale;
    written(o.y, static_cast<int64_t>(args.rows) * args.width);
    if (wants_bf16(o.y)) to.y_bf16 = make_bf16(o.y, args.rows, args.width, a.y_stride);
    if (const int32_t group = wanted_group(o.y); group != 0) to.y_bytes = make_bytes(o.y, group, args.rows, args.width);
  }
  if (status_.ok()) norms(a, stream_);
}

void CudaOps::embed(const Matrix& table, const TokenId* tokens, int32_t rows, float scale, float* y) {
  flush();
  // After a fault nothing is packed.
  CHECK(!status_.ok() || table.packed || table.format == WeightFormat::none || table.format == WeightFormat::f32);
  written(y, static_cast<int64_t>(rows) * table.cols);
  EmbedArgs a;
  a.table = weight_of(table);
  a.tokens = tokens;
  a.y = y;
  a.rows = rows;
  a.scale = scale;
  if (status_.ok()) cuda::embed(a, stream_);
}

void CudaOps::gate_mul(const kernels::GateMulArgs& args) {
  flush();
  cuda::GateMulArgs a{args.y, args.x, args.rows, args.width, args.stride};
  a.y_bf16 = make_ready(args.y, args.rows, args.width, a.y_stride);
  a.silu = args.function == GateFunction::silu ? 1 : 0;
  if (status_.ok()) cuda::gate_mul(a, stream_);
}

void CudaOps::gated_by(const float* x, Activation activation, const Matrix& gate, const kernels::GateMulArgs& by) {
  MatmulArgs args;
  Product& product = args.out[0];
  product.weight = weight_of(gate);
  args.rows = by.rows;
  args.count = 1;
  if (activation != Activation::bf16 || product.weight.format != Format::bf16)
    return Ops::gated_by(x, activation, gate, by);
  flush();
  args.x = rows_for(x, by.rows, product.weight, activation);
  product.times = by.x;
  product.times_stride = by.stride;
  product.silu = by.function == GateFunction::silu ? 1 : 0;
  product.y = by.y;
  product.y_bf16 = make_ready(by.y, by.rows, by.width, product.y_stride);
  multiply(args, activation);
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
  a.partial = static_cast<uint64_t*>(grown(argmax_keys_, static_cast<size_t>(rows) * kArgmaxPieces * sizeof(uint64_t)));
  if (status_.ok()) cuda::argmax(a, stream_);
}

}  // namespace paceline::kernels::cuda
