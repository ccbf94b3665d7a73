// `paceline quantize`: a checkpoint folder → the same folder with its linear weights and embeddings packed in 8 or 4
// bits, as paceline and MLX read it. Works tensor by tensor, so any checkpoint will do, drafters included.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/load.h"
#include "weights/quantizer.h"

namespace paceline {

struct QuantizeSummary {
  int quantised = 0;  // tensors of the source
  int kept = 0;       // copied as they were
  uint64_t bytes_before = 0;
  uint64_t bytes_after = 0;
};

// `to` must not exist; it appears complete or not at all.
Result<QuantizeSummary> quantize_checkpoint(const std::filesystem::path& from, const std::filesystem::path& to,
                                            QuantSpec spec, ThreadPool& pool, const Progress& progress = {});

}  // namespace paceline
