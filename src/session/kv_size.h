// How much memory keys and values get.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "engine/engine_settings.h"
#include "model/forward.h"
#include "speculate/drafter.h"

namespace paceline {

// What seems right where nobody says: of a device all that is free once steps have what they scribble on (see
// largest_steps.h), of the host half of it within bounds. (Weights that were mapped come and go with their use, and
// count as free.)
size_t automatic_kv_bytes(const Forward& forward, const EngineSettings& settings);
// The same for one request at a time, however long, with drafts: of the host only as much is taken as is used, but
// where addresses are limited, half of those that are left. drafter: may be none.
size_t kv_bytes_for_one(const Forward& forward, const Drafter* drafter, const EngineSettings& settings);

// Of the host, said behind what was wanted and is not there.
std::string what_is_free();

// An error where not even the smallest request could ever run, with both numbers.
Status check_kv_bytes(size_t bytes, const Forward& forward);

}  // namespace paceline
