// Attention's products with pages of bf16 by tiles of AMX, 16 queries at a time.
//
// Scores: rows of a page are a tile as they lie, 16 tokens by 32 numbers; queries are turned once for a walk, so that a
// row of a tile has two neighbouring numbers of 16 queries. Results are [token][query], and are turned back.
// Values apart: likewise, 16 numbers by 32 tokens, and what is turned are the shares of a page. Sums are kept as
// results lie, [number][query].
// Values where they are keys: shares are rows, and 32 numbers of two tokens at a time are interleaved, once for all
// queries. Sums are kept [16 queries][16 numbers], in the order in which interleaving leaves numbers.
// Either way products are added to the sums of the pages before, inside the tiles.
//
// Order of one sum: that of the instruction, numbers and tokens ascending by 32; a query is a column or a row of its
// own, so whoever shares its tile, or nobody, changes no bit.
// Bound: bytes for up to some forty queries of a KV head, at 16 cycles for 16 by 16 by 32 products. Next to that
// memory's latency: what comes next is asked for in the order in which it lies, a part for each tile.
#include "kernels/avx512/page_tiles.h"

#include <immintrin.h>

#include <cstring>

#include "kernels/avx512/tile_pages.h"
#include "kernels/cpu_pages.h"

namespace paceline::kernels::avx512 {
namespace {

constexpr int32_t kDepth = kTileBytes / 2;        // numbers of bf16 in a tile's row
constexpr int32_t kTileNumbers = kSide * kDepth;  // of a tile
constexpr int32_t kHalves = kPageTokens / kDepth;

using Square = float[kSide][kSide];

void narrow(const float* x, int32_t count, uint16_t* y) {
  for (int32_t i = 0; i < count; i += 32) {
    const __m512bh both = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + i + 16), _mm512_loadu_ps(x + i));
    _mm512_storeu_si512(y + i, reinterpret_cast<__m512i>(both));
  }
}

class PageTiles : public PageProducts {
 public:
  static size_t bytes(const HeadShape& shape) {
    Parts none(nullptr);
    (void)PageTiles(shape, none);
    return none.used();
  }

  PageTiles(const HeadShape& shape, Parts& memory) : shape_(shape) {
    const size_t dim = static_cast<size_t>(shape.head_dim);
    memory.take(turned_queries_, kBlockQueries * dim);
    memory.take(sums_, kBlockQueries * dim);
    memory.take(shares_, size_t{kBlockQueries} * kPageTokens);
    memory.take(turned_, size_t{kBlockQueries} * kPageTokens);
    memory.take(rows_, dim * kSide);
  }

  void set_queries(const float* q, int32_t queries) override {
    const int32_t dim = shape_.head_dim;
    all_.queries = queries;
    std::memset(sums_, 0, static_cast<size_t>(tiles()) * kSide * static_cast<size_t>(dim) * sizeof(float));
    if (shape_.joined > 0) std::memset(shares_, 0, static_cast<size_t>(tiles()) * kSide * kPageTokens * 2);
    for (int32_t tile = 0; tile < tiles(); ++tile) {
      const int32_t count = all_.count(tile);
      narrow(q + int64_t{tile} * kSide * dim, count * dim, rows_);
      for (int32_t k = 0; k < dim; k += kDepth) turn_rows_of(rows_ + k, dim * 2, count, queries_at(tile, k));
    }
  }

  void score(const HeadPage& at, int32_t begin, int32_t end, float* scores) override {
    const int32_t numbers = row_numbers(shape_);
    const auto* keys =
        static_cast<const uint16_t*>(head_in(shape_, at.pages->keys_of(at.page), at.kv_head)) + shape_.joined;
    const int32_t first = begin / kSide, last = (end + kSide - 1) / kSide;
    Ahead ahead = ahead_of(at, (last - first) * (shape_.head_dim / kDepth));
    const Tiles tiles_of_amx(kTileRows);
    int32_t t = first;
    if (tiles() == 1)
      for (; t + 4 <= last; t += 4) score_tiles<4, 1>(keys, numbers, t, 0, ahead, scores);
    for (; t + 2 <= last; t += 2) score_all<2>(keys, numbers, t, ahead, scores);
    for (; t < last; ++t) score_all<1>(keys, numbers, t, ahead, scores);
  }

  void add_values(const HeadPage& at, const float* shares, const float* keep, float* /*out*/) override {
    for (int32_t i = 0; i < all_.queries; ++i) narrow(shares + i * kPageTokens, kPageTokens, shares_ + i * kPageTokens);
    for (int32_t tile = 0; tile < tiles(); ++tile) keep_sums(tile, keep + tile * kSide);
    const Tiles tiles_of_amx(kTileRows);
    if (shape_.joined > 0)
      add_joined(at);
    else
      add_apart(at);
  }

