// Why an engine did not take a request, in words.
#pragma once

#include <cstddef>
#include <string>

#include "engine/engine.h"

namespace paceline {

std::string why_refused(const Submission& submission, size_t kv_bytes);

}  // namespace paceline
