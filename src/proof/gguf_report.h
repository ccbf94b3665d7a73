// What a comparison with goldens of GGUF files found, as a table for people and as JSON for programs.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

#include "proof/gguf_goldens.h"

namespace paceline {

std::string gguf_table(const GgufCheck& check, Precision precision);
boost::json::object gguf_json(const GgufCheck& check, Precision precision);

}  // namespace paceline
