// Vector instructions that run in the order in which they are written: compilers bring an operand's beginning close to
// its use, to save registers, and know another processor's latencies.
#pragma once

#include <arm_neon.h>

namespace paceline::kernels::neon::in_order {

template <class Vector, class Element>
[[gnu::always_inline]] inline Vector load(const Element* p) {
  Vector v;
  asm volatile("ldr %q0, %1" : "=w"(v) : "m"(*reinterpret_cast<const Vector*>(p)));
  return v;
}

[[gnu::always_inline]] inline uint8x16_t bits_of(uint8x16_t bytes, uint8x16_t mask) {
  uint8x16_t v;
  asm volatile("and %0.16b, %1.16b, %2.16b" : "=w"(v) : "w"(bytes), "w"(mask));
  return v;
}

[[gnu::always_inline]] inline uint8x16_t upper_halves(uint8x16_t bytes) {
  uint8x16_t v;
  asm volatile("ushr %0.16b, %1.16b, #4" : "=w"(v) : "w"(bytes));
  return v;
}

// sum += the 2x2 products of two rows of eight and two rows of eight.
[[gnu::always_inline]] inline void add_products(int32x4_t& sum, uint8x16_t w, int8x16_t x) {
  asm volatile("usmmla %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(w), "w"(x));
}

[[gnu::always_inline]] inline float32x4_t subtract(float32x4_t a, float32x4_t b) {
  float32x4_t v;
  asm volatile("fsub %0.4s, %1.4s, %2.4s" : "=w"(v) : "w"(a), "w"(b));
  return v;
}

[[gnu::always_inline]] inline float32x4_t multiply(float32x4_t a, float32x4_t b) {
  float32x4_t v;
  asm volatile("fmul %0.4s, %1.4s, %2.4s" : "=w"(v) : "w"(a), "w"(b));
  return v;
}

// sum += a * b, rounded once.
[[gnu::always_inline]] inline void multiply_add(float32x4_t& sum, float32x4_t a, float32x4_t b) {
  asm volatile("fmla %0.4s, %1.4s, %2.4s" : "+w"(sum) : "w"(a), "w"(b));
}

}  // namespace paceline::kernels::neon::in_order
