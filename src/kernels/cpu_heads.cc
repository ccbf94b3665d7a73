// Queries, keys and values on their way into attention: norms, rotations, and the pages that keep them.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>

#include "base/check.h"
#include "kernels/cpu_ops.h"
#include "kernels/cpu_pages.h"
#include "kernels/kv_rotation.h"

namespace paceline::kernels {
namespace {

// x as numbers `first` and on of a row of a page.
void store(const HeadShape& shape, void* head, int32_t token, int32_t first, std::span<const float> x) {
  const int64_t at = static_cast<int64_t>(token) * row_numbers(shape) + first;
  if (shape.kv_dtype == DType::f32)
    std::copy(x.begin(), x.end(), static_cast<float*>(head) + at);
  else
    std::transform(x.begin(), x.end(), static_cast<uint16_t*>(head) + at, f32_to_bf16);
}

// A value in a page whose tokens lie side by side.
void store_across(const HeadShape& shape, void* head, int32_t token, std::span<const float> x) {
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t at = i * kPageTokens + static_cast<size_t>(token);
    if (shape.kv_dtype == DType::f32)
      static_cast<float*>(head)[at] = x[i];
    else
      static_cast<uint16_t*>(head)[at] = f32_to_bf16(x[i]);
  }
}

// Neither infinite nor no number.
bool all_finite(std::span<const float> x) {
  uint32_t most = 0;
  for (const float v : x) most = std::max(most, std::bit_cast<uint32_t>(v) & 0x7fffffffu);
  return most < 0x7f800000u;
}

// Codes of a token as numbers `first` and on of a head's.
void place(CodeOrder order, int64_t stride, int32_t token, int32_t first, std::span<const int8_t> codes, int8_t* head) {
  const auto count = static_cast<int32_t>(codes.size());
  const auto at = [&](int32_t i) { return head + code_at(order, stride, token, first + i); };
  switch (order) {
    case CodeOrder::rows: std::copy(codes.begin(), codes.end(), at(0)); return;
    case CodeOrder::pairs:
      for (int32_t i = 0; i < count; i += 8) std::memcpy(at(i), codes.data() + i, 8);
      return;
    case CodeOrder::eights:
      for (int32_t i = 0; i < count; ++i) *at(i) = codes[static_cast<size_t>(i)];
      return;
  }
}

// The heads of one row, one after another.
class HeadsOfRow {
 public:
  HeadsOfRow(const CpuTable& table, const HeadsArgs& args, const Rotation* rotation, int64_t row)
      : table_(table), args_(args), shape_(args.shape), dim_(shape_.head_dim), rotation_(rotation), row_(row) {}

  void query(int32_t h) {
    float* q = args_.q + (row_ * shape_.heads + h) * dim_;
    table_.rms_norm(q, args_.q_weight, q, dim_, args_.eps, 1.0f);
    rotate(q);
    if (shape_.joined > 0) {
      // As a page's row has it: what meets values, which is not rotated, and then what meets keys.
      order_joined(shape_, q, ordered_);
      for_each_unrotated([&](int32_t i, int32_t d) { ordered_[i] *= args_.k_weight[d]; });
      if (rotation_ != nullptr) rotation_->turn(ordered_, 0, dim_);
      std::rotate_copy(ordered_, ordered_ + shape_.joined, ordered_ + dim_, q);
    } else if (rotation_ != nullptr) {
      rotation_->turn(q, 0, dim_);
    }
  }

  void key_and_value(int32_t h, const KvPages& pages, int32_t pos) {
    const int64_t at = (row_ * shape_.kv_heads + h) * dim_;
    const float* v = args_.v + at;
    if (args_.norms_values) {
      table_.rms_norm(v, nullptr, value_, dim_, args_.eps, 1.0f);
      v = value_;
    }
    table_.rms_norm(args_.k + at, args_.k_weight, key_, dim_, args_.eps, 1.0f);
    rotate(key_);
    if (!all_finite({v, static_cast<size_t>(dim_)}) || !all_finite({key_, static_cast<size_t>(dim_)})) v = fail();
    const int32_t token = pos % kPageTokens, page = pos / kPageTokens;
    void *keys = pages.keys_of(page), *values = shape_.joined > 0 ? nullptr : pages.values_of(page);
    const auto size = static_cast<size_t>(dim_);
    if (shape_.joined > 0) {
      store_joined(keys, h, token, v);
    } else if (rotation_ != nullptr) {
      store_codes(keys, h, token, key_order(table_, shape_), key_);
      std::copy_n(v, dim_, ordered_);
      store_codes(values, h, token, value_order(table_, shape_), ordered_);
    } else {
      store_across(shape_, head_in(shape_, values, h), token, {v, size});
      store(shape_, head_in(shape_, keys, h), token, 0, {key_, size});
    }
  }

