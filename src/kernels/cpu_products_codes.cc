// Products with pages of codes, both of integers: a query is rounded to codes with a scale of its own (joined: one for
// what meets values and one for what meets keys), and so are a query's shares of a page times the values' scales. What
// is exact is the same on every table; scales come last, in float32.
#include <algorithm>
#include <numeric>

#include "kernels/cpu_pages.h"
#include "kernels/cpu_products.h"
#include "kernels/kv_rotation.h"

namespace paceline::kernels {
namespace {

struct CodedMemory {
  int8_t* q = nullptr;        // [2][kBlockQueries, numbers of the part]
  float* q_scales = nullptr;  // [2][kBlockQueries]
  int32_t* q_sums = nullptr;  // [2][kBlockQueries]: of codes
  uint8_t* shares = nullptr;  // [kBlockQueries, kPageTokens]
  float* parts = nullptr;     // [kBlockQueries]: the shares' scales
  int32_t* scores = nullptr;  // [kBlockQueries, kPageTokens]
  int32_t* values = nullptr;  // [kBlockQueries, head_dim]
};

size_t lay_out_codes(const HeadShape& shape, char* memory, CodedMemory* out) {
  size_t used = 0;
  const auto next = [&](auto*& pointer, size_t count) {
    if (memory != nullptr) pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(memory + used);
    used += in_lines(count * sizeof *pointer);
  };
  constexpr size_t kQueries = kBlockQueries;
  const auto dim = static_cast<size_t>(shape.head_dim);
  next(out->q, kQueries * dim);
  next(out->q_scales, 2 * kQueries);
  next(out->q_sums, 2 * kQueries);
  next(out->shares, kQueries * kPageTokens);
  next(out->parts, kQueries);
  next(out->scores, kQueries * kPageTokens);
  next(out->values, kQueries * dim);
  return used;
}

class CodedProducts : public PageProducts {
 public:
  CodedProducts(const CpuTable& table, const HeadShape& shape, void* memory)
      : table_(table), shape_(shape), size_(1.0f / static_cast<float>(rotation_block(shape))) {
    lay_out_codes(shape, static_cast<char*>(memory), &m_);
  }

  void set_queries(const float* q, int32_t queries) override {
    queries_ = queries;
    for (int32_t part = 0; part < parts(); ++part)
      for (int32_t i = 0; i < queries; ++i) {
        const int32_t count = part_numbers(part);
        const float* from = q + static_cast<int64_t>(i) * shape_.head_dim + (part == 0 ? 0 : part_numbers(0));
        int8_t* codes = q_part(part) + static_cast<int64_t>(i) * count;
        m_.q_scales[part * kBlockQueries + i] = table_.encode(from, count, codes) * size_;
        m_.q_sums[part * kBlockQueries + i] = std::accumulate(codes, codes + count, 0);
      }
  }

  void score(const HeadPage& at, int32_t, int32_t, float* scores) override {
    void* page = at.pages->keys_of(at.page);
    const auto* head = static_cast<const int8_t*>(head_in(shape_, page, at.kv_head));
    for (int32_t part = 0; part < parts(); ++part) {
      const int32_t first = part == 0 ? shape_.joined : shape_.head_dim;
      const float* scales = scales_in(shape_, page, at.kv_head, part == 1);
      const CodeOrder order = key_order(table_, shape_);
      const int64_t stride = row_numbers(shape_);
      table_.code_scores({head + code_at(order, stride, 0, first), stride, part_numbers(part),
                          part == 0 ? ahead_of(at) : nullptr, order},
                         q_part(part), m_.q_sums + part * kBlockQueries, queries_, m_.scores);
      for (int32_t i = 0; i < queries_; ++i)
        table_.scale_scores(m_.scores + i * kPageTokens, m_.q_scales[part * kBlockQueries + i], scales, part == 1,
                            scores + static_cast<int64_t>(i) * kPageTokens);
    }
  }

  void add_values(const HeadPage& at, const float* shares, const float* keep, float* out) override {
    void* page = shape_.joined > 0 ? at.pages->keys_of(at.page) : at.pages->values_of(at.page);
    const float* scales = scales_in(shape_, page, at.kv_head);
    for (int32_t i = 0; i < queries_; ++i)
      m_.parts[i] =
          table_.encode_shares(shares + static_cast<int64_t>(i) * kPageTokens, scales, m_.shares + i * kPageTokens);
    const auto* head = static_cast<const int8_t*>(head_in(shape_, page, at.kv_head));
    table_.code_mix({head, row_numbers(shape_), shape_.head_dim, ahead_of(at), value_order(table_, shape_)}, m_.shares,
                    queries_, m_.values);
    for (int32_t i = 0; i < queries_; ++i) {
      const int64_t first = static_cast<int64_t>(i) * shape_.head_dim;
      table_.blend_codes(out + first, keep[i], m_.values + first, m_.parts[i], shape_.head_dim);
    }
  }

 private:
  [[nodiscard]] const int8_t* ahead_of(const HeadPage& at) const {
    return at.ahead == nullptr ? nullptr : static_cast<const int8_t*>(head_in(shape_, at.ahead, at.kv_head));
  }
  // What of a query meets values and, joined, what meets rotated keys.
  [[nodiscard]] int32_t parts() const { return shape_.joined > 0 ? 2 : 1; }
  [[nodiscard]] int32_t part_numbers(int32_t part) const {
    return part == 0 ? shape_.head_dim - shape_.joined : shape_.joined;
  }
  [[nodiscard]] int8_t* q_part(int32_t part) const {
    return m_.q + (part == 0 ? 0 : static_cast<int64_t>(kBlockQueries) * part_numbers(0));
  }

  const CpuTable& table_;
  const HeadShape& shape_;
  const float size_;  // of a product of two rotated vectors
  CodedMemory m_;
  int32_t queries_ = 0;
};

}  // namespace

size_t coded_products_bytes(const HeadShape& shape) {
  CodedMemory none;
  return lay_out_codes(shape, nullptr, &none);
}

std::unique_ptr<PageProducts> make_coded_products(const CpuTable& table, const HeadShape& shape, void* memory) {
  return std::make_unique<CodedProducts>(table, shape, memory);
}

}  // namespace paceline::kernels
