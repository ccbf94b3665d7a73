#include "model/qwen/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json.hpp>

#include "model/qwen/weights.h"
#include "state/kv.h"

namespace paceline::qwen {
namespace {

namespace json = boost::json;

void tally_layer(const LayerWeights& layer, MatrixTally& tally) {
  tally.add("attention", "q", layer.attention.q);
  tally.add("attention", "k", layer.attention.k);
  tally.add("attention", "v", layer.attention.v);
  tally.add("attention", "o", layer.attention.o);
  tally.add("delta", "qkv", layer.delta.qkv);
  tally.add("delta", "z", layer.delta.z);
  tally.add("delta", "a", layer.delta.a);
  tally.add("delta", "b", layer.delta.b);
  tally.add("delta", "out", layer.delta.out);
  const FeedForwardWeights& ffn = layer.ffn;
  tally.add("ffn", "gate", ffn.gate);
  tally.add("ffn", "up", ffn.up);
  tally.add("ffn", "down", ffn.down);
  tally.add("router", "router", ffn.router);
  tally.add("router", "shared gate", ffn.shared_gate);
  tally.add("experts", "gate", ffn.expert_gate.first, ffn.expert_gate.count);
  tally.add("experts", "up", ffn.expert_up.first, ffn.expert_up.count);
  tally.add("experts", "down", ffn.expert_down.first, ffn.expert_down.count);
}

struct Facts {
  std::shared_ptr<const QwenWeights> weights;
  std::vector<MatrixGroup> groups;
  FileFacts files;
  int64_t parameters = 0;
  int64_t delta_layers = 0;
  uint64_t kv_bytes_per_token = 0;
};

Result<Facts> facts_of(const LoadedModel& model, Hashing hashing) {
  Facts facts;
  facts.weights = as_qwen(model.weights);
  if (facts.weights == nullptr) return Error{fmt::format("{}: not a Qwen model", model.checkpoint->folder().string())};
  MatrixTally tally;
  tally.add("embedding", "embed_tokens", facts.weights->embedding);
  if (!facts.weights->config.tied_head) tally.add("head", "lm_head", facts.weights->head);
  for (const LayerWeights& layer : facts.weights->layers) tally_layer(layer, tally);
  facts.groups = std::move(tally.groups);
  for (const MatrixGroup& group : facts.groups) facts.parameters += group.parameters;
  const auto& layers = facts.weights->config.layers;
  facts.delta_layers =
      std::count_if(layers.begin(), layers.end(), [](const LayerConfig& l) { return l.mixer == Mixer::delta; });
  facts.kv_bytes_per_token = KvLayout(model.weights->state(), DType::bf16).bytes_per_token();
  TRY_ASSIGN(facts.files, file_facts(*model.checkpoint, hashing));
  return facts;
}

}  // namespace

Result<std::string> report_text(const LoadedModel& model, Hashing hashing) {
  TRY_ASSIGN(const Facts facts, facts_of(model, hashing));
  const QwenConfig& c = facts.weights->config;
  std::string text = fmt::format("{}\n", model.checkpoint->folder().string());
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("  {:<14} {}\n", name, value);
  };
  line("model type", c.model_type);
  line("layers",
       fmt::format("{}, hidden {}, {} query heads, vocabulary {}", c.layer_count(), c.hidden, c.heads, c.vocab));
  line("attention", fmt::format("{} KV heads of {}, {} of it rotated; {} layers of Gated DeltaNet", c.kv_heads,
                                c.head_dim, c.rotary, facts.delta_layers));
  line("context", fmt::format("{} tokens, RoPE theta {}", c.context, c.rope_theta));
  if (c.experts > 0)
    line("experts", fmt::format("{} of width {}, {} per token", c.experts, c.expert_ffn, c.experts_per_token));
  line("logits", c.tied_head ? "tied head" : "own head");
  line("stop ids", fmt::format("{}", fmt::join(c.stop_ids, ", ")));
  line("parameters", count_text(facts.parameters));
  if (const std::string found = quantisation_text(*model.checkpoint); !found.empty()) line("quantised", found);
  text += matrices_text(facts.groups);
  const auto size = [&](const char* name, const std::string& value) {
    text += fmt::format("  {:<19} {}\n", name, value);
  };
  text += "\n";
  size("weights files", size_text(facts.files.bytes));
  size("text model", size_text(model.weights->total_bytes()));
  size("read per token", size_text(model.weights->bytes_per_decode()));
  size("KV per token", fmt::format("{} bytes (bf16)", facts.kv_bytes_per_token));
  if (!facts.files.sha256.empty()) size("SHA-256", facts.files.sha256);
  return text;
}

Result<std::string> report_json(const LoadedModel& model, Hashing hashing, std::string_view kernels) {
  TRY_ASSIGN(const Facts facts, facts_of(model, hashing));
  const QwenConfig& c = facts.weights->config;
  json::object top;
  top["folder"] = model.checkpoint->folder().string();
  top["kernels"] = kernels;
  top["model_type"] = c.model_type;
  top["layers"] = c.layer_count();
  top["delta_layers"] = facts.delta_layers;
  top["hidden"] = c.hidden;
  top["heads"] = c.heads;
  top["kv_heads"] = c.kv_heads;
  top["head_dim"] = c.head_dim;
  top["vocab"] = c.vocab;
  top["context"] = c.context;
  top["experts"] = c.experts;
  top["experts_per_token"] = c.experts_per_token;
  top["expert_ffn"] = c.expert_ffn;
  top["tied_head"] = c.tied_head;
  top["stop_ids"] = json::array(c.stop_ids.begin(), c.stop_ids.end());
  top["parameters"] = facts.parameters;
  if (const std::string found = quantisation_text(*model.checkpoint); !found.empty()) top["quantisation"] = found;
  top["matrix_groups"] = matrices_json(facts.groups);
  top["file_bytes"] = facts.files.bytes;
  top["weight_bytes"] = model.weights->total_bytes();
  top["bytes_per_decode"] = model.weights->bytes_per_decode();
  top["kv_bytes_per_token"] = facts.kv_bytes_per_token;
  if (!facts.files.sha256.empty()) top["sha256"] = facts.files.sha256;
  return json::serialize(top);
}

}  // namespace paceline::qwen
