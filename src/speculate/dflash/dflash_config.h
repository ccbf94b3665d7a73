// What the config.json of a DFlash drafter says, with every number checked and both places of a key resolved.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/model_weights.h"
#include "model/yarn.h"
#include "tensor/dtype.h"

namespace paceline {

struct DflashLayerConfig {
  bool sliding = false;
  bool causal = false;  // inside the block; the context is always before it

  bool operator==(const DflashLayerConfig&) const = default;
};

// DFlash 2 only.
struct DflashConvConfig {
  int32_t taps = 0;   // 0: no convolutions
  int32_t group = 0;  // channels that share a coefficient
};
struct DflashSelectorConfig {
  int32_t rank = 0;  // 0: no selector
  int32_t top = 0;   // candidates of a row
};

struct DflashConfig {
  std::string architecture;
  int32_t hidden = 0;
  int32_t vocab = 0;  // 0: it does not say
  int32_t heads = 0, kv_heads = 0, head_dim = 0;
  int32_t ffn = 0;
  float rms_eps = 1e-6f;
  double rope_theta = 10000;
  std::optional<Yarn> yarn;
  bool has_bias = false;
  int32_t window = 0;  // of sliding layers; 0: none
  std::vector<DflashLayerConfig> layers;

  int32_t block_size = 16;  // rows, the newest token's among them
  TokenId mask = 0;
  int32_t target_layers = 0;             // of the model that it was made for; 0: it does not say
  std::vector<int32_t> tapped;           // layers of the target whose output it reads; none: spread over all
  std::optional<float> embedding_scale;  // none: as the target's own
  std::optional<float> softcap;          // none: the target's
  float output_multiplier = 1;

  DflashConvConfig conv;
  DflashSelectorConfig selector;

  [[nodiscard]] int32_t layer_count() const { return static_cast<int32_t>(layers.size()); }
};

// architectures names a DFlash drafter, whether we can run it or not.
bool is_dflash_config(std::string_view config_json);
Result<DflashConfig> read_dflash_config(std::string_view config_json);

// The target's layers whose output is read, for a target of so many layers.
std::vector<int32_t> tapped_layers(const DflashConfig& config, int32_t target_layers);
// Whether the drafter was made for such a target. Where not, the error names what differs, with both values.
Status check_fits(const DflashConfig& drafter, const ModelWeights& target);

}  // namespace paceline
