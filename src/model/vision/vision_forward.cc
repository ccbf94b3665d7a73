#include "model/vision/vision_forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "base/check.h"
#include "kernels/row_buffer.h"
#include "kernels/vision_ops.h"

namespace paceline {

using kernels::Activation;
using kernels::kPageTokens;
using kernels::Projection;
using kernels::RowBuffer;

// Row buffers, grown to what calls need.
struct VisionForward::Scratch {
  RowBuffer pixels, x, other, normed, clamped, q, k, v, attended, branch, gate, up, pooled, out;
  RowBuffer positions, cos, sin, pages;
  std::vector<float> pixel_values, cosines, sines;
  kernels::HostCopy out_copy;
  std::vector<TokenId> columns, rows;  // of each patch: its rows of the table of positions
  std::vector<int32_t> members, last_pos;
  std::vector<kernels::SeqSpan> spans, block_spans;
  std::vector<int32_t> page_numbers;
};

namespace {

constexpr float kLayerNormEps = 1e-5f;

int32_t pages_of(const Patches& patches) { return (patches.count() + kPageTokens - 1) / kPageTokens; }

std::shared_ptr<const VisionWeights> placed(std::shared_ptr<const VisionWeights> weights, kernels::Ops& ops) {
  if (weights->placed == ops.placed_tag()) return weights;
  auto copy = std::make_shared<VisionWeights>(*weights);
  copy->placed = ops.placed_tag();
  const auto place = [&](Matrix& w) { w = ops.place(w, copy->owners); };
  const auto place_vector = [&](Vector& v) { v.set_placed(v.empty() ? nullptr : ops.place(v, copy->owners)); };
  place(copy->input);
  place(copy->projection);
  copy->positions = ops.place_table(copy->positions, copy->owners);
  for (Vector* v : {&copy->shift, &copy->scale, &copy->input_bias}) place_vector(*v);
  for (VisionWeights::Norm* norm : {&copy->patch_norm, &copy->embedded_norm, &copy->positioned_norm})
    for (Vector* v : {&norm->weight, &norm->bias}) place_vector(*v);
  for (VisionLayer& l : copy->layers) {
    for (VisionLinear* linear : {&l.q, &l.k, &l.v, &l.o, &l.gate, &l.up, &l.down}) place(linear->weight);
    for (Vector* v : {&l.input_norm, &l.post_attention_norm, &l.pre_ffn_norm, &l.post_ffn_norm, &l.q_norm, &l.k_norm})
      place_vector(*v);
  }
  return copy;
}

}  // namespace

VisionForward::VisionForward(std::shared_ptr<const VisionWeights> weights, kernels::Ops& ops, Precision precision)
    : weights_(placed(std::move(weights), ops)), ops_(ops), precision_(precision) {}

VisionForward::~VisionForward() = default;

Status VisionForward::check(const Patches& patches) const {
  const int32_t most = weights_->config.positions, side = weights_->config.side();
  if (patches.side != side) return Error{fmt::format("patches of {} pixels; the model takes {}", patches.side, side)};
  const auto count = static_cast<size_t>(std::max(patches.count(), 0));
  if (count == 0 || patches.values.size() != count * patches.patch_values()) {
    return Error{fmt::format("{} values for a grid of {} × {} patches of {} pixels", patches.values.size(),
                             patches.columns, patches.rows, side)};
  }
  if (std::max(patches.columns, patches.rows) <= most) return Done{};
  return Error{fmt::format("a grid of {} × {} patches; the model has {} positions for each side", patches.columns,
                           patches.rows, most)};
}

// A tower's layer is two rounds over the rows, in blocks: first all keys and values, then what reads them. Every row
// has the same bits whatever else is in its block.
class Passage final : public VisionPassage {
 public:
  // spare: where the scratch memory comes from, if there is any, and goes to.
  Passage(const VisionWeights& weights, kernels::Ops& ops, Precision precision,
          std::unique_ptr<VisionForward::Scratch>& spare, std::vector<const Patches*> pictures)
      : w_(weights),
        c_(weights.config),
        ops_(ops),
        spare_(spare),
        scratch_(spare != nullptr ? std::move(spare) : std::make_unique<VisionForward::Scratch>()),
        s_(*scratch_),
        pictures_(std::move(pictures)),
        precision_(precision),
        act_(precision == Precision::f32 ? Activation::f32 : Activation::bf16) {
    for (const Patches* picture : pictures_) rows_ += picture->count();
  }
  ~Passage() override { spare_ = std::move(scratch_); }
  Passage(const Passage&) = delete;
  Passage& operator=(const Passage&) = delete;

