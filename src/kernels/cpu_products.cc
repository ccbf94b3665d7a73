// Products with pages of numbers run through the table's matrix kernels, with a page as the matrix: keys [tokens,
// head_dim], and values [head_dim, tokens] where they lie so. So every table has one arithmetic for weights and for
// attention.
#include "kernels/cpu_products.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu_pages.h"

namespace paceline::kernels {
namespace {

ActShape act_of(const HeadShape& shape, int32_t cols) {
  return {shape.kv_dtype == DType::f32 ? ActKind::f32 : ActKind::bf16, kBlockQueries, cols, 0};
}

// Acts of queries and of shares, one page's result, and a page turned.
struct PlainMemory {
  Act q, shares;
  float* rows = nullptr;  // [kBlockQueries, head_dim]
  void* turned = nullptr;
};

size_t lay_out_plain(const CpuTable& table, const HeadShape& shape, char* memory, PlainMemory* out) {
  size_t used = 0;
  const auto next = [&](size_t bytes) {
    char* at = memory == nullptr ? nullptr : memory + used;
    used += in_lines(bytes);
    return at;
  };
  out->q.shape = act_of(shape, shape.head_dim);
  out->shares.shape = act_of(shape, kPageTokens);
  out->q.bytes = next(table.act_bytes(out->q.shape));
  out->shares.bytes = next(table.act_bytes(out->shares.shape));
  const auto dim = static_cast<size_t>(shape.head_dim);
  out->rows = reinterpret_cast<float*>(next(kBlockQueries * dim * sizeof(float)));
  if (shape.joined > 0 && table.mix == nullptr) out->turned = next(kPageTokens * dim * dtype_bytes(shape.kv_dtype));
  return used;
}

// What both forms share: keys are rows of head_dim numbers.
class PlainProducts : public PageProducts {
 public:
  PlainProducts(const CpuTable& table, const HeadShape& shape, void* memory) : table_(table), shape_(shape) {
    lay_out_plain(table, shape, static_cast<char*>(memory), &m_);
  }

  void set_queries(const float* q, int32_t queries) override {
    queries_ = m_.q.shape.rows = m_.shares.shape.rows = queries;
    table_.prepare(m_.q, q, shape_.head_dim, 0, units());
  }

  void score(const HeadPage& at, int32_t begin, int32_t end, float* scores) override {
    multiply(rows_of(at, shape_.joined), at, m_.q, scores, kPageTokens, begin, end);
  }

 protected:
  [[nodiscard]] int32_t units() const { return (queries_ + table_.act_unit - 1) / table_.act_unit; }

  // head_dim numbers of each token's row, from `first` on.
  [[nodiscard]] Matrix rows_of(const HeadPage& at, int32_t first) const {
    Matrix m;
    m.format = shape_.kv_dtype == DType::f32 ? WeightFormat::f32 : WeightFormat::bf16;
    m.rows = kPageTokens;
    m.cols = shape_.head_dim;
    m.row_stride = row_numbers(shape_);
    m.values = static_cast<const char*>(head_in(shape_, at.pages->keys_of(at.page), at.kv_head)) +
               static_cast<size_t>(first) * dtype_bytes(shape_.kv_dtype);
    return m;
  }

  void multiply(const Matrix& w, const HeadPage& at, const Act& x, float* y, int64_t ldy, int32_t begin,
                int32_t end) const {
    if (table_.matmul_page == nullptr) return table_.matmul(w, x, y, ldy, begin, end);
    const void* ahead = at.ahead == nullptr ? nullptr : head_in(shape_, at.ahead, at.kv_head);
    table_.matmul_page(w, ahead, x, y, ldy, begin, end);
  }

  // With values [head_dim, tokens].
  void add_turned(const HeadPage& at, const void* values, const float* shares, const float* keep, float* out) {
    const int32_t dim = shape_.head_dim;
    Matrix m;
    m.format = shape_.kv_dtype == DType::f32 ? WeightFormat::f32 : WeightFormat::bf16;
    m.rows = dim;
    m.cols = kPageTokens;
    m.values = values;
    table_.prepare(m_.shares, shares, kPageTokens, 0, units());
    multiply(m, at, m_.shares, m_.rows, dim, 0, dim);
    for (int32_t i = 0; i < queries_; ++i)
      table_.blend(out + static_cast<int64_t>(i) * dim, keep[i], m_.rows + static_cast<int64_t>(i) * dim, 1.0f, dim);
  }

  const CpuTable& table_;
  const HeadShape& shape_;
  PlainMemory m_;
  int32_t queries_ = 0;
};

class ApartProducts : public PlainProducts {
 public:
  using PlainProducts::PlainProducts;

  void add_values(const HeadPage& at, const float* shares, const float* keep, float* out) override {
    add_turned(at, head_in(shape_, at.pages->values_of(at.page), at.kv_head), shares, keep, out);
  }
};

// to[k * kPageTokens + t] = from[t * stride + k], in squares that stay in registers.
template <class T>
void turn_page(const T* from, int64_t stride, int32_t dim, T* to) {
  constexpr int32_t kSide = 8;
  for (int32_t k = 0; k < dim; k += kSide)
    for (int32_t t = 0; t < kPageTokens; t += kSide) {
      const int32_t count = std::min(kSide, dim - k);
      for (int32_t i = 0; i < count; ++i)
        for (int32_t j = 0; j < kSide; ++j) to[(k + i) * kPageTokens + t + j] = from[(t + j) * stride + k + i];
    }
}

class JoinedProducts : public PlainProducts {
 public:
  using PlainProducts::PlainProducts;

  void add_values(const HeadPage& at, const float* shares, const float* keep, float* out) override {
    const Matrix values = rows_of(at, 0);
    if (table_.mix != nullptr) return table_.mix(values, shares, queries_, keep, out, shape_.head_dim);
    if (shape_.kv_dtype == DType::f32)
      turn_page(static_cast<const float*>(values.values), values.stride(), values.cols, static_cast<float*>(m_.turned));
    else
      turn_narrow(values, static_cast<uint16_t*>(m_.turned));
    add_turned(at, m_.turned, shares, keep, out);
  }

 private:
  void turn_narrow(const Matrix& values, uint16_t* to) const {
    const bool has_own = table_.turn_page != nullptr && values.cols % 8 == 0;
    const auto turn = has_own ? table_.turn_page : turn_page<uint16_t>;
    turn(static_cast<const uint16_t*>(values.values), values.stride(), values.cols, to);
  }
};

size_t own_products_bytes(const CpuTable& table, const HeadShape& shape) {
  return table.page_products_bytes == nullptr ? 0 : table.page_products_bytes(shape);
}

}  // namespace

size_t products_bytes(const CpuTable& table, const HeadShape& shape) {
  if (const size_t own = own_products_bytes(table, shape); own > 0) return own;
  if (shape.kv_dtype == DType::i8) return coded_products_bytes(shape);
  PlainMemory none;
  return lay_out_plain(table, shape, nullptr, &none);
}

std::unique_ptr<PageProducts> make_products(const CpuTable& table, const HeadShape& shape, void* memory) {
  if (own_products_bytes(table, shape) > 0) return table.make_page_products(shape, memory);
  if (shape.kv_dtype == DType::i8) return make_coded_products(table, shape, memory);
  if (shape.joined > 0) return std::make_unique<JoinedProducts>(table, shape, memory);
  return std::make_unique<ApartProducts>(table, shape, memory);
}

}  // namespace paceline::kernels
