// How much memory keys and values get.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "kernels/ops.h"
#include "model/forward.h"

namespace paceline {

// What seems right where nobody says: of a device nearly all that is free, of the host half of it within bounds.
// (Weights that were mapped come and go with their use, and count as free.)
size_t automatic_kv_bytes(const kernels::Ops& ops);

// An error where not even the smallest request could ever run, with both numbers.
Status check_kv_bytes(size_t bytes, const Forward& forward);

}  // namespace paceline