  bool go_on() override {
    if (!begun_) {
      begun_ = true;
      place_patches();
      c_.kind == VisionKind::tower ? begin_tower() : embedder();
      return true;
    }
    if (c_.kind != VisionKind::tower || layer_ == w_.layers.size()) return false;
    const int32_t count = std::min(kBlockRows, rows_ - row_);
    has_keys_ ? read_keys(w_.layers[layer_], row_, count) : make_keys(w_.layers[layer_], row_, count);
    row_ += count;
    if (row_ < rows_) return true;
    row_ = 0;
    if (has_keys_) ++layer_;
    has_keys_ = !has_keys_;
    return true;
  }

  std::vector<std::vector<float>> finish() override {
    if (c_.kind == VisionKind::tower) pool();
    return project();
  }

 private:
  float* sized(RowBuffer& buffer, int64_t floats) { return buffer.sized(ops_, floats); }

  float* uploaded(RowBuffer& buffer, const std::vector<float>& values) {
    float* to = sized(buffer, static_cast<int64_t>(values.size()));
    ops_.upload(to, values.data(), values.size() * sizeof(float));
    return to;
  }

  // A block is a few milliseconds of a small tower, and enough rows to keep the machine busy.
  static constexpr int32_t kBlockRows = 512;

  void place_patches() {
    s_.columns.clear();
    s_.rows.clear();
    for (const Patches* picture : pictures_) {
      CHECK(picture->side == c_.side());
      for (int32_t i = 0; i < picture->count(); ++i) {
        s_.columns.push_back(w_.column_row(i % picture->columns));
        s_.rows.push_back(w_.row_row(i / picture->columns));
      }
    }
  }

  // [rows, values of a patch]: factor * (value / 255) + offset
  float* pixels(float factor, float offset) {
    const auto values = static_cast<size_t>(pictures_[0]->patch_values());
    s_.pixel_values.resize(static_cast<size_t>(rows_) * values);
    float table[256];
    for (int i = 0; i < 256; ++i) table[i] = factor * (static_cast<float>(i) / 255.0f) + offset;
    float* next = s_.pixel_values.data();
    for (const Patches* picture : pictures_)
      for (const uint8_t value : picture->values) *next++ = table[value];
    return uploaded(s_.pixels, s_.pixel_values);
  }

  // x += the embeddings of each patch's column and row
  void add_positions(float* x) {
    const int64_t floats = int64_t{rows_} * c_.hidden;
    float* embedded = sized(s_.other, floats);
    auto* positions = reinterpret_cast<TokenId*>(sized(s_.positions, rows_));
    for (const std::vector<TokenId>* which : {&s_.columns, &s_.rows}) {
      ops_.pick_tokens({*which, {}, nullptr, positions});
      ops_.embed(w_.positions, positions, rows_, 1.0f, embedded);
      ops_.add_scaled(x, embedded, 1.0f, floats);
    }
  }

  void begin_tower() {
    x_ = sized(s_.x, int64_t{rows_} * c_.hidden);
    normed_ = sized(s_.normed, int64_t{kBlockRows} * c_.hidden);
    branch_ = sized(s_.branch, int64_t{kBlockRows} * c_.hidden);
    q_ = sized(s_.q, int64_t{rows_} * c_.heads * c_.head_dim);
    const Projection embed{&w_.input, x_};
    ops_.linear(pixels(2.0f, -1.0f), rows_, act_, {&embed, 1});
    add_positions(x_);
    make_rope();
    make_pages();
  }

