// What `paceline inspect` says of a checkpoint: what it is, how its weights are kept, what it costs in memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/gemma4/mtp_weights.h"
#include "model/load.h"
#include "model/report_parts.h"

namespace paceline {

// Layers of equal form.
struct LayerGroup {
  LayerConfig form;        // of the first of them
  bool shares_kv = false;  // reads another layer's keys and values
  std::vector<int32_t> layers;
};

struct ModelReport {
  std::string folder;
  Gemma4Config config;
  // Of a drafter: its target's hidden size (0: not a drafter), and its ordered embeddings, if any.
  int32_t backbone = 0;
  int32_t centroids = 0, centroid_top_k = 0;
  std::vector<LayerGroup> layer_groups;
  std::vector<MatrixGroup> matrix_groups;
  int64_t parameters = 0;     // of the text model's matrices
  uint64_t file_bytes = 0;    // all weights files, media parts included
  uint64_t weight_bytes = 0;  // the text model
  uint64_t bytes_per_decode = 0;
  uint64_t kv_bytes_per_token = 0;  // bfloat16; global layers, what grows
  uint64_t kv_window_bytes = 0;     // bfloat16; sliding layers
  std::string quantisation;         // who did it; empty where nobody did
  std::string sha256;               // empty where it was not asked for
};

// Weights, and keys and values of one sequence of `tokens`.
uint64_t memory_needed(const ModelReport& report, int64_t tokens);

Result<ModelReport> make_report(const LoadedModel& model, Hashing hashing);
Result<ModelReport> make_report(const MtpWeights& drafter, const Checkpoint& checkpoint, Hashing hashing);

std::string report_text(const ModelReport& report);
// kernels: the table that this machine would run it with.
std::string report_json(const ModelReport& report, std::string_view kernels);

// [0, 1, 2, 5] → "0-2, 5"
std::string number_ranges(const std::vector<int32_t>& numbers);

}  // namespace paceline
