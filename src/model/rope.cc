#include "model/rope.h"

#include <cmath>

namespace paceline {

RopeTable RopeRows::table(const RopeConfig& config, int32_t head_dim) {
  if (ready_dim_ == head_dim) return {cos_.data(), sin_.data()};
  ready_dim_ = head_dim;
  const int32_t pairs = head_dim / 2;
  const auto turning = static_cast<int32_t>(config.partial_factor * head_dim / 2);
  frequencies_.assign(static_cast<size_t>(pairs), 0.0f);
  for (int32_t i = 0; i < turning; ++i)
    frequencies_[static_cast<size_t>(i)] = static_cast<float>(1.0 / std::pow(config.theta, 2.0 * i / head_dim));
  cos_.resize(positions_.size() * static_cast<size_t>(pairs));
  sin_.resize(cos_.size());
  size_t at = 0;
  for (const int32_t pos : positions_) {
    for (const float frequency : frequencies_) {
      const float angle = static_cast<float>(pos) * frequency;
      cos_[at] = std::cos(angle);
      sin_[at++] = std::sin(angle);
    }
  }
  return {cos_.data(), sin_.data()};
}

}  // namespace paceline
