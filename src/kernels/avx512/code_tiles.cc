// Attention's products in codes by tiles of AMX, 16 queries at a time: the same integers as codes.cc has, and the same
// operations of float32 around them as cpu_products_codes.cc and lanes/codes.h, so the same bits.
//
// Scores: rows of a page are a tile as they lie, 16 tokens by 64 codes; queries are turned once for a walk, so that a
// row of a tile has four neighbouring codes of 16 queries. Results are [token][query]; they are scaled as they lie, and
// then turned.
// Values: a query's shares of a page are a row of a tile. 64 columns of four tokens at a time are interleaved, once for
// all queries. Sums are kept in the order in which this leaves columns.
//
// Bound: bytes for few queries; for many what surrounds the products, six operations for 16 sums of a page.
#include <immintrin.h>

#include <cstring>

#include "kernels/avx512/page_tiles.h"
#include "kernels/avx512/tile_pages.h"
#include "kernels/avx512/vec.h"
#include "kernels/cpu_pages.h"
#include "kernels/kv_rotation.h"
#include "kernels/lanes/codes.h"

namespace paceline::kernels::avx512 {
namespace {

static_assert(kPageTokens == kTileBytes);
// Vectors of a row that interleaving makes of 64 columns.
constexpr int32_t kVectors = kTileBytes / kSide;

using Square = int32_t[kSide][kSide];

class CodeTiles : public PageProducts {
 public:
  static size_t bytes(const HeadShape& shape) {
    Parts none(nullptr);
    (void)CodeTiles(shape, none);
    return none.used();
  }

  CodeTiles(const HeadShape& shape, Parts& memory)
      : shape_(shape), size_(1.0f / static_cast<float>(rotation_block(shape))) {
    const size_t dim = static_cast<size_t>(shape.head_dim);
    memory.take(turned_queries_, kBlockQueries * dim);
    memory.take(scales_, 2 * size_t{kBlockQueries});
    memory.take(sums_, kBlockQueries * dim);
    memory.take(shares_, size_t{kBlockQueries} * kPageTokens);
    memory.take(row_codes_, dim * kSide);
  }

  void set_queries(const float* q, int32_t queries) override {
    const int32_t dim = shape_.head_dim;
    all_.queries = queries;
    const auto held = static_cast<size_t>(all_.tiles()) * kSide;
    std::memset(sums_, 0, held * static_cast<size_t>(dim) * sizeof(float));
    std::memset(shares_, 0, held * kPageTokens);
    std::memset(scales_, 0, 2 * kBlockQueries * sizeof(float));
    for (int32_t tile = 0; tile < all_.tiles(); ++tile, q += kSide * dim) {
      const int32_t count = all_.count(tile);
      for (int32_t i = 0; i < count; ++i)
        for (int32_t part = 0; part < parts(); ++part)
          scales_of(tile, part)[i] = lanes::encode<Vec>(q + i * dim + first_of(part), numbers_of(part),
                                                        row_codes_ + i * dim + first_of(part)) *
                                     size_;
      for (int32_t k = 0; k < dim; k += kTileBytes) turn_rows_of(row_codes_ + k, dim, count, queries_at(tile, k));
    }
  }

  void score(const HeadPage& at, int32_t begin, int32_t end, float* scores) override {
    void* page = at.pages->keys_of(at.page);
    const int32_t first = begin / kSide, last = (end + kSide - 1) / kSide;
    Ahead ahead = ahead_of(at, (last - first) * (shape_.head_dim / kTileBytes));
    const Tiles tiles_of_amx(kTileRows);
    int32_t t = first;
    if (all_.tiles() == 1)
      for (; t + 4 <= last; t += 4) score_tiles<4, 1>(page, at.kv_head, t, 0, ahead, scores);
    for (; t + 2 <= last; t += 2) score_all<2>(page, at.kv_head, t, ahead, scores);
    for (; t < last; ++t) score_all<1>(page, at.kv_head, t, ahead, scores);
  }

  void add_values(const HeadPage& at, const float* shares, const float* keep, float* /*out*/) override {
    void* page = shape_.joined > 0 ? at.pages->keys_of(at.page) : at.pages->values_of(at.page);
    const float* scales = scales_in(shape_, page, at.kv_head);
    float factors[kBlockQueries];
    for (int32_t i = 0; i < all_.queries; ++i)
      factors[i] = lanes::encode_shares<Vec>(shares + i * kPageTokens, scales, shares_ + i * kPageTokens);
    const auto* codes = static_cast<const int8_t*>(head_in(shape_, page, at.kv_head));
    Ahead ahead = ahead_of(at, shape_.head_dim / kTileBytes * 4);
    const Tiles tiles_of_amx(kTileRows);
    alignas(64) int8_t interleaved[kSide][kVectors][kTileBytes];
    alignas(64) Square out[kVectors];
    for (int32_t k = 0; k < shape_.head_dim; k += kTileBytes) {
      interleave(codes + k, interleaved, ahead);
      times<kVectors>([&]<int j>() { load_tile<4 + j>(interleaved[0][j], sizeof interleaved[0]); });
      for (int32_t tile = 0; tile < all_.tiles(); ++tile) {
        load_tile<3>(shares_ + tile * kSide * kPageTokens, kPageTokens);
        times<kVectors>([&]<int j>() {
          clear_tile<j % 2>();
          add_unsigned_products<j % 2, 3, 4 + j>();
          store_tile<j % 2>(out[j]);
        });
        add_sums(out, all_.count(tile), keep + tile * kSide, factors + tile * kSide, sums_at(tile, k));
      }
    }
  }

