#include "speculate/step_costs.h"

#include <algorithm>
#include <bit>

namespace paceline {

int32_t StepCosts::context_class(int32_t context) {
  constexpr int32_t kShortest = 1024;
  const auto shortest = static_cast<uint32_t>(std::max(context, 0) / kShortest);
  return std::min(static_cast<int32_t>(std::bit_width(shortest)), kContexts - 1);
}

RoundCosts& StepCosts::at(int32_t context) {
  const auto index = static_cast<size_t>(context_class(context));
  std::optional<RoundCosts>& found = by_context_[index];
  if (found) return *found;
  for (size_t shorter = index; !found && shorter-- > 0;) found = by_context_[shorter];
  for (size_t longer = index + 1; !found && longer < by_context_.size(); ++longer) found = by_context_[longer];
  found = found ? RoundCosts{found->step.as_hint(), found->draft.as_hint()} : RoundCosts{};
  return *found;
}

BatchCosts& StepCosts::batch_at(int32_t context) {
  std::optional<BatchCosts>& found = batch_by_context_[static_cast<size_t>(context_class(context))];
  if (found) return *found;
  const RoundCosts& single = at(context);
  found.emplace();
  found->step = single.step.as_hint();
  // A draft's cost by their number: the first one's pass is the first draft.
  if (single.draft.ms(1) > 0) found->pass.observe(1, single.draft.ms(1));
  return *found;
}

}  // namespace paceline
