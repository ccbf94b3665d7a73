// From the options of `paceline serve` to the models that it can serve.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/serve_options.h"
#include "server/model_shelf.h"

namespace paceline {

struct ServedModels {
  std::vector<ShelfEntry> entries;
  std::vector<std::string> at_start;  // names of those to be loaded before anybody asks
  size_t budget_bytes = 0;            // 0: no limit
};

Result<ServedModels> find_served_models(const ServeOptions& options);

}  // namespace paceline
