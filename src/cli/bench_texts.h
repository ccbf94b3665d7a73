// What speculation is measured on: texts of five kinds, of which drafters guess some far better than others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/bench_speculation.h"
#include "session/text_model.h"

namespace paceline {

// prose, code, arithmetic, JSON, copying: as a chat where the model has a template for it, else to be continued. They
// end where the model ends them: what it would say after that is no measure.
Result<std::vector<BenchText>> bench_texts(const TextModel& model, const SampleSettings& sampling, int32_t max_tokens);

// The same questions as texts.
const std::vector<std::string>& bench_prompts();

// For a model without a tokenizer: tokens by chance.
std::vector<BenchText> random_bench_text(const ModelConfig& config, const SampleSettings& sampling, int32_t max_tokens);

}  // namespace paceline