  void finish(float* out) override {
    const int32_t dim = shape_.head_dim;
    for (int32_t i = 0; i < all_.queries; ++i)
      for (int32_t k = 0; k < dim; k += kTileBytes)
        store_columns(sums_at(i / kSide, k) + i % kSide * kTileBytes, out + int64_t{i} * dim + k);
  }

 private:
  // What of a query meets values and, joined, what meets rotated keys.
  [[nodiscard]] int32_t parts() const { return shape_.joined > 0 ? 2 : 1; }
  [[nodiscard]] int32_t first_of(int32_t part) const { return part == 0 ? 0 : shape_.head_dim - shape_.joined; }
  [[nodiscard]] int32_t numbers_of(int32_t part) const {
    return part == 0 ? shape_.head_dim - shape_.joined : shape_.joined;
  }
  [[nodiscard]] float* scales_of(int32_t tile, int32_t part) const {
    return scales_ + part * kBlockQueries + tile * kSide;
  }
  [[nodiscard]] int8_t* queries_at(int32_t tile, int32_t k) const {
    return turned_queries_ + (int64_t{tile} * shape_.head_dim + k) * kSide;
  }
  // Of columns k … k + 63: [query][vector][lane].
  [[nodiscard]] float* sums_at(int32_t tile, int32_t k) const {
    return sums_ + (int64_t{tile} * shape_.head_dim + k) * kSide;
  }
  [[nodiscard]] Ahead ahead_of(const HeadPage& at, int32_t pieces) const {
    if (at.ahead == nullptr) return {nullptr, 0, pieces};
    for (int32_t part = 0; part < parts(); ++part)
      for (int32_t i = 0; i < kPageTokens; i += kSide)
        __builtin_prefetch(scales_in(shape_, at.ahead, at.kv_head, part == 1) + i, 0, 2);
    return {head_in(shape_, at.ahead, at.kv_head), int64_t{kPageTokens} * row_numbers(shape_), pieces};
  }

  // NT times 16 tokens, which stay in the first cache, and all queries.
  template <int NT>
  void score_all(void* page, int32_t kv_head, int32_t t, Ahead& ahead, float* scores) const {
    int32_t tile = 0;
    for (; tile + 2 <= all_.tiles(); tile += 2) score_tiles<NT, 2>(page, kv_head, t, tile, ahead, scores);
    if (tile < all_.tiles()) score_tiles<NT, 1>(page, kv_head, t, tile, ahead, scores);
  }

  // NT times 16 tokens from the t-th 16 on, NQ tiles of queries. Results are tiles 0 … 3, of the page 4 and 5, of
  // queries 6 and 7.
  template <int NT, int NQ>
  void score_tiles(void* page, int32_t kv_head, int32_t t, int32_t tile, Ahead& ahead, float* scores) const {
    const int64_t stride = row_numbers(shape_);
    const int8_t* rows =
        static_cast<const int8_t*>(head_in(shape_, page, kv_head)) + t * kSide * stride + shape_.joined;
    alignas(64) Square out[2][NT * NQ];
    for (int32_t part = 0; part < parts(); ++part) {
      times<NT * NQ>([]<int i>() { clear_tile<i>(); });
      for (int32_t k = first_of(part), end = k + numbers_of(part); k < end; k += kTileBytes) {
        times<NQ>([&]<int q>() { load_tile<6 + q>(queries_at(tile + q, k), kTileBytes); });
        times<NT>([&]<int i>() {
          load_tile<4 + i % 2>(rows + i * kSide * stride + k, stride);
          ahead.ask();
          times<NQ>([]<int q>() { add_signed_products<i * NQ + q, 4 + i % 2, 6 + q>(); });
        });
      }
      times<NT * NQ>([&]<int i>() { store_tile<i>(out[part][i]); });
    }
    for (int i = 0; i < NT; ++i)
      for (int q = 0; q < NQ; ++q) {
        scale(out[0][i * NQ + q], scales_of(tile + q, 0), scales_in(shape_, page, kv_head) + (t + i) * kSide);
        if (parts() == 2)
          add_scaled(out[1][i * NQ + q], scales_of(tile + q, 1),
                     scales_in(shape_, page, kv_head, true) + (t + i) * kSide, out[0][i * NQ + q]);
        turn_back(out[0][i * NQ + q], all_.count(tile + q), scores + (tile + q) * kSide * kPageTokens + (t + i) * kSide,
                  kPageTokens);
      }
  }

