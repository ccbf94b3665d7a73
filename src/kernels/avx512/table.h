#pragma once

#include "kernels/cpu_table.h"

namespace paceline::kernels::avx512 {

const CpuTable& table();
// For processors without dot products of bf16.
const CpuTable& vnni_table();
// For those that have AMX besides, and a process that may use it.
const CpuTable& amx_table();

}  // namespace paceline::kernels::avx512
