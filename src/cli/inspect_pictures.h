// What a model is given of picture files: their size, the grid they are resized to, and how many tokens that takes.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "session/vision.h"

namespace paceline {

// A line for each, or one JSON object. budget: of soft tokens; 0: what the model's files say.
Result<std::string> inspect_pictures(const Vision& vision, const std::vector<std::string>& files, int32_t budget,
                                     bool json);

}  // namespace paceline
