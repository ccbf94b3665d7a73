// Activations as plain C++ prepares them. Also where the layout of quantised rows is defined for every table that has
// no better one: rows of int8, then one scale and one scaled sum per group.
#pragma once

#include "kernels/cpu_table.h"

namespace paceline::kernels::portable {

size_t act_bytes(const ActShape& shape);
void prepare(const Act& act, const float* x, int64_t ldx, int32_t row_begin, int32_t row_end);

// Quantises one group: q[i] = round(x[i] / scale), scale = max|x| / 127. Returns the scale; `sum` gets Σ q.
float quantise_group(const float* x, int32_t count, int8_t* q, int32_t& sum);

// The parts of an int8 act. sums[r, g] is the group's Σ q times its scale.
struct QuantisedRows {
  int8_t* q;      // [rows, cols]
  float* scales;  // [rows, cols / group]
  float* sums;    // [rows, cols / group]
};
QuantisedRows quantised_rows(const Act& act);

}  // namespace paceline::kernels::portable
