#pragma once

#include "kernels/cpu_table.h"

namespace paceline::kernels::portable {

const CpuTable& table();

}  // namespace paceline::kernels::portable
