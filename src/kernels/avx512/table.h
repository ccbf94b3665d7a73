#pragma once

#include "kernels/cpu_table.h"

namespace paceline::kernels::avx512 {

const CpuTable& table();
// For processors without dot products of bf16.
const CpuTable& vnni_table();

}  // namespace paceline::kernels::avx512