 private:
  void rotate(float* x) const {
    const int32_t rotated = args_.rotated(), part = rotated / args_.rope_parts;
    const float* cos = args_.cos + row_ * (rotated / 2);
    const float* sin = args_.sin + row_ * (rotated / 2);
    for (int32_t at = 0; at < rotated; at += part) table_.rope(x + at, cos + at / 2, sin + at / 2, part);
  }

  // Whoever sees this key has no number any more. Who does not, though it lies in the same page, must not notice: a
  // share of zero times what is no number would be none. The values instead.
  const float* fail() {
    std::fill_n(key_, dim_, std::numeric_limits<float>::quiet_NaN());
    std::fill_n(value_, dim_, 0.0f);
    return value_;
  }

  // f(place in the order of blocks, place in the head)
  template <class F>
  void for_each_unrotated(F f) const {
    const int32_t half = dim_ / 2, turned = shape_.joined / 2;
    for (int32_t i = turned; i < half; ++i) f(turned + i, i);
    for (int32_t i = half + turned; i < dim_; ++i) f(i, i);
  }

  void store_joined(void* page, int32_t h, int32_t token, const float* v) {
    const auto all = static_cast<size_t>(dim_), joined = static_cast<size_t>(shape_.joined);
    void* head = head_in(shape_, page, h);
    float rotated_keys[kMaxHeadDim];
    order_joined(shape_, v, ordered_);
    std::copy_n(key_, joined / 2, rotated_keys);
    std::copy_n(key_ + dim_ / 2, joined / 2, rotated_keys + joined / 2);
    if (rotation_ == nullptr) {
      store(shape_, head, token, 0, {ordered_, all});
      store(shape_, head, token, dim_, {rotated_keys, joined});
      return;
    }
    rotation_->turn(ordered_, 0, dim_);
    rotation_->turn(rotated_keys, 0, shape_.joined);
    const CodeOrder order = key_order(table_, shape_);
    scales_in(shape_, page, h)[token] = encode(head, token, 0, order, {ordered_, all});
    scales_in(shape_, page, h, true)[token] = encode(head, token, dim_, order, {rotated_keys, joined});
  }

  void store_codes(void* page, int32_t h, int32_t token, CodeOrder order, float* x) {
    rotation_->turn(x, 0, dim_);
    scales_in(shape_, page, h)[token] =
        encode(head_in(shape_, page, h), token, 0, order, {x, static_cast<size_t>(dim_)});
  }

  // Returns their scale.
  [[nodiscard]] float encode(void* head, int32_t token, int32_t first, CodeOrder order,
                             std::span<const float> x) const {
    int8_t codes[kMaxHeadDim];
    const float scale = table_.encode(x.data(), static_cast<int32_t>(x.size()), codes);
    place(order, row_numbers(shape_), token, first, {codes, x.size()}, static_cast<int8_t*>(head));
    return scale;
  }

  const CpuTable& table_;
  const HeadsArgs& args_;
  const HeadShape& shape_;
  const int32_t dim_;
  const Rotation* rotation_;  // of codes
  const int64_t row_;
  float key_[kMaxHeadDim], value_[kMaxHeadDim], ordered_[kMaxHeadDim];
};

}  // namespace

void CpuOps::heads(const HeadsArgs& args) {
  const HeadShape& shape = args.shape;
  CHECK(args.rope_parts == 1 || args.rotated() == shape.head_dim);
  CHECK(shape.joined == 0 || (args.norms_values && args.v == args.k && args.rotated() == shape.head_dim));
  std::optional<Rotation> rotation;
  if (shape.kv_dtype == DType::i8) rotation.emplace(shape);
  const auto one_row = [&](const SeqSpan& seq, int64_t row) {
    HeadsOfRow heads(table_, args, rotation ? &*rotation : nullptr, row);
    for (int32_t h = 0; h < shape.heads; ++h) heads.query(h);
    if (args.k == nullptr) return;
    const auto pos = static_cast<int32_t>(seq.first_pos + row - seq.first_row);
    for (int32_t h = 0; h < shape.kv_heads; ++h) heads.key_and_value(h, seq.pages, pos);
  };
  for (const SeqSpan& seq : args.seqs)
    pool_.run(seq.count, 2, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) one_row(seq, seq.first_row + i);
    });
}

}  // namespace paceline::kernels
