// Keys and values as a format would give them back that pages do not have: they are kept in float32 and rounded where
// they are written, from one head's vector of one token alone. All else is what the processor does.
#pragma once

#include <functional>
#include <span>

#include "kernels/cpu_ops.h"

namespace paceline {

// Part of a head's vector: keys or values of a token; joined, values in the order of blocks, and then rotated keys.
struct RoundedPart {
  const kernels::HeadShape& shape;
  bool is_rotated_keys = false;  // joined only
  std::span<float> numbers;
};

class RoundingOps : public kernels::CpuOps {
 public:
  using Round = std::function<void(const RoundedPart&)>;
  enum class Layers : uint8_t { all, global };

  RoundingOps(const kernels::CpuTable& table, ThreadPool& pool, Round round, Layers layers = Layers::all)
      : CpuOps(table, pool), round_(std::move(round)), layers_(layers) {}

  void heads(const kernels::HeadsArgs& args) override;

 private:
  void round_apart(const kernels::HeadShape& shape, const kernels::KvPages& pages, int32_t pos) const;
  void round_joined(const kernels::HeadShape& shape, const kernels::KvPages& pages, int32_t pos) const;

  Round round_;
  Layers layers_;
};

// 8-bit floats, four bits for every 32 numbers as they are, and four bits rotated; the last with rotated keys in codes
// of eight bits where keys and values are joined.
RoundingOps::Round e4m3_rounding();
RoundingOps::Round q4_0_rounding();
RoundingOps::Round q4_rounding();

}  // namespace paceline
