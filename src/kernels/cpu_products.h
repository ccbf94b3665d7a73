// Attention's two products with a page, for some queries of one KV head: one form for each way in which pages lie
// (cpu_pages.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/cpu_table.h"
#include "kernels/ops.h"

namespace paceline::kernels {

// The most queries (rows times heads of one KV head) that share a walk, and how many do unless a table says otherwise:
// what they hold lies in the second cache beside a page.
inline constexpr int32_t kBlockQueries = 128;
inline constexpr int32_t kFewBlockQueries = 64;

// Bytes in whole lines of the cache.
constexpr size_t in_lines(size_t bytes) { return (bytes + 63) / 64 * 64; }

// A head's part of a page.
struct HeadPage {
  const KvPages* pages = nullptr;
  int32_t page = 0;
  int32_t kv_head = 0;
  void* ahead = nullptr;  // the page that is wanted next: asked for by those that can; may be none
};

class PageProducts {
 public:
  virtual ~PageProducts() = default;
  // q [queries, head_dim], as heads() leaves them; up to kBlockQueries. A walk begins.
  virtual void set_queries(const float* q, int32_t queries) = 0;
  // scores [queries, kPageTokens]: tokens [begin, end), begin a multiple of kOutputTile; the others may be anything.
  virtual void score(const HeadPage& at, int32_t begin, int32_t end, float* scores) = 0;
  // out = out * keep + shares · values; shares [queries, kPageTokens], out [queries, head_dim]
  virtual void add_values(const HeadPage& at, const float* shares, const float* keep, float* out) = 0;
  // A walk ends: sums that were kept elsewhere, in an order of their own, go to out.
  virtual void finish(float* /*out*/) {}
};

// memory: products_bytes, aligned to 64; it outlives them.
size_t products_bytes(const CpuTable& table, const HeadShape& shape);
std::unique_ptr<PageProducts> make_products(const CpuTable& table, const HeadShape& shape, void* memory);

// Those with pages of codes.
size_t coded_products_bytes(const HeadShape& shape);
std::unique_ptr<PageProducts> make_coded_products(const CpuTable& table, const HeadShape& shape, void* memory);

}  // namespace paceline::kernels
