// Where a head's keys and values lie in a page on the processor.
//
//   apart    keys [kv_head][token][head_dim], values [kv_head][head_dim][token]
//   joined   [kv_head][token][rotated values | other values | rotated keys]: attention's two products read one run of
//            head_dim numbers each, the second from the first number on, the first behind the rotated values
//   codes    apart, keys and values are both [kv_head][token][head_dim]; joined as above. For tables that interleave
//            codes keys and what is joined are [kv_head][token pair][8 numbers][token of two][number], values
//            [kv_head][16 numbers][8 tokens][number][token of eight]: operands of their products. Behind all codes of
//            keys, of values and of what is joined: scales [kv_head][token], float32, then joined those of the rotated
//            keys
#pragma once

#include <cstdint>

#include "kernels/cpu_table.h"
#include "kernels/ops.h"

namespace paceline::kernels {

// Numbers of a token in a page of keys; in codes also in one of values.
inline int32_t row_numbers(const HeadShape& shape) { return shape.head_dim + shape.joined; }

// A head's first number in a page of keys or values.
inline void* head_in(const HeadShape& shape, void* page, int32_t kv_head) {
  return static_cast<char*>(page) + static_cast<int64_t>(kv_head) * kPageTokens * row_numbers(shape) *
                                        static_cast<int64_t>(dtype_bytes(shape.kv_dtype));
}

// How codes lie: of keys and of what is joined, and of values that lie apart.
inline bool interleaves_codes(const CpuTable& table, const HeadShape& shape) {
  return table.interleaves_codes && shape.head_dim % 16 == 0 && shape.joined % 16 == 0;
}
inline CodeOrder key_order(const CpuTable& table, const HeadShape& shape) {
  return interleaves_codes(table, shape) ? CodeOrder::pairs : CodeOrder::rows;
}
inline CodeOrder value_order(const CpuTable& table, const HeadShape& shape) {
  if (shape.joined > 0) return key_order(table, shape);
  return interleaves_codes(table, shape) ? CodeOrder::eights : CodeOrder::rows;
}

// A head's scales [kPageTokens] in a page of codes.
inline float* scales_in(const HeadShape& shape, void* page, int32_t kv_head, bool rotated_keys = false) {
  auto* scales = reinterpret_cast<float*>(static_cast<char*>(page) +
                                          static_cast<int64_t>(shape.kv_heads) * kPageTokens * row_numbers(shape));
  return scales + static_cast<int64_t>(kv_head + (rotated_keys ? shape.kv_heads : 0)) * kPageTokens;
}

}  // namespace paceline::kernels