  // Column angles, then row angles: [rows, head_dim / 2] in two halves of head_dim / 4.
  void make_rope() {
    const int32_t quarter = c_.head_dim / 4;
    s_.cosines.resize(static_cast<size_t>(rows_) * static_cast<size_t>(2 * quarter));
    s_.sines.resize(s_.cosines.size());
    std::vector<float> frequencies;
    for (int32_t pair = 0; pair < quarter; ++pair)
      frequencies.push_back(static_cast<float>(1.0 / std::pow(c_.rope_theta, 4.0 * pair / c_.head_dim)));
    size_t at = 0;
    for (const Patches* picture : pictures_) {
      for (int32_t i = 0; i < picture->count(); ++i) {
        for (const int32_t pos : {i % picture->columns, i / picture->columns}) {
          for (const float frequency : frequencies) {
            const float angle = static_cast<float>(pos) * frequency;
            s_.cosines[at] = std::cos(angle);
            s_.sines[at++] = std::sin(angle);
          }
        }
      }
    }
    (void)uploaded(s_.cos, s_.cosines);
    (void)uploaded(s_.sin, s_.sines);
  }

  // Keys and values of the layer that runs, each picture beginning on a page of its own. Zeroed, since attention
  // multiplies what it masks by zero: that must be a number.
  void make_pages() {
    const auto page_bytes =
        static_cast<size_t>(c_.heads) * static_cast<size_t>(c_.head_dim) * kPageTokens * dtype_bytes(kv_dtype());
    size_t pages = 0;
    for (const Patches* picture : pictures_) pages += static_cast<size_t>(pages_of(*picture));
    auto* next = reinterpret_cast<std::byte*>(sized(s_.pages, static_cast<int64_t>(2 * pages * page_bytes / 4)));
    ops_.clear(next, 2 * pages * page_bytes);
    s_.page_numbers.resize(pages);
    std::iota(s_.page_numbers.begin(), s_.page_numbers.end(), 0);
    s_.spans.clear();
    s_.last_pos.clear();
    int32_t row = 0;
    for (const Patches* picture : pictures_) {
      s_.spans.push_back({row, picture->count(), 0, kernels::pages_in_a_row(next, page_bytes, s_.page_numbers.data())});
      s_.last_pos.insert(s_.last_pos.end(), static_cast<size_t>(picture->count()), picture->count() - 1);
      row += picture->count();
      next += 2 * page_bytes * static_cast<size_t>(pages_of(*picture));
    }
  }

  // Devices have tiles of 16 for what is not float32.
  [[nodiscard]] DType kv_dtype() const {
    const bool fits = c_.head_dim % ops_.limits().picture_head_step == 0;
    return precision_ == Precision::f32 || !fits ? DType::f32 : DType::bf16;
  }

  // Of `rows` rows from here on, as all below.
  void norm(const float* x, int32_t rows, const Vector& weight, float* y) {
    ops_.rms_norm({x, weight.for_ops(), y, rows, c_.hidden, c_.rms_eps, 1.0f});
  }

  void linear(const float* x, int32_t rows, const VisionLinear& by, float* y) {
    const int64_t in = int64_t{rows} * by.weight.cols, out = int64_t{rows} * by.weight.rows;
    if (c_.clipped) {
      float* clamped = sized(s_.clamped, in);
      ops_.vision().clamp(x, clamped, by.input.low, by.input.high, in);
      x = clamped;
    }
    const Projection product{&by.weight, y};
    ops_.linear(x, rows, act_, {&product, 1});
    if (c_.clipped) ops_.vision().clamp(y, y, by.output.low, by.output.high, out);
  }

