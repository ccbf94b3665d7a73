// What a comparison with goldens found, as a table for people and as JSON for programs.
#pragma once

#include <boost/json/fwd.hpp>
#include <span>
#include <string>

#include "proof/goldens.h"

namespace paceline {

std::string goldens_table(std::span<const GoldenCheck> checks, Precision precision);
boost::json::array goldens_json(std::span<const GoldenCheck> checks, Precision precision);

}  // namespace paceline
