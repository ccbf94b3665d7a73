// Formats of keys and values that pages do not have, as what comes back of a vector that was kept so: to say what ours
// are worth beside them.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kv_rotation.h"

namespace paceline::kernels::portable {

// The nearest float of four bits of exponent and three of fraction, of those up to 448.
float to_e4m3(float x);
// Each of them, with one scale for whatever there is.
void round_e4m3(std::span<float> x);
// Four bits with a scale in f16 for every 32 numbers (or fewer), the largest of which is -8 of it.
void round_q4_0(std::span<float> x);
// Rotated; four bits at the levels that suit a Gaussian best, with a scale in bf16 for every block. x: whole blocks
// from number `first` of a head on.
void round_q4(const Rotation& rotation, int32_t first, std::span<float> x);
// Rotated; what codes of eight bits give back.
void round_q8(const Rotation& rotation, int32_t first, std::span<float> x);

}  // namespace paceline::kernels::portable
