// Tiles of AMX: eight registers of 16 rows by 64 bytes, and products of bytes, which are added up exactly, and of bf16.
// Their numbers are part of the instructions.
#pragma once

#include <cstdint>

namespace paceline::kernels::avx512 {

inline constexpr int32_t kTileRows = 16;
inline constexpr int32_t kTileBytes = 64;

// What tiles look like until it goes: for the length of one product of matrices. Tiles 0 … 3 are results of `rows` rows
// by 16 outputs, 4 and 5 have 64 columns of as many rows of x, and 6 and 7 the same columns of weights, four of 16
// outputs in each row.
class Tiles {
 public:
  explicit Tiles(int32_t rows) {
    Shape shape;
    for (int i = 0; i < 8; ++i) {
      shape.rows[i] = static_cast<uint8_t>(i < 6 ? rows : kTileRows);
      shape.row_bytes[i] = static_cast<uint16_t>(kTileBytes);
    }
    asm volatile("ldtilecfg %0" : : "m"(shape));
  }
  ~Tiles() { asm volatile("tilerelease"); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;

 private:
  struct alignas(64) Shape {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {};
    uint8_t rows[16] = {};
  };
};

template <int kTile>
inline void clear_tile() {
  asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
}
template <int kTile>
inline void load_tile(const void* p, int64_t stride) {
  asm volatile("tileloadd (%1,%2,1), %%tmm%c0" : : "i"(kTile), "r"(p), "r"(stride) : "memory");
}
template <int kTile>
inline void store_tile(void* p) {
  asm volatile("tilestored %%tmm%c0, (%1,%2,1)" : : "i"(kTile), "r"(p), "r"(int64_t{kTileBytes}) : "memory");
}
// Adds signed bytes of x times unsigned ones of w.
template <int kTo, int kX, int kW>
inline void add_products() {
  asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kTo), "i"(kX), "i"(kW));
}
// The same of signed bytes of both, and of unsigned ones of x and signed ones of w.
template <int kTo, int kX, int kW>
inline void add_signed_products() {
  asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kTo), "i"(kX), "i"(kW));
}
template <int kTo, int kX, int kW>
inline void add_unsigned_products() {
  asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kTo), "i"(kX), "i"(kW));
}
// Adds products of bf16, in float32, rounded to nearest and with nothing subnormal: a row of a times a column of b,
// which has two neighbouring k of 16 columns in each row. An order of its own, the same for each element.
template <int kTo, int kA, int kB>
inline void add_bf16_products() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kTo), "i"(kA), "i"(kB));
}

}  // namespace paceline::kernels::avx512
