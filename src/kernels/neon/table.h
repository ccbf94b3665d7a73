#pragma once

#include "kernels/cpu_table.h"

namespace paceline::kernels::neon {

const CpuTable& table();          // dot products, i8mm and bf16 instructions
const CpuTable& dotprod_table();  // dot products only

}  // namespace paceline::kernels::neon
