// The models that lie on this machine, where -m would find them: in the Hugging Face caches, LM Studio's folder and
// Ollama's store, and the one that ships with the program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "weights/hub_cache.h"

namespace paceline {

struct ListedModel {
  std::string name;  // what to type after -m
  std::filesystem::path place;
  std::string type;     // "gemma4", "qwen3", …; empty where it cannot be read
  std::string format;   // what most of its bytes are in: "bf16", "Q4_K", "4 bits in groups of 64"
  uint64_t bytes = 0;   // of the weights files
  std::string drafter;  // the first that lies where drafters do; empty: none
  std::string problem;  // why it would be refused, as far as its files' heads say
  bool is_drafter = false;
};

std::vector<ListedModel> list_models(const HubCaches& caches);

}  // namespace paceline
