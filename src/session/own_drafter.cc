#include "session/own_drafter.h"

#include "speculate/qwen_mtp/qwen_mtp_drafter.h"

namespace paceline {

Result<std::unique_ptr<Drafter>> make_own_drafter(Forward& target, ThreadPool& pool) {
  const auto weights = qwen::as_qwen(target.weights());
  if (weights == nullptr || !qwen::has_mtp(*weights)) return std::unique_ptr<Drafter>();
  TRY_ASSIGN(auto bound, qwen::bind_mtp(*weights, pool));
  std::unique_ptr<Drafter> drafter =
      std::make_unique<QwenMtpDrafter>(std::make_unique<qwen::MtpForward>(std::move(bound), target));
  return drafter;
}

}  // namespace paceline
