// What `paceline bench` measures: a checkpoint, or a named shape with random weights.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "kernels/ops.h"
#include "model/gemma4/synthetic.h"
#include "session/text_model.h"

namespace paceline {

struct BenchSource {
  std::string model;      // as for generate's -m; not with synthetic
  std::string synthetic;  // a shape's name
  std::string format = "q8";
  int32_t group = 64;
};

struct BenchTarget {
  std::string name;                             // for titles
  std::shared_ptr<const ModelWeights> weights;  // placed
  std::optional<TextModel> text;                // of a checkpoint
  std::filesystem::path folder;                 // likewise
};

SyntheticFormat synthetic_format(const BenchSource& source);
Result<BenchTarget> load_bench_target(const BenchSource& source, ThreadPool& pool, kernels::Ops& ops);

}  // namespace paceline