  void finish(float* out) override {
    const int32_t dim = shape_.head_dim;
    for (int32_t tile = 0; tile < tiles(); ++tile, out += kSide * dim) {
      const int32_t count = all_.count(tile);
      if (shape_.joined == 0) {
        for (int32_t k = 0; k < dim; k += kSide) turn_back(sums_at(tile, k), count, out + k, dim);
        continue;
      }
      for (int32_t k = 0; k < dim; k += kDepth)
        for (int32_t i = 0; i < count; ++i) store_interleaved(sums_at(tile, k) + i * kSide, out + i * dim + k);
    }
  }

 private:
  [[nodiscard]] int32_t tiles() const { return all_.tiles(); }
  [[nodiscard]] uint16_t* queries_at(int32_t tile, int32_t k) const {
    return turned_queries_ + (int64_t{tile} * shape_.head_dim + k) * kSide;
  }
  // A square of sums begins at numbers that 16 divides.
  [[nodiscard]] float* sums_at(int32_t tile, int32_t k) const {
    return sums_ + (int64_t{tile} * shape_.head_dim + k) * kSide;
  }
  [[nodiscard]] uint16_t* turned_at(int32_t tile, int32_t half) const {
    return turned_ + (tile * kHalves + half) * kTileNumbers;
  }
  [[nodiscard]] Ahead ahead_of(const HeadPage& at, int32_t pieces) const {
    return {at.ahead == nullptr ? nullptr : head_in(shape_, at.ahead, at.kv_head),
            int64_t{kPageTokens} * row_numbers(shape_) * 2, pieces};
  }

  // NT times 16 tokens, which stay in the first cache, and all queries.
  template <int NT>
  void score_all(const uint16_t* keys, int64_t numbers, int32_t t, Ahead& ahead, float* scores) const {
    int32_t tile = 0;
    for (; tile + 2 <= tiles(); tile += 2) score_tiles<NT, 2>(keys, numbers, t, tile, ahead, scores);
    if (tile < tiles()) score_tiles<NT, 1>(keys, numbers, t, tile, ahead, scores);
  }

  // NT times 16 tokens from the t-th 16 on, NQ tiles of queries. Results are tiles 0 … 3, of the page 4 and 5, of
  // queries 6 and 7.
  template <int NT, int NQ>
  void score_tiles(const uint16_t* keys, int64_t numbers, int32_t t, int32_t tile, Ahead& ahead, float* scores) const {
    alignas(64) Square out[NT * NQ];
    times<NT * NQ>([]<int i>() { clear_tile<i>(); });
    const uint16_t* rows = keys + t * kSide * numbers;
    for (int32_t k = 0; k < shape_.head_dim; k += kDepth) {
      times<NQ>([&]<int q>() { load_tile<6 + q>(queries_at(tile + q, k), kTileBytes); });
      times<NT>([&]<int i>() {
        load_tile<4 + i % 2>(rows + i * kSide * numbers + k, numbers * 2);
        ahead.ask();
        times<NQ>([]<int q>() { add_bf16_products<i * NQ + q, 4 + i % 2, 6 + q>(); });
      });
    }
    times<NT * NQ>([&]<int i>() { store_tile<i>(out[i]); });
    for (int i = 0; i < NT; ++i)
      for (int q = 0; q < NQ; ++q)
        turn_back(out[i * NQ + q], all_.count(tile + q), scores + (tile + q) * kSide * kPageTokens + (t + i) * kSide,
                  kPageTokens);
  }

  // What times 1 is changes nothing.
  void keep_sums(int32_t tile, const float* keep) const {
    const int32_t count = all_.count(tile), dim = shape_.head_dim;
    const auto mask = static_cast<__mmask16>(0xffff >> (kSide - count));
    const __m512 factors = _mm512_mask_loadu_ps(_mm512_set1_ps(1), mask, keep);
    const __mmask16 changed = _mm512_cmp_ps_mask(factors, _mm512_set1_ps(1), _CMP_NEQ_UQ);
    if (changed == 0) return;
    float* sums = sums_at(tile, 0);
    if (shape_.joined == 0) {
      for (int32_t k = 0; k < dim; ++k, sums += kSide)
        _mm512_store_ps(sums, _mm512_mul_ps(_mm512_load_ps(sums), factors));
      return;
    }
    for (int32_t i = 0; i < count; ++i) {
      if ((changed >> i & 1) == 0) continue;
      const __m512 factor = _mm512_set1_ps(keep[i]);
      for (int32_t k = 0; k < dim; k += kSide) {
        float* row = sums + k * kSide + i * kSide;
        _mm512_store_ps(row, _mm512_mul_ps(_mm512_load_ps(row), factor));
      }
    }
  }

  void add_apart(const HeadPage& at) const {
    const auto* values = static_cast<const uint16_t*>(head_in(shape_, at.pages->values_of(at.page), at.kv_head));
    for (int32_t tile = 0; tile < tiles(); ++tile)
      for (int32_t half = 0; half < kHalves; ++half)
        turn_rows_of(shares_ + tile * kSide * kPageTokens + half * kDepth, kPageTokens * 2, all_.count(tile),
                     turned_at(tile, half));
    Ahead ahead = ahead_of(at, shape_.head_dim / kSide);
    int32_t tile = 0;
    for (; tile + 2 <= tiles(); tile += 2) add_tiles<2>(values, tile, ahead);
    if (tile < tiles()) add_tiles<1>(values, tile, ahead);
  }

