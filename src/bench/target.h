// What `paceline bench` measures: a checkpoint, or a named shape with random weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/synthetic_maker.h"
#include "session/machine.h"
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

// What is heard meanwhile; either may be empty.
struct TargetNews {
  std::function<void(const std::string&)> tell;
  std::function<void(int64_t done, int64_t total)> arranging;
};

// Shapes that BenchSource::synthetic may name, of all families.
std::vector<std::string_view> synthetic_shapes();
SyntheticFormat synthetic_format(const BenchSource& source);
Result<BenchTarget> load_bench_target(const BenchSource& source, Machine& machine, const TargetNews& news);

}  // namespace paceline
