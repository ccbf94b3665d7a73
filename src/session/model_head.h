// What a model is, as far as the heads of its files say: to be listed, and weighed, before it is loaded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "weights/hub_cache.h"

namespace paceline {

struct ModelHead {
  std::filesystem::path place;
  std::string type;            // "gemma4", "qwen3", …; empty where it cannot be read
  std::string format;          // what most of its bytes are in: "bf16", "Q4_K", "4 bits in groups of 64"
  uint64_t bytes = 0;          // of the weights files
  std::string drafter;         // the first that lies where drafters do; empty: none
  uint64_t drafter_bytes = 0;  // of all that are used
  std::string problem;         // why it would be refused
  bool is_drafter = false;
  int32_t context = 0, hidden = 0, vocab = 0;
  int64_t changed = 0;     // the newest of its files, in seconds since 1970
  int64_t parameters = 0;  // about: as many as its bytes can hold in that format
  bool takes_images = false, takes_videos = false;
};

ModelHead read_model_head(const std::filesystem::path& place, const HubCaches& caches);

}  // namespace paceline
