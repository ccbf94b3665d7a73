#pragma once

#include "kernels/cpu_table.h"

namespace paceline::kernels::avx2 {

const CpuTable& table();
// For processors with dot products of bytes.
const CpuTable& vnni_table();

}  // namespace paceline::kernels::avx2