  // The pictures' shares of a block, with rows counted from its first.
  std::span<const kernels::SeqSpan> spans_of(int32_t first, int32_t count) {
    s_.block_spans.clear();
    for (const kernels::SeqSpan& whole : s_.spans) {
      const int32_t from = std::max(first, whole.first_row),
                    to = std::min(first + count, whole.first_row + whole.count);
      if (from < to) s_.block_spans.push_back({from - first, to - from, from - whole.first_row, whole.pages});
    }
    return s_.block_spans;
  }

  [[nodiscard]] kernels::HeadShape head_shape() const { return {c_.heads, c_.heads, c_.head_dim, kv_dtype()}; }
  [[nodiscard]] int64_t head_floats(int32_t rows) const { return int64_t{rows} * c_.heads * c_.head_dim; }

  // Queries of the rows stay where they are until all keys are there.
  void make_keys(const VisionLayer& l, int32_t first, int32_t count) {
    kernels::HeadsArgs heads;
    heads.shape = head_shape();
    heads.q = q_ + head_floats(first);
    float* k = sized(s_.k, head_floats(kBlockRows));
    float* v = sized(s_.v, head_floats(kBlockRows));
    norm(x_ + int64_t{first} * c_.hidden, count, l.input_norm, normed_);
    linear(normed_, count, l.q, heads.q);
    linear(normed_, count, l.k, k);
    linear(normed_, count, l.v, v);
    heads.k = k;
    heads.v = v;
    heads.q_weight = l.q_norm.for_ops();
    heads.k_weight = l.k_norm.for_ops();
    heads.cos = s_.cos.data() + int64_t{first} * (c_.head_dim / 2);
    heads.sin = s_.sin.data() + int64_t{first} * (c_.head_dim / 2);
    heads.eps = c_.rms_eps;
    heads.seqs = spans_of(first, count);
    heads.rope_parts = 2;
    ops_.heads(heads);
  }

  void read_keys(const VisionLayer& l, int32_t first, int32_t count) {
    float* x = x_ + int64_t{first} * c_.hidden;
    float* attended = sized(s_.attended, head_floats(kBlockRows));
    ops_.attention(
        {head_shape(), q_ + head_floats(first), attended, 0, true, spans_of(first, count), s_.last_pos.data() + first});
    linear(attended, count, l.o, branch_);
    ops_.add_norm({x, branch_, l.post_attention_norm.for_ops(), count, c_.hidden, c_.rms_eps, 1.0f});
    feed_forward(l, x, count);
  }

  void feed_forward(const VisionLayer& l, float* x, int32_t count) {
    const int64_t floats = int64_t{kBlockRows} * c_.ffn;
    float* gate = sized(s_.gate, floats);
    norm(x, count, l.pre_ffn_norm, normed_);
    if (c_.clipped) {
      float* up = sized(s_.up, floats);
      linear(normed_, count, l.gate, gate);
      linear(normed_, count, l.up, up);
      ops_.gate_mul({gate, up, count, c_.ffn, c_.ffn, kernels::GateFunction::gelu});
    } else {
      ops_.gated(normed_, count, act_, {&l.gate.weight, &l.up.weight, gate, kernels::GateFunction::gelu});
    }
    linear(gate, count, l.down, branch_);
    ops_.add_norm({x, branch_, l.post_ffn_norm.for_ops(), count, c_.hidden, c_.rms_eps, 1.0f});
  }

  // Squares of patches, each averaged to one token.
  void pool() {
    const int32_t pool = c_.shape.pool;
    s_.members.clear();
    int32_t first_row = 0;
    tokens_ = 0;
    for (const Patches* picture : pictures_) {
      for (int32_t y = 0; y < picture->rows; y += pool)
        for (int32_t x = 0; x < picture->columns; x += pool)
          for (int32_t i = 0; i < pool * pool; ++i)
            s_.members.push_back(first_row + (y + i / pool) * picture->columns + x + i % pool);
      first_row += picture->count();
      tokens_ += picture->tokens;
    }
    features_ = sized(s_.pooled, int64_t{tokens_} * c_.hidden);
    ops_.vision().average(
        {x_, s_.members.data(), features_, tokens_, pool * pool, c_.hidden, std::sqrt(static_cast<float>(c_.hidden))});
    if (c_.standardised)
      ops_.vision().shift_scale({features_, w_.shift.for_ops(), w_.scale.for_ops(), tokens_, c_.hidden});
  }

