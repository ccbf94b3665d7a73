#include "speculate/dflash/dflash_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace paceline {
namespace {

Error differs(std::string_view what, int64_t drafter, int64_t target) {
  return Error{fmt::format("the drafter does not fit the model: {} is {} in the drafter, {} in the model", what,
                           drafter, target)};
}

}  // namespace

// From the second layer to the fourth last, evenly; halves to even.
std::vector<int32_t> tapped_layers(const DflashConfig& config, int32_t target_layers) {
  if (!config.tapped.empty()) return config.tapped;
  const int32_t count = config.layer_count();
  if (count == 1) return {target_layers / 2};
  std::vector<int32_t> tapped;
  for (int32_t i = 0; i < count; ++i)
    tapped.push_back(static_cast<int32_t>(std::nearbyint(1 + i * (target_layers - 4.0) / (count - 1))));
  return tapped;
}

Status check_fits(const DflashConfig& drafter, const ModelWeights& target) {
  const ModelConfig& model = target.facts();
  const LentEnds ends = target.lent_ends();
  if (ends.embedding == nullptr)
    return Error{fmt::format("a {} model lends no embedding to a {}", model.model_type, drafter.architecture)};
  if (drafter.hidden != model.hidden) return differs("the hidden size", drafter.hidden, model.hidden);
  if (drafter.vocab > 0 && drafter.vocab != model.vocab) return differs("the vocabulary", drafter.vocab, model.vocab);
  if (drafter.mask >= model.vocab) return differs("mask_token_id, below the vocabulary,", drafter.mask, model.vocab);
  if (drafter.selector.top > model.vocab)
    return differs("selector_top_k, within the vocabulary,", drafter.selector.top, model.vocab);
  if (drafter.target_layers > 0 && drafter.target_layers != ends.layers)
    return differs("the number of target layers", drafter.target_layers, ends.layers);
  const std::vector<int32_t> tapped = tapped_layers(drafter, ends.layers);
  const int32_t last = *std::max_element(tapped.begin(), tapped.end());
  // What comes out of the last layer would be read behind the final norm, which no published drafter asks for.
  if (last >= ends.layers - 1 || *std::min_element(tapped.begin(), tapped.end()) < 0)
    return Error{
        fmt::format("the drafter does not fit the model: it reads the output of target layer {}; of the model's {} "
                    "layers, those before the last can be read",
                    last, ends.layers)};
  return Done{};
}

}  // namespace paceline
