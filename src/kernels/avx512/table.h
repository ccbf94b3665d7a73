#pragma once

#include "kernels/cpu_table.h"

namespace paceline::kernels::avx512 {

const CpuTable& table();

}  // namespace paceline::kernels::avx512
