// The `quantization` object that MLX reads from config.json.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "weights/quantizer.h"

namespace paceline {

// config.json with `quantization` and `quantization_config` added. `overrides`: modules whose spec is another, by MLX's
// name. A config that is quantised already is an error.
Result<std::string> add_quantization(std::string_view config_json, QuantSpec spec,
                                     const std::map<std::string, QuantSpec>& overrides);

}  // namespace paceline
