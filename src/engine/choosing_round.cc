#include "engine/choosing_round.h"

#include "engine/device_round.h"
#include "engine/host_round.h"

namespace paceline {

std::unique_ptr<ChoosingRound> ChoosingRound::make(const EngineParts& parts) {
  kernels::ChoosingOps* choosing = parts.forward->ops().choosing();
  if (choosing != nullptr) return std::make_unique<DeviceRound>(*parts.forward, *choosing);
  return std::make_unique<HostRound>(*parts.forward, *parts.pool);
}

}  // namespace paceline
