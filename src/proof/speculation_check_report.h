// What a check of speculation found, as a table for people and as JSON for programs.
#pragma once

#include <boost/json/fwd.hpp>
#include <span>
#include <string>

#include "proof/speculation_check.h"

namespace paceline {

std::string speculation_table(std::span<const SpeculationCheck> checks);
boost::json::array speculation_json(std::span<const SpeculationCheck> checks);

}  // namespace paceline
