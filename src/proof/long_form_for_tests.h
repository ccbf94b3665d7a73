// Whether tests shall do all that they can, in minutes rather than seconds.
#pragma once

#include <cstdlib>

namespace paceline {

inline bool long_form() { return std::getenv("PACELINE_TEST_LONG") != nullptr; }

}  // namespace paceline