  void embedder() {
    const auto values = static_cast<int32_t>(pictures_[0]->patch_values());
    float* in = pixels(1.0f, 0.0f);
    const auto layer_norm = [&](float* x, const VisionWeights::Norm& norm, int32_t width) {
      ops_.vision().layer_norm({x, norm.weight.for_ops(), norm.bias.for_ops(), x, rows_, width, kLayerNormEps});
    };
    layer_norm(in, w_.patch_norm, values);
    tokens_ = rows_;
    features_ = sized(s_.pooled, int64_t{rows_} * c_.hidden);
    const Projection dense{&w_.input, features_};
    ops_.linear(in, rows_, act_, {&dense, 1});
    ops_.vision().shift_scale({features_, w_.input_bias.for_ops(), nullptr, rows_, c_.hidden});
    layer_norm(features_, w_.embedded_norm, c_.hidden);
    add_positions(features_);
    layer_norm(features_, w_.positioned_norm, c_.hidden);
  }

  std::vector<std::vector<float>> project() {
    ops_.rms_norm({features_, nullptr, features_, tokens_, c_.hidden, c_.rms_eps, 1.0f});
    const int64_t all = int64_t{tokens_} * w_.text_hidden;
    const Projection out{&w_.projection, sized(s_.out, all)};
    ops_.linear(features_, tokens_, act_, {&out, 1});
    const auto* next =
        static_cast<const float*>(ops_.fetch(out.y, static_cast<size_t>(all) * sizeof(float), s_.out_copy));
    // After a fault there is nothing to see: the text model's next step says what happened.
    const bool seen = ops_.wait().ok();
    std::vector<std::vector<float>> soft;
    for (const Patches* picture : pictures_) {
      const int64_t floats = int64_t{picture->tokens} * w_.text_hidden;
      soft.emplace_back(static_cast<size_t>(floats), 0.0f);
      if (!seen) continue;
      std::copy_n(next, floats, soft.back().begin());
      next += floats;
    }
    return soft;
  }

  const VisionWeights& w_;
  const VisionConfig& c_;
  kernels::Ops& ops_;
  std::unique_ptr<VisionForward::Scratch>& spare_;
  std::unique_ptr<VisionForward::Scratch> scratch_;
  VisionForward::Scratch& s_;
  std::vector<const Patches*> pictures_;
  Precision precision_;
  Activation act_;
  int32_t rows_ = 0;           // patches of all pictures
  int32_t tokens_ = 0;         // soft tokens of all pictures
  bool begun_ = false;         // and then, of the tower, the next piece:
  size_t layer_ = 0;           // in this layer,
  bool has_keys_ = false;      // in its second round,
  int32_t row_ = 0;            // from this row on
  float* x_ = nullptr;         // [rows, hidden]
  float* q_ = nullptr;         // [rows, heads, head_dim]
  float* normed_ = nullptr;    // [a block's rows, hidden]
  float* branch_ = nullptr;    // [a block's rows, hidden]
  float* features_ = nullptr;  // [tokens, hidden]
};

std::unique_ptr<VisionPassage> VisionForward::begin(std::vector<const Patches*> pictures) {
  CHECK(!pictures.empty());
  return std::make_unique<Passage>(*weights_, ops_, precision_, spare_, std::move(pictures));
}

std::vector<std::vector<float>> VisionForward::run(std::span<const Patches* const> pictures) {
  if (pictures.empty()) return {};
  const auto passage = begin({pictures.begin(), pictures.end()});
  while (passage->go_on()) {
  }
  return passage->finish();
}

}  // namespace paceline