  static __m512 scaled(const int32_t* sums, __m512 queries, float token) {
    return _mm512_mul_ps(Vec::load_ints(sums), _mm512_mul_ps(queries, _mm512_set1_ps(token)));
  }
  // Integers become scores where they are.
  static void scale(Square& square, const float* queries, const float* tokens) {
    const __m512 factors = _mm512_load_ps(queries);
    for (int32_t i = 0; i < kSide; ++i) _mm512_store_ps(square[i], scaled(square[i], factors, tokens[i]));
  }
  static void add_scaled(const Square& square, const float* queries, const float* tokens, Square& to) {
    const __m512 factors = _mm512_load_ps(queries);
    for (int32_t i = 0; i < kSide; ++i)
      _mm512_store_ps(to[i], _mm512_add_ps(_mm512_load_ps(to[i]), scaled(square[i], factors, tokens[i])));
  }

  // 64 columns of all tokens, a row for four tokens: lane i of vector j, quarter q: column 16 q + 4 j + i of these.
  void interleave(const int8_t* codes, int8_t (&out)[kSide][kVectors][kTileBytes], Ahead& ahead) const {
    const int64_t stride = row_numbers(shape_);
    for (int32_t four = 0; four < kSide; ++four, codes += 4 * stride) {
      if (four % 4 == 0) ahead.ask();
      const __m512i a = _mm512_loadu_si512(codes), b = _mm512_loadu_si512(codes + stride);
      const __m512i c = _mm512_loadu_si512(codes + 2 * stride), d = _mm512_loadu_si512(codes + 3 * stride);
      const __m512i ab_low = _mm512_unpacklo_epi8(a, b), ab_high = _mm512_unpackhi_epi8(a, b);
      const __m512i cd_low = _mm512_unpacklo_epi8(c, d), cd_high = _mm512_unpackhi_epi8(c, d);
      _mm512_store_si512(out[four][0], _mm512_unpacklo_epi16(ab_low, cd_low));
      _mm512_store_si512(out[four][1], _mm512_unpackhi_epi16(ab_low, cd_low));
      _mm512_store_si512(out[four][2], _mm512_unpacklo_epi16(ab_high, cd_high));
      _mm512_store_si512(out[four][3], _mm512_unpackhi_epi16(ab_high, cd_high));
    }
  }

  static void add_sums(const Square (&out)[kVectors], int32_t count, const float* keep, const float* factors,
                       float* sums) {
    for (int32_t i = 0; i < count; ++i) {
      const __m512 kept = _mm512_set1_ps(keep[i]), factor = _mm512_set1_ps(factors[i]);
#pragma GCC unroll 4
      for (int32_t j = 0; j < kVectors; ++j, sums += kSide)
        _mm512_store_ps(sums,
                        _mm512_fmadd_ps(Vec::load_ints(out[j][i]), factor, _mm512_mul_ps(_mm512_load_ps(sums), kept)));
    }
  }

  // Quarters back in the order of columns.
  static void store_columns(const float* sums, float* to) {
    const __m512 v0 = _mm512_load_ps(sums), v1 = _mm512_load_ps(sums + 16);
    const __m512 v2 = _mm512_load_ps(sums + 32), v3 = _mm512_load_ps(sums + 48);
    const __m512 a = _mm512_shuffle_f32x4(v0, v1, 0x44), b = _mm512_shuffle_f32x4(v0, v1, 0xee);
    const __m512 c = _mm512_shuffle_f32x4(v2, v3, 0x44), d = _mm512_shuffle_f32x4(v2, v3, 0xee);
    _mm512_storeu_ps(to, _mm512_shuffle_f32x4(a, c, 0x88));
    _mm512_storeu_ps(to + 16, _mm512_shuffle_f32x4(a, c, 0xdd));
    _mm512_storeu_ps(to + 32, _mm512_shuffle_f32x4(b, d, 0x88));
    _mm512_storeu_ps(to + 48, _mm512_shuffle_f32x4(b, d, 0xdd));
  }

  const HeadShape& shape_;
  const float size_;                  // of a product of two rotated vectors
  int8_t* turned_queries_ = nullptr;  // tiles, [tile][64 numbers]
  float* scales_ = nullptr;           // of queries, [2][kBlockQueries]
  float* sums_ = nullptr;             // [tile][64 columns][query]
  uint8_t* shares_ = nullptr;         // [kBlockQueries, kPageTokens]
  int8_t* row_codes_ = nullptr;       // [16, head_dim]: queries before they are turned
  QueryTiles all_;
};

}  // namespace

size_t code_tiles_bytes(const HeadShape& shape) {
  const bool fits = shape.head_dim % kTileBytes == 0 && shape.joined % kTileBytes == 0;
  return fits ? CodeTiles::bytes(shape) : 0;
}

std::unique_ptr<PageProducts> make_code_tiles(const HeadShape& shape, void* memory) {
  Parts parts(memory);
  return std::make_unique<CodeTiles>(shape, parts);
}

}  // namespace paceline::kernels::avx512
