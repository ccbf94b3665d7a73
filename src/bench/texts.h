// What is written while speculation and the engine are measured: texts of five kinds, of which drafters guess some far
// better than others.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bench/target.h"
#include "engine/request.h"

namespace paceline {

// Texts of one kind: run one after another, counted as one.
struct BenchText {
  std::string name;
  std::vector<Request> requests;
};

// prose, code, arithmetic, JSON, copying: as a chat where the model has a template for it, else to be continued. They
// end where the model ends them: what it would say after that is no measure. For a target without a tokenizer, tokens
// by chance.
Result<std::vector<BenchText>> bench_texts(const BenchTarget& target, const SampleSettings& sampling,
                                           int32_t max_tokens);

// The same questions as texts: those of a kind, or all.
std::vector<std::string> bench_kinds();
std::vector<std::string> bench_prompts(std::string_view kind = "");

}  // namespace paceline
