// What `paceline bench` measures: a checkpoint, or a named shape with random weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "session/machine.h"
#include "session/random_model.h"
#include "session/text_model.h"

namespace paceline {

struct BenchSource {
  std::string model;   // as for generate's -m; not with a random one
  RandomModel random;  // a shape's name, or none
};

struct BenchTarget {
  std::string name;                             // for titles
  std::shared_ptr<const ModelWeights> weights;  // placed
  std::optional<TextModel> text;                // of a checkpoint
  std::filesystem::path folder;                 // likewise
};

// What is heard meanwhile; either may be empty.
struct TargetNews {
  std::function<void(const std::string&)> tell;
  std::function<void(int64_t done, int64_t total)> arranging;
};

Result<BenchTarget> load_bench_target(const BenchSource& source, Machine& machine, const TargetNews& news);

}  // namespace paceline
