#include "model/rope.h"

#include <cmath>

namespace paceline {

RopeTable RopeRows::table(kernels::Ops& ops, const RopeConfig& config, int32_t head_dim) {
  if (ready_dim_ == head_dim) return {cos_.data(), sin_.data()};
  ready_dim_ = head_dim;
  const int32_t pairs = head_dim / 2;
  const int32_t turning = config.rotated_pairs(head_dim);
  frequencies_.assign(static_cast<size_t>(pairs), 0.0f);
  for (int32_t i = 0; i < turning; ++i)
    frequencies_[static_cast<size_t>(i)] = static_cast<float>(1.0 / std::pow(config.theta, 2.0 * i / head_dim));
  return make(ops);
}

RopeTable RopeRows::table(kernels::Ops& ops, double theta, int32_t turned, const std::optional<Yarn>& yarn) {
  if (ready_dim_ == turned) return {cos_.data(), sin_.data()};
  ready_dim_ = turned;
  frequencies_ = rope_frequencies(theta, turned, yarn);
  return make(ops);
}

RopeTable RopeRows::make(kernels::Ops& ops) {
  const auto floats = static_cast<int64_t>(positions_.size() * frequencies_.size());
  float* cos = cos_.sized(ops, floats);
  float* sin = sin_.sized(ops, floats);
  ops.rope({positions_, frequencies_, cos, sin});
  return {cos, sin};
}

}  // namespace paceline
