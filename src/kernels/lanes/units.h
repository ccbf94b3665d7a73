// Codes of blocks (blocks_layout.h) from memory into registers: units, the codes of four columns of each output, one in
// a byte.
//
// A set has for it, on lanes of 32 bits,
//   all, both, either, up, down, down_by   a number in all lanes; bits of both, of either; shifts
//   look_up                                levels by codes in bytes
//   kAheadBytes                            how far ahead of its use memory is asked for
#pragma once

#include <cstdint>

#include "kernels/lanes/blocks_layout.h"

namespace paceline::kernels::lanes {

// f.template operator()<i>() for i in [begin, end): what is known when it is compiled, shifts above all.
template <int begin, int end, class F>
[[gnu::always_inline]] inline void repeat(const F& f) {
  if constexpr (begin < end) {
    f.template operator()<begin>();
    repeat<begin + 1, end>(f);
  }
}

// Bits from kFrom on in each byte, brought to kTo. What bytes lose to their neighbours is for a mask to take away.
template <class S, int kFrom, int kTo>
[[gnu::always_inline]] inline typename S::Int moved(typename S::Int v) {
  if constexpr (kFrom < kTo)
    return S::template up<kTo - kFrom>(v);
  else if constexpr (kFrom > kTo)
    return S::template down<kFrom - kTo>(v);
  else
    return v;
}

// `bits` bits from `from` on, in each byte.
[[gnu::always_inline]] constexpr int32_t byte_mask(int32_t from, int32_t bits) {
  return static_cast<int32_t>(((1u << bits) - 1) * 0x01010101u << from);
}

// Unit u of a run, of its vector of low bits and that of high ones.
template <class S, Codes kCodes, int u>
[[gnu::always_inline]] inline typename S::Int unit_of(typename S::Int low, typename S::Int high) {
  constexpr int kLow = low_bits(kCodes), kHigh = high_bits(kCodes);
  if constexpr (kLow == 8) return low;
  auto codes = S::both(moved<S, u * kLow % 8, 0>(low), S::all(byte_mask(0, kLow)));
  if constexpr (kHigh > 0)
    codes = S::either(S::both(moved<S, u * kHigh, kLow>(high), S::all(byte_mask(kLow, kHigh))), codes);
  if constexpr (kCodes == Codes::iq4_levels) codes = S::look_up(kIq4Levels, codes);
  if constexpr (kCodes == Codes::fp4_levels) codes = S::look_up(kFp4Levels, codes);
  return codes;
}

// Calls f.template operator()<u>(unit) for all units of a group, in their order. group: its number within the part
// whose values these are.
template <class S, Codes kCodes, int32_t kGroup, bool kFetches, class F>
[[gnu::always_inline]] inline void for_units(const uint8_t* values, int32_t group, const F& f) {
  using Int = typename S::Int;
  constexpr int kVector = sizeof(Int), kUnits = kGroup / 4, kRun = run_units(kCodes), kLow = low_vectors(kCodes);
  constexpr int kRunBytes = run_vectors(kCodes) * kVector, kOfVector = kRun / kLow;
  // i: the vector's number; a line of the cache is asked for once.
  const auto load = []<int i>(const uint8_t* p) __attribute__((always_inline)) {
    if constexpr (kFetches && i * kVector % 64 == 0) __builtin_prefetch(p + S::kAheadBytes);
    return S::load(p);
  };
  if constexpr (kRun > kUnits) {
    // Two groups have one vector of low bits each, and one of high bits together.
    static_assert(kRun == 2 * kUnits && kOfVector == kUnits);
    const auto odd = static_cast<int32_t>(static_cast<uint32_t>(group) % 2);
    const uint8_t* const run = values + static_cast<uint32_t>(group) / 2 * kRunBytes;
    const Int low = load.template operator()<0>(run + odd * kVector);
    const Int high = S::down_by(S::load(run + kLow * kVector), odd * kUnits * high_bits(kCodes));
    repeat<0, kUnits>([&]<int u>() __attribute__((always_inline)) {
      f.template operator()<u>(unit_of<S, kCodes, u>(low, high));
    });
  } else {
    constexpr int kRuns = kUnits / kRun;
    values += group * kRuns * kRunBytes;
    repeat<0, kRuns>([&]<int r>() __attribute__((always_inline)) {
      const uint8_t* const run = values + r * kRunBytes;
      Int high{};
      if constexpr (high_bits(kCodes) > 0)
        high = load.template operator()<r * run_vectors(kCodes) + kLow>(run + kLow * kVector);
      repeat<0, kLow>([&]<int v>() __attribute__((always_inline)) {
        const Int low = load.template operator()<r * run_vectors(kCodes) + v>(run + v * kVector);
        repeat<0, kOfVector>([&]<int i>() __attribute__((always_inline)) {
          constexpr int u = v * kOfVector + i;
          f.template operator()<r * kRun + u>(unit_of<S, kCodes, u>(low, high));
        });
      });
    });
  }
}

}  // namespace paceline::kernels::lanes
