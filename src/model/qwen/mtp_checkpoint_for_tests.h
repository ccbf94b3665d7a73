// A golden model with a drafter of its own in its files, whose weights are chance.
#pragma once

#include <cstring>
#include <random>
#include <string>

#include "model/changed_checkpoint.h"

namespace paceline {

inline void add_random(ChangedCheckpoint& to, const std::string& name, std::vector<int64_t> shape, float scale) {
  static_assert(sizeof(float) == 4);
  to.add(name, DType::f32, std::move(shape));
  std::mt19937 random(static_cast<uint32_t>(std::hash<std::string>()(name)));
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<std::byte>& bytes = to.all.back().bytes;
  for (size_t at = 0; at < bytes.size(); at += sizeof(float)) {
    const float value = normal(random);
    std::memcpy(&bytes[at], &value, sizeof value);
  }
}

// golden: qwen35 or qwen35-moe; both are 96 wide, and have heads of 32, the first with two keys and values, the second
// with one.
inline ChangedCheckpoint with_random_mtp(const std::string& golden) {
  ChangedCheckpoint made(golden + "/target");
  const bool moe = golden == "qwen35-moe";
  const int64_t hidden = 96, query = 128, keys = moe ? 32 : 64;
  add_random(made, "mtp.fc.weight", {hidden, 2 * hidden}, 0.1f);
  for (const char* norm : {"pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm", "layers.0.input_layernorm",
                           "layers.0.post_attention_layernorm"})
    add_random(made, std::string("mtp.") + norm + ".weight", {hidden}, 0.2f);
  const std::string layer = "mtp.layers.0.";
  add_random(made, layer + "self_attn.q_proj.weight", {2 * query, hidden}, 0.1f);
  add_random(made, layer + "self_attn.k_proj.weight", {keys, hidden}, 0.1f);
  add_random(made, layer + "self_attn.v_proj.weight", {keys, hidden}, 0.1f);
  add_random(made, layer + "self_attn.o_proj.weight", {hidden, query}, 0.1f);
  add_random(made, layer + "self_attn.q_norm.weight", {32}, 0.2f);
  add_random(made, layer + "self_attn.k_norm.weight", {32}, 0.2f);
  const std::string dense = layer + (moe ? "mlp.shared_expert." : "mlp.");
  const int64_t ffn = moe ? 48 : 192;
  for (const char* part : {"gate_proj", "up_proj"}) add_random(made, dense + part + ".weight", {ffn, hidden}, 0.1f);
  add_random(made, dense + "down_proj.weight", {hidden, ffn}, 0.1f);
  if (!moe) return made;
  add_random(made, layer + "mlp.gate.weight", {8, hidden}, 0.1f);
  add_random(made, layer + "mlp.shared_expert_gate.weight", {1, hidden}, 0.1f);
  add_random(made, layer + "mlp.experts.gate_up_proj", {8, 64, hidden}, 0.1f);
  add_random(made, layer + "mlp.experts.down_proj", {8, hidden, 32}, 0.1f);
  return made;
}

}  // namespace paceline
