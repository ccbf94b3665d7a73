// Gemma 4's vision side: a projector's file, or what a model's own file has of it, as vision_config and tensors.
#include <fmt/format.h>

#include <array>
#include <boost/json.hpp>

#include "weights/gguf/gguf_words.h"

namespace paceline {
namespace {

namespace json = boost::json;

constexpr int64_t kMostVisionWidth = 1 << 16, kMostVisionLayers = 1024;
constexpr const char* kProjection = "mm.input_projection.weight";
constexpr const char* kPatches = "v.patch_embd.weight";
constexpr const char* kPositions = "v.position_embd.weight";
constexpr const char* kClampValues = "v.clamp_data";

struct VisionName {
  std::string_view gguf, hub;
};

constexpr std::array<VisionName, 6> kVisionNorms = {VisionName{"ln1", "input_layernorm"},
                                                    {"ln2", "pre_feedforward_layernorm"},
                                                    {"attn_post_norm", "post_attention_layernorm"},
                                                    {"ffn_post_norm", "post_feedforward_layernorm"},
                                                    {"attn_q_norm", "self_attn.q_norm"},
                                                    {"attn_k_norm", "self_attn.k_norm"}};
// In the order of v.clamp_data.
constexpr std::array<VisionName, 7> kVisionLinears = {VisionName{"attn_q", "self_attn.q_proj"},
                                                      {"attn_k", "self_attn.k_proj"},
                                                      {"attn_v", "self_attn.v_proj"},
                                                      {"attn_out", "self_attn.o_proj"},
                                                      {"ffn_gate", "mlp.gate_proj"},
                                                      {"ffn_up", "mlp.up_proj"},
                                                      {"ffn_down", "mlp.down_proj"}};
constexpr std::array<const char*, 4> kBounds = {"input_min", "input_max", "output_min", "output_max"};
constexpr const char* kTower = "model.vision_tower.";
constexpr const char* kHubProjection = "model.embed_vision.embedding_projection.weight";
constexpr const char* kEmbedder = "model.vision_embedder.";

// "clip.vision." of a projector, "gemma4.vision." of a model that has it all.
std::string vision_prefix(const GgufFiles& files) {
  return files.architecture() == "clip" ? "clip.vision." : "gemma4.vision.";
}

// The 12B has no tower: one patch is a square of 48.
Result<bool> is_embedder(const GgufFiles& files) {
  const GgufMetadata& metadata = files.metadata();
  const std::string key =
      metadata.has("clip.vision.projector_type") ? "clip.vision.projector_type" : "clip.projector_type";
  if (!metadata.has(key)) return !files.has("v.blk.0.attn_q.weight");
  TRY_ASSIGN(const std::string type, metadata.text(key));
  if (type != "gemma4v" && type != "gemma4uv") return metadata.wrong(key, "gemma4v or gemma4uv");
  return type == "gemma4uv";
}

Result<const GgufTensor*> needed(const GgufFiles& files, const std::string& name, size_t dimensions) {
  const GgufTensor* tensor = files.find(name);
  if (tensor == nullptr) return Error{fmt::format("tensor \"{}\" is missing", name)};
  if (tensor->shape.size() != dimensions) {
    return Error{
        fmt::format("tensor \"{}\": expected {} dimensions, found {}", name, dimensions, tensor->shape.size())};
  }
  return tensor;
}

bool has_bounds(const GgufFiles& files) { return files.has("v.blk.0.attn_q.input_min") || files.has(kClampValues); }

Status add_tower_config(const GgufFiles& files, json::object* config) {
  const GgufMetadata& metadata = files.metadata();
  const std::string prefix = vision_prefix(files);
  const auto integer = [&](const char* name, int64_t most) { return metadata.integer(prefix + name, 1, most); };
  TRY_ASSIGN(const int64_t hidden, integer("embedding_length", kMostVisionWidth));
  TRY_ASSIGN(const int64_t heads, integer("attention.head_count", kMostVisionWidth));
  TRY_ASSIGN((*config)["intermediate_size"], integer("feed_forward_length", kMostVisionWidth));
  TRY_ASSIGN((*config)["num_hidden_layers"], integer("block_count", kMostVisionLayers));
  TRY_ASSIGN(const GgufTensor* positions, needed(files, kPositions, 3));
  (*config)["hidden_size"] = hidden;
  (*config)["num_attention_heads"] = heads;
  (*config)["head_dim"] = hidden / heads;
  (*config)["position_embedding_size"] = positions->shape[1];
  (*config)["standardize"] = files.has("v.std_bias");
  (*config)["use_clipped_linears"] = has_bounds(files);
  return Done{};
}

// Here (channel, row, column), there (row, column, channel), within each of `rows` rows of 3 · side · side numbers.
std::vector<float> with_channels_last(const std::vector<float>& from, size_t rows, size_t side) {
  const size_t square = side * side;
  std::vector<float> to(from.size());
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < 3; ++c)
      for (size_t at = 0; at < square; ++at) to[(r * square + at) * 3 + c] = from[(r * 3 + c) * square + at];
  return to;
}

// rows: of the tensor seen as a matrix; 1 for a vector.
Status add_channels_last(const GgufFiles& files, const std::string& name, const std::string& hub_name, int64_t side,
                         GgufTensors* out) {
  const GgufTensor* tensor = files.find(name);
  if (tensor == nullptr) return Error{fmt::format("tensor \"{}\" is missing", name)};
  TRY_ASSIGN(const std::vector<float> values, gguf_floats(files, *tensor));
  const int64_t width = 3 * side * side, count = static_cast<int64_t>(values.size());
  if (count % width != 0 || (tensor->shape.size() > 1 && tensor->shape[0] != count / width)) {
    return Error{fmt::format("tensor \"{}\": expected rows of 3 x {} x {} numbers, found {} numbers in all", name, side,
                             side, count)};
  }
  const std::vector<int64_t> shape =
      tensor->shape.size() == 1 ? std::vector<int64_t>{width} : std::vector<int64_t>{count / width, width};
  out->add_floats(hub_name, shape,
                  with_channels_last(values, static_cast<size_t>(count / width), static_cast<size_t>(side)));
  return Done{};
}

Status add_whole(const GgufFiles& files, const std::string& name, const std::string& hub_name, GgufTensors* out) {
  const GgufTensor* tensor = files.find(name);
  if (tensor == nullptr) return Error{fmt::format("tensor \"{}\" is missing", name)};
  out->add(hub_name, files, *tensor);
  return Done{};
}

Status add_bounds(const GgufFiles& files, int64_t layer, GgufTensors* out) {
  for (const VisionName& linear : kVisionLinears)
    for (const char* bound : kBounds)
      TRY(add_whole(files, fmt::format("v.blk.{}.{}.{}", layer, linear.gguf, bound),
                    fmt::format("{}encoder.layers.{}.{}.{}", kTower, layer, linear.hub, bound), out));
  return Done{};
}

// All layers' bounds in one tensor, and four more of the projector, which has none.
Status add_clamp_values(const GgufFiles& files, int64_t layers, GgufTensors* out) {
  TRY_ASSIGN(const GgufTensor* tensor, needed(files, kClampValues, 1));
  TRY_ASSIGN(const std::vector<float> values, gguf_floats(files, *tensor));
  const auto least = static_cast<size_t>(layers) * kVisionLinears.size() * kBounds.size();
  if (values.size() < least)
    return Error{fmt::format("tensor \"{}\": expected {} numbers, found {}", kClampValues, least, values.size())};
  size_t at = 0;
  for (int64_t layer = 0; layer < layers; ++layer)
    for (const VisionName& linear : kVisionLinears)
      for (const char* bound : kBounds)
        out->add_floats(fmt::format("{}encoder.layers.{}.{}.{}", kTower, layer, linear.hub, bound), {1},
                        {values[at++]});
  return Done{};
}

Status add_tower_layer(const GgufFiles& files, int64_t layer, GgufTensors* out) {
  const auto add = [&](const VisionName& name) {
    return add_whole(files, fmt::format("v.blk.{}.{}.weight", layer, name.gguf),
                     fmt::format("{}encoder.layers.{}.{}.weight", kTower, layer, name.hub), out);
  };
  for (const VisionName& norm : kVisionNorms) TRY(add(norm));
  for (const VisionName& linear : kVisionLinears) TRY(add(linear));
  return Done{};
}

Status add_tower(const GgufFiles& files, int64_t patch, GgufTensors* out) {
  TRY_ASSIGN(const int64_t layers,
             files.metadata().integer(vision_prefix(files) + "block_count", 1, kMostVisionLayers));
  TRY(add_channels_last(files, kPatches, fmt::format("{}patch_embedder.input_proj.weight", kTower), patch, out));
  TRY(add_whole(files, kPositions, fmt::format("{}patch_embedder.position_embedding_table", kTower), out));
  for (int64_t layer = 0; layer < layers; ++layer) {
    TRY(add_tower_layer(files, layer, out));
    if (files.has("v.blk.0.attn_q.input_min")) TRY(add_bounds(files, layer, out));
  }
  if (files.has(kClampValues)) TRY(add_clamp_values(files, layers, out));
  if (!files.has("v.std_bias")) return Done{};
  TRY(add_whole(files, "v.std_bias", fmt::format("{}std_bias", kTower), out));
  return add_whole(files, "v.std_scale", fmt::format("{}std_scale", kTower), out);
}

// [2, n, hidden] here, [n, 2, hidden] there.
Status add_embedder_positions(const GgufFiles& files, GgufTensors* out) {
  TRY_ASSIGN(const GgufTensor* tensor, needed(files, kPositions, 3));
  TRY_ASSIGN(const std::vector<float> from, gguf_floats(files, *tensor));
  const int64_t axes = tensor->shape[0], count = tensor->shape[1], width = tensor->shape[2];
  std::vector<float> to(from.size());
  for (int64_t a = 0; a < axes; ++a)
    for (int64_t i = 0; i < count; ++i)
      for (int64_t k = 0; k < width; ++k)
        to[static_cast<size_t>((i * axes + a) * width + k)] = from[static_cast<size_t>((a * count + i) * width + k)];
  out->add_floats(fmt::format("{}pos_embedding", kEmbedder), {count, axes, width}, std::move(to));
  return Done{};
}

Status add_embedder(const GgufFiles& files, int64_t patch, GgufTensors* out) {
  constexpr int64_t kPooled = 3;
  const int64_t side = patch * kPooled;
  // They count from 1; Ollama from 0.
  const int first = files.has("v.patch_norm.0.weight") ? 0 : 1;
  const auto norm = [&](int number, const char* part) {
    return fmt::format("v.patch_norm.{}.{}", first + number, part);
  };
  TRY(add_channels_last(files, kPatches, fmt::format("{}patch_dense.weight", kEmbedder), side, out));
  TRY(add_whole(files, "v.patch_embd.bias", fmt::format("{}patch_dense.bias", kEmbedder), out));
  for (const char* part : {"weight", "bias"}) {
    TRY(add_channels_last(files, norm(0, part), fmt::format("{}patch_ln1.{}", kEmbedder, part), side, out));
    TRY(add_whole(files, norm(1, part), fmt::format("{}patch_ln2.{}", kEmbedder, part), out));
    TRY(add_whole(files, norm(2, part), fmt::format("{}pos_norm.{}", kEmbedder, part), out));
  }
  return add_embedder_positions(files, out);
}

std::string_view behind(std::string_view text, std::string_view start) {
  return text.starts_with(start) ? text.substr(start.size()) : std::string_view();
}

// Of a layer's part, "self_attn.q_proj.weight": "attn_q.weight".
std::string layer_part_name(std::string_view part) {
  const auto found = [&](const VisionName& name) -> std::string {
    const std::string_view rest = behind(part, name.hub);
    return rest.starts_with('.') ? fmt::format("{}{}", name.gguf, rest) : std::string();
  };
  for (const VisionName& norm : kVisionNorms)
    if (std::string name = found(norm); !name.empty()) return name;
  for (const VisionName& linear : kVisionLinears)
    if (std::string name = found(linear); !name.empty()) return name;
  return {};
}

GgufVisionName tower_name(std::string_view hub) {
  using Order = GgufVisionName::Order;
  if (hub == "patch_embedder.input_proj.weight") return {kPatches, Order::channels_first};
  if (hub == "patch_embedder.position_embedding_table") return {kPositions};
  if (hub == "std_bias" || hub == "std_scale") return {fmt::format("v.{}", hub)};
  const GgufLayerName in_layer = gguf_layer_name(hub, "encoder.layers.");
  const std::string part = in_layer.layer < 0 ? std::string() : layer_part_name(in_layer.part);
  if (part.empty()) return {};
  return {fmt::format("v.blk.{}.{}", in_layer.layer, part)};
}

GgufVisionName embedder_name(std::string_view hub) {
  using Order = GgufVisionName::Order;
  if (hub == "patch_dense.weight") return {kPatches, Order::channels_first};
  if (hub == "patch_dense.bias") return {"v.patch_embd.bias"};
  if (hub == "pos_embedding") return {kPositions, Order::axes_first};
  if (const auto part = behind(hub, "patch_ln1."); !part.empty())
    return {fmt::format("v.patch_norm.1.{}", part), Order::channels_first};
  if (const auto part = behind(hub, "patch_ln2."); !part.empty()) return {fmt::format("v.patch_norm.2.{}", part)};
  if (const auto part = behind(hub, "pos_norm."); !part.empty()) return {fmt::format("v.patch_norm.3.{}", part)};
  return {};
}

Result<int64_t> patch_side(const GgufFiles& files) {
  return files.metadata().integer_or(vision_prefix(files) + "patch_size", 16, 1, 64);
}

}  // namespace

