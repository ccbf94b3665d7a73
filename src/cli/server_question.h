// What a running server says of its models.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace paceline {

struct ServerModel {
  std::string name;
  std::vector<std::string> aliases;
  int32_t context = 0;  // tokens; 0: it does not say
  bool is_loaded = false;
};

// GET /v1/models below the URL; waits two seconds at most.
Result<std::vector<ServerModel>> ask_for_models(const std::string& url, const std::string& key);
// The one of this name; for "" one that is loaded, else the first.
inline const ServerModel* model_called(const std::vector<ServerModel>& models, const std::string& name) {
  const auto found = std::find_if(models.begin(), models.end(), [&](const ServerModel& model) {
    if (name.empty()) return model.is_loaded;
    return model.name == name || std::find(model.aliases.begin(), model.aliases.end(), name) != model.aliases.end();
  });
  if (found != models.end()) return &*found;
  return name.empty() && !models.empty() ? &models.front() : nullptr;
}

}  // namespace paceline
