// The models that lie on this machine, where -m would find them: in the Hugging Face caches, LM Studio's folder and
// Ollama's store, and the one that ships with the program.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "session/model_head.h"
#include "weights/hub_cache.h"

namespace paceline {

struct ListedModel : ModelHead {
  std::string name;  // what to type after -m
};

std::vector<ListedModel> list_models(const HubCaches& caches);
// Every model in a folder, called as it lies there: NAME, or ORG/NAME; drafters are not among them.
std::vector<ListedModel> list_models_in(const std::filesystem::path& folder, const HubCaches& caches);

}  // namespace paceline
