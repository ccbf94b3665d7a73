// How an engine was really put together, for whoever reports it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/engine_settings.h"

namespace paceline {

struct EngineDescription {
  EngineSettings settings;
  std::string kernels;    // the table in use
  std::string precision;  // bf16, f32
  std::string kv;         // what keys and values are kept in
  int32_t threads = 0;
  std::string drafter = "none";  // none, ngram, or how the drafters' folders are called
  std::string drafter_kind = "none";
  std::vector<std::filesystem::path> drafter_folders;
};

}  // namespace paceline
