// Compares what we read from GGUF files, and compute with it, with a folder of goldens: X.json says which files make up
// X, what values its tensors have and what follows from them; X.safetensors has logits. Beside them blocks of every
// type, encodings, and changes to a file that must be refused or survived.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "kernels/ops.h"
#include "model/forward.h"
#include "proof/golden_drafts.h"

namespace paceline {

// One X.json.
struct GgufFileCheck {
  std::string name;
  int tensors = 0, tensors_equal = 0;  // by the digests of their values
  int prompts = 0;
  double logit_error = 0;  // last positions
  int64_t tokens = 0, tokens_equal = 0;
  int sequences_missed = 0;
  bool configs_equal = true;
  DraftsCheck drafts;
  // Of a projector, the tensors of the checkpoint it was made from.
  int vision_tensors = 0, vision_tensors_equal = 0;
  std::string problem;  // what could not be run, and why

  [[nodiscard]] bool passed(Precision precision) const;
};

struct GgufCheck {
  std::vector<GgufFileCheck> files;
  int block_types = 0, block_types_equal = 0;
  int encodings = 0, encodings_equal = 0;
  int hostile = 0, hostile_as_said = 0;
  std::vector<std::string> hostile_problems;  // those that ended otherwise

  [[nodiscard]] bool passed(Precision precision) const;
};

// Whether there is a hostile.json, a blocks.safetensors or a .gguf in it.
bool has_gguf_goldens(const std::filesystem::path& folder);

// The checkpoints that drafters and projectors belong to are looked for in goldens/ beside the folder.
Result<GgufCheck> check_gguf_goldens(const std::filesystem::path& folder, Precision precision, ThreadPool& pool,
                                     kernels::Ops& ops);

// The parts, each for a folder that has it.
Result<GgufFileCheck> check_gguf_file(const std::filesystem::path& json, Precision precision, ThreadPool& pool,
                                      kernels::Ops& ops);
Status check_gguf_blocks(const std::filesystem::path& file, GgufCheck* check);
Status check_gguf_hostile(const std::filesystem::path& json, ThreadPool& pool, kernels::Ops& ops, GgufCheck* check);

}  // namespace paceline
