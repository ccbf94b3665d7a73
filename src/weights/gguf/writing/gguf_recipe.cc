#include "weights/gguf/writing/gguf_recipe.h"

#include <fmt/format.h>

#include "weights/gguf/gguf_words.h"

namespace paceline {
namespace {

constexpr GgufType kPlainFloats{DType::f32, WeightFormat::none};

// The first and last eighth of the layers, and every third between them.
bool is_finer_layer(int64_t layer, int64_t layers) {
  return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

// Rows that a block does not divide have smaller blocks with more bits, or none.
GgufType fitting(WeightFormat format, int64_t cols) {
  if (format == WeightFormat::q4_k && cols % 256 != 0) format = WeightFormat::q5_0;
  if (format == WeightFormat::q6_k && cols % 256 != 0) format = WeightFormat::q8_0;
  if (cols % block_shape(format).elements != 0) return {DType::f16, WeightFormat::none};
  return {DType::u8, format};
}

}  // namespace

Result<GgufRecipe> GgufRecipe::named(std::string_view name) {
  if (name == "Q8_0") return GgufRecipe{"Q8_0", 7};
  if (name == "Q4_0") return GgufRecipe{"Q4_0", 2, WeightFormat::q4_0, WeightFormat::q6_k, WeightFormat::q4_0};
  if (name == "Q4_K_M") return GgufRecipe{"Q4_K_M", 15, WeightFormat::q4_k, WeightFormat::q6_k, WeightFormat::q6_k};
  if (name == "BF16") return GgufRecipe{"BF16", 32, WeightFormat::none, WeightFormat::none, WeightFormat::none};
  return Error{fmt::format("expected Q8_0, Q4_0, Q4_K_M or BF16, found \"{}\"", name)};
}

GgufType GgufRecipe::type_of(std::string_view tensor, const std::vector<int64_t>& shape, DType dtype,
                             int64_t layers) const {
  if (shape.size() < 2 || tensor.ends_with("ffn_gate_inp.weight")) return kPlainFloats;
  if (usual == WeightFormat::none) return {DType::bf16, WeightFormat::none};
  if (tensor == "per_layer_model_proj.weight") return {dtype, WeightFormat::none};
  if (tensor == "token_embd.weight" || tensor == "output.weight") return fitting(embedding, shape.back());
  const GgufLayerName in_layer = gguf_layer_name(tensor, "blk.");
  // A few rows, which all that a layer remembers is multiplied with.
  if (in_layer.part == "ssm_alpha.weight" || in_layer.part == "ssm_beta.weight")
    return fitting(WeightFormat::q8_0, shape.back());
  const bool may_be_finer =
      in_layer.part == "attn_v.weight" || in_layer.part == "ffn_down.weight" || in_layer.part == "ffn_down_exps.weight";
  return fitting(may_be_finer && is_finer_layer(in_layer.layer, layers) ? finer : usual, shape.back());
}

}  // namespace paceline
