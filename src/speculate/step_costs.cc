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

}  // namespace paceline
