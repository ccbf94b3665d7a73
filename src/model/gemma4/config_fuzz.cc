// Any bytes as config.json, of a model or of a drafter, and as generation_config.json beside a good config.
#include <cstdint>

#include "base/check.h"
#include "model/gemma4/config_reader.h"

namespace {

constexpr std::string_view kGood =
    R"({"model_type":"gemma4_text","hidden_size":96,"num_hidden_layers":6,"intermediate_size":256,)"
    R"("num_attention_heads":4,"num_key_value_heads":2,"head_dim":16,"vocab_size":384})";

void check_layers(const paceline::Gemma4Config& config) {
  CHECK(!config.layers.empty());
  for (const auto& layer : config.layers) {
    CHECK(layer.head_dim > 0 && layer.head_dim % 2 == 0 && layer.ffn > 0);
    CHECK(layer.kv_heads > 0 && config.heads % layer.kv_heads == 0);
    CHECK(layer.kv_layer >= -1 && layer.kv_layer < config.layer_count());
  }
  for (const auto id : config.stop_ids) CHECK(id >= 0 && id < config.vocab);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  if (const auto config = paceline::read_config(text, ""); config.ok()) check_layers(*config);
  if (const auto config = paceline::read_assistant_config(text); config.ok()) check_layers(config->text);
  if (const auto config = paceline::read_config(kGood, text); config.ok()) check_layers(*config);
  return 0;
}