  // Results are tiles 0 and 1, of the page 2 and 3, of shares 4 … 7.
  template <int NQ>
  void add_tiles(const uint16_t* values, int32_t tile, Ahead& ahead) const {
    times<NQ>([&]<int q>() {
      load_tile<4 + 2 * q>(turned_at(tile + q, 0), kTileBytes);
      load_tile<5 + 2 * q>(turned_at(tile + q, 1), kTileBytes);
    });
    for (int32_t k = 0; k < shape_.head_dim; k += kSide, values += kSide * kPageTokens) {
      load_tile<2>(values, kPageTokens * 2);
      load_tile<3>(values + kDepth, kPageTokens * 2);
      ahead.ask();
      times<NQ>([&]<int q>() {
        float* sums = sums_at(tile + q, k);
        load_tile<q>(sums, kTileBytes);
        add_bf16_products<q, 2, 4 + 2 * q>();
        add_bf16_products<q, 3, 5 + 2 * q>();
        store_tile<q>(sums);
      });
    }
  }

  void add_joined(const HeadPage& at) const {
    const int32_t numbers = row_numbers(shape_);
    const auto* values = static_cast<const uint16_t*>(head_in(shape_, at.pages->keys_of(at.page), at.kv_head));
    alignas(64) uint16_t low[kHalves][kTileNumbers], high[kHalves][kTileNumbers];
    for (int32_t k = 0; k < shape_.head_dim; k += kDepth) {
      for (int32_t half = 0; half < kHalves; ++half)
        interleave(values + half * kDepth * numbers + k, numbers, low[half], high[half]);
      load_tile<4>(low[0], kTileBytes);
      load_tile<5>(low[1], kTileBytes);
      load_tile<6>(high[0], kTileBytes);
      load_tile<7>(high[1], kTileBytes);
      for (int32_t tile = 0; tile < tiles(); ++tile) {
        const uint16_t* shares = shares_ + tile * kSide * kPageTokens;
        float *sums = sums_at(tile, k), *more = sums + kSide * kSide;
        load_tile<2>(shares, kPageTokens * 2);
        load_tile<3>(shares + kDepth, kPageTokens * 2);
        load_tile<0>(sums, kTileBytes);
        load_tile<1>(more, kTileBytes);
        add_bf16_products<0, 2, 4>();
        add_bf16_products<1, 2, 6>();
        add_bf16_products<0, 3, 5>();
        add_bf16_products<1, 3, 7>();
        store_tile<0>(sums);
        store_tile<1>(more);
      }
    }
  }

  // 32 numbers of 32 tokens as two tiles, a row for two tokens; of each eight numbers the first four are in `low`.
  static void interleave(const uint16_t* from, int64_t stride, uint16_t* low, uint16_t* high) {
#pragma GCC unroll 4
    for (int32_t pair = 0; pair < kDepth / 2; ++pair, from += 2 * stride) {
      const __m512i a = _mm512_loadu_si512(from), b = _mm512_loadu_si512(from + stride);
      _mm512_store_si512(low + pair * kDepth, _mm512_unpacklo_epi16(a, b));
      _mm512_store_si512(high + pair * kDepth, _mm512_unpackhi_epi16(a, b));
    }
  }

  // A query's 32 numbers out of two squares so interleaved.
  static void store_interleaved(const float* sums, float* to) {
    const __m512 low = _mm512_load_ps(sums), high = _mm512_load_ps(sums + kSide * kSide);
    const __m512i first = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
    const __m512i second = _mm512_setr_epi32(8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
    _mm512_storeu_ps(to, _mm512_permutex2var_ps(low, first, high));
    _mm512_storeu_ps(to + kSide, _mm512_permutex2var_ps(low, second, high));
  }

  const HeadShape& shape_;
  uint16_t* turned_queries_ = nullptr;  // tiles, [tile][32 numbers]
  float* sums_ = nullptr;               // squares, [tile][16 numbers]
  uint16_t* shares_ = nullptr;          // [kBlockQueries, kPageTokens]
  uint16_t* turned_ = nullptr;          // the same turned, [tile][half]
  uint16_t* rows_ = nullptr;            // [16, head_dim]: queries before they are turned
  QueryTiles all_;
};

}  // namespace

size_t page_tiles_bytes(const HeadShape& shape) {
  if (shape.kv_dtype == DType::i8) return code_tiles_bytes(shape);
  const bool fits = shape.kv_dtype == DType::bf16 && shape.head_dim % kDepth == 0;
  return fits ? PageTiles::bytes(shape) : 0;
}

std::unique_ptr<PageProducts> make_page_tiles(const HeadShape& shape, void* memory) {
  if (shape.kv_dtype == DType::i8) return make_code_tiles(shape, memory);
  Parts parts(memory);
  return std::make_unique<PageTiles>(shape, parts);
}

}  // namespace paceline::kernels::avx512