GgufVisionName gemma4_vision_gguf_name(std::string_view hub) {
  if (hub == kHubProjection) return {kProjection};
  if (const auto part = behind(hub, kTower); !part.empty()) return tower_name(part);
  return embedder_name(behind(hub, kEmbedder));
}

bool has_gemma4_vision(const GgufFiles& files) { return files.has(kPatches) && files.has(kProjection); }

Result<json::object> gemma4_vision_gguf_config(const GgufFiles& files) {
  json::object config;
  TRY_ASSIGN(config["patch_size"], patch_side(files));
  TRY_ASSIGN(config["rms_norm_eps"],
             files.metadata().number_or(vision_prefix(files) + "attention.layer_norm_epsilon", 1e-6, 1e-12, 1));
  TRY_ASSIGN(const bool embedder, is_embedder(files));
  config["model_type"] = embedder ? "gemma4_unified_vision" : "gemma4_vision";
  if (!embedder) {
    TRY(add_tower_config(files, &config));
    return config;
  }
  TRY_ASSIGN(const GgufTensor* positions, needed(files, kPositions, 3));
  config["mm_embed_dim"] = positions->shape[2];
  config["mm_posemb_size"] = positions->shape[1];
  return config;
}

Status add_gemma4_vision_tensors(const GgufFiles& files, GgufTensors* out) {
  TRY_ASSIGN(const int64_t patch, patch_side(files));
  TRY_ASSIGN(const bool embedder, is_embedder(files));
  TRY(embedder ? add_embedder(files, patch, out) : add_tower(files, patch, out));
  return add_whole(files, kProjection, kHubProjection, out);
}

}  // namespace paceline
