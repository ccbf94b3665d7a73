// A checkpoint folder of Gemma 4, its drafter or Qwen → a GGUF file with its matrices in blocks, and another for its
// vision side beside it, as other programs read them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "base/result.h"
#include "base/thread_pool.h"
#include "weights/checkpoint.h"
#include "weights/gguf/writing/gguf_recipe.h"

namespace paceline {

struct GgufSummary {
  int quantised = 0, kept = 0;  // tensors
  uint64_t bytes_before = 0, bytes_after = 0;
  std::filesystem::path vision;  // empty: there is none
};

// mmproj-NAME.gguf beside NAME.gguf.
std::filesystem::path gguf_vision_file(const std::filesystem::path& model);

// Neither file may exist; each appears complete or not at all, the model's last.
Result<GgufSummary> write_gguf(const Checkpoint& checkpoint, const std::filesystem::path& to, const GgufRecipe& recipe,
                               ThreadPool& pool, const std::function<void(int done, int total)>& progress = {});

}  // namespace paceline
