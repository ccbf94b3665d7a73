// What a config.json of the Qwen family says of the text model, with all spellings resolved and every number checked.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/recurrent_ops.h"
#include "model/config.h"
#include "model/yarn.h"

namespace paceline::qwen {

// How a layer mixes tokens: attention, with or without a gate behind it, or Gated DeltaNet.
enum class Mixer : uint8_t { attention, delta };

struct LayerConfig {
  Mixer mixer = Mixer::attention;
  bool experts = false;  // instead of the dense FFN

  bool operator==(const LayerConfig&) const = default;
};

struct QwenConfig : ModelConfig {
  int32_t heads = 0, kv_heads = 0, head_dim = 0;
  int32_t ffn = 0;  // of layers without experts
  float rms_eps = 1e-6f;
  double rope_theta = 10000.0;
  std::optional<Yarn> yarn;
  int32_t rotary = 0;            // numbers of a head that turn, the first ones
  bool gates_attention = false;  // q_proj has a gate behind every head's query
  bool norms_from_one = false;   // norms multiply by 1 + weight
  std::vector<LayerConfig> layers;

  int32_t experts = 0;  // 0: dense
  int32_t experts_per_token = 0;
  int32_t expert_ffn = 0;
  bool divides_shares = true;  // of the chosen experts by their sum
  int32_t shared_ffn = 0;      // 0: no shared expert

  kernels::DeltaShape delta;

  bool tied_head = false;
  int32_t mtp_layers = 0;  // of its own drafter, as far as the config says
  int32_t quant_bits = 0, quant_group = 0;

  [[nodiscard]] int32_t layer_count() const { return static_cast<int32_t>(layers.size()); }
  [[nodiscard]] bool is_recurrent() const { return delta.kernel > 0; }

  bool operator==(const QwenConfig&) const = default;
};

}  // namespace paceline::qwen
