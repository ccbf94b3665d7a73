#include "model/gemma4/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/gemma4/state_of.h"
#include "state/kv.h"

namespace paceline {
namespace {

void tally_layer(const LayerWeights& layer, MatrixTally& tally) {
  tally.add("attention", "q", layer.q);
  tally.add("attention", "k", layer.k);
  tally.add("attention", "v", layer.v);
  tally.add("attention", "o", layer.o);
  tally.add("ffn", "gate", layer.gate);
  tally.add("ffn", "up", layer.up);
  tally.add("ffn", "down", layer.down);
  tally.add("router", "router", layer.router);
  tally.add("experts", "gate", layer.expert_gate.first, layer.expert_gate.count);
  tally.add("experts", "up", layer.expert_up.first, layer.expert_up.count);
  tally.add("experts", "down", layer.expert_down.first, layer.expert_down.count);
  tally.add("per-layer", "gate", layer.ple_gate);
  tally.add("per-layer", "projection", layer.ple_projection);
}

std::vector<MatrixGroup> tally_matrices(const Gemma4Weights& weights) {
  MatrixTally tally;
  tally.add("embedding", "embed_tokens", weights.embedding);
  if (!weights.config.tied_head) tally.add("head", "lm_head", weights.head);
  for (const LayerWeights& layer : weights.layers) tally_layer(layer, tally);
  tally.add("per-layer", "model_projection", weights.ple_model_projection);
  tally.add("per-layer embedding", "embed_tokens_per_layer", weights.ple_embedding);
  return std::move(tally.groups);
}

std::vector<MatrixGroup> tally_matrices(const MtpWeights& weights) {
  MatrixTally tally;
  tally.add("projections", "pre_projection", weights.pre_projection);
  tally.add("projections", "post_projection", weights.post_projection);
  tally.add("embedding", "embed_tokens", weights.head);
  tally.add("embedding", "cluster", weights.clusters.first, weights.clusters.count);
  tally.add("embedding", "centroids", weights.centroids);
  for (const LayerWeights& layer : weights.layers) tally_layer(layer, tally);
  return std::move(tally.groups);
}

bool same_form(const LayerConfig& a, const LayerConfig& b) {
  LayerConfig alike = a;
  alike.kv_layer = b.kv_layer;
  return alike == b;
}

std::vector<LayerGroup> group_layers(const Gemma4Config& config) {
  std::vector<LayerGroup> groups;
  for (int32_t i = 0; i < config.layer_count(); ++i) {
    const LayerConfig& layer = config.layers[static_cast<size_t>(i)];
    const bool shares = layer.kv_layer != i;
    const auto at = std::find_if(groups.begin(), groups.end(), [&](const LayerGroup& group) {
      return group.shares_kv == shares && same_form(group.form, layer) &&
             (!shares || group.form.kv_layer == layer.kv_layer);
    });
    if (at != groups.end()) {
      at->layers.push_back(i);
    } else {
      groups.push_back({layer, shares, {i}});
    }
  }
  return groups;
}

// What follows from the parts that are there already, and from the files.
Status complete(const Checkpoint& checkpoint, Hashing hashing, ModelReport* report) {
  report->folder = checkpoint.folder().string();
  report->layer_groups = group_layers(report->config);
  for (const MatrixGroup& group : report->matrix_groups) report->parameters += group.parameters;
  TRY_ASSIGN(const FileFacts files, file_facts(checkpoint, hashing));
  report->quantisation = quantisation_text(checkpoint);
  report->file_bytes = files.bytes;
  report->sha256 = files.sha256;
  return Done{};
}

}  // namespace

uint64_t memory_needed(const ModelReport& report, int64_t tokens) {
  return report.weight_bytes + report.kv_window_bytes + static_cast<uint64_t>(tokens) * report.kv_bytes_per_token;
}

Result<ModelReport> make_report(const LoadedModel& model, Hashing hashing) {
  const auto weights = as_gemma4(model.weights);
  if (weights == nullptr) return Error{fmt::format("{}: not a Gemma 4 model", model.checkpoint->folder().string())};
  ModelReport report;
  report.config = weights->config;
  report.matrix_groups = tally_matrices(*weights);
  report.weight_bytes = model.weights->total_bytes();
  report.bytes_per_decode = model.weights->bytes_per_decode();
  const KvLayout kv(model.weights->state(), DType::bf16);
  report.kv_bytes_per_token = kv.bytes_per_token();
  report.kv_window_bytes = kv.window_bytes();
  TRY(complete(*model.checkpoint, hashing, &report));
  return report;
}

Result<ModelReport> make_report(const MtpWeights& drafter, const Checkpoint& checkpoint, Hashing hashing) {
  ModelReport report;
  report.config = drafter.config.text;
  report.backbone = drafter.config.backbone_hidden;
  report.centroids = drafter.config.centroids;
  report.centroid_top_k = drafter.config.centroid_top_k;
  report.matrix_groups = tally_matrices(drafter);
  report.weight_bytes = drafter.total_bytes();
  report.bytes_per_decode = drafter.bytes_per_draft();
  TRY(complete(checkpoint, hashing, &report));
  return report;
}

std::string number_ranges(const std::vector<int32_t>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += last == i ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace paceline
