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

// What random weights may be in, as --format calls it. q4_k_m: like the files of that name, but with all of v and down
// in six bits and not half of them.
struct SyntheticFormatName {
  const char* name;
  WeightFormat format;
  WeightFormat wide = WeightFormat::none;
};
inline constexpr SyntheticFormatName kSyntheticFormats[] = {
    {"bf16", WeightFormat::bf16},
    {"q8", WeightFormat::q8},
    {"q4", WeightFormat::q4},
    {"q8_0", WeightFormat::q8_0},
    {"q4_0", WeightFormat::q4_0},
    {"q4_1", WeightFormat::q4_1},
    {"q5_0", WeightFormat::q5_0},
    {"q5_1", WeightFormat::q5_1},
    {"iq4_nl", WeightFormat::iq4_nl},
    {"mxfp4", WeightFormat::mxfp4},
    {"q2_k", WeightFormat::q2_k},
    {"q3_k", WeightFormat::q3_k},
    {"q4_k", WeightFormat::q4_k},
    {"q5_k", WeightFormat::q5_k},
    {"q6_k", WeightFormat::q6_k},
    {"iq4_xs", WeightFormat::iq4_xs},
    {"q4_k_m", WeightFormat::q4_k, WeightFormat::q6_k},
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
