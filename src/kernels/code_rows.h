// Keys and values in codes of 8 bits, as attention's products read them from a page.
#pragma once

#include <cstdint>

#include "kernels/ops.h"

namespace paceline::kernels {

// How the codes of a page's tokens lie.
enum class CodeOrder : uint8_t {
  rows,    // token by token
  pairs,   // two tokens side by side, 8 numbers of each in turn
  eights,  // of 16 numbers all tokens, eight of them side by side, number by number
};

// Rows of codes, one for each token of a page.
struct CodeRows {
  const int8_t* codes = nullptr;
  int64_t stride = 0;             // numbers of a token
  int32_t cols = 0;               // of them that are meant; in pairs a multiple of 8
  const int8_t* ahead = nullptr;  // codes that lie alike and are wanted next; may be none
  CodeOrder order = CodeOrder::rows;
};

// Where a token's number lies.
constexpr int64_t code_at(CodeOrder order, int64_t stride, int32_t token, int32_t number) {
  switch (order) {
    case CodeOrder::rows: return token * stride + number;
    case CodeOrder::pairs: return token / 2 * 2 * stride + number / 8 * 16 + token % 2 * 8 + number % 8;
    case CodeOrder::eights: return number / 16 * 16 * kPageTokens + token / 8 * 128 + number % 16 * 8 + token % 8;
  }
  return 0;
}

}  // namespace paceline::kernels
