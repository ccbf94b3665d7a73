// The report as text for people and as JSON for programs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "model/gemma4/report.h"

namespace paceline {
namespace {

namespace json = boost::json;

const char* kind_text(LayerKind kind) { return kind == LayerKind::global ? "global" : "sliding"; }

void print_architecture(const ModelReport& report, std::string* out) {
  const Gemma4Config& c = report.config;
  auto line = std::back_inserter(*out);
  fmt::format_to(line, "{}\n", report.folder);
  fmt::format_to(line, "  model type     {}\n", c.model_type);
  if (report.backbone > 0) fmt::format_to(line, "  drafter        of models with hidden size {}\n", report.backbone);
  if (report.centroids > 0) {
    fmt::format_to(line, "  vocabulary     in {} clusters, of which {} are scored\n", report.centroids,
                   report.centroid_top_k);
  }
  fmt::format_to(line, "  layers         {}, hidden {}, {} query heads, vocabulary {}\n", c.layer_count(), c.hidden,
                 c.heads, c.vocab);
  fmt::format_to(line, "  context        {} tokens, sliding window {}\n", c.context, c.window);
  fmt::format_to(line, "  RoPE           sliding theta {}, global theta {} over {} of the head\n", c.rope_sliding.theta,
                 c.rope_global.theta, c.rope_global.partial_factor);
  if (c.experts > 0) {
    fmt::format_to(line, "  experts        {} of width {}, {} per token\n", c.experts, c.expert_ffn,
                   c.experts_per_token);
  }
  if (c.ple_width > 0)
    fmt::format_to(line, "  per layer      embeddings of width {}, vocabulary {}\n", c.ple_width, c.ple_vocab);
  fmt::format_to(line, "  logits         {}, {} head\n",
                 c.softcap > 0 ? fmt::format("capped at {}", c.softcap) : std::string("not capped"),
                 c.tied_head ? "tied" : "own");
  fmt::format_to(line, "  stop ids       {}\n", fmt::join(c.stop_ids, ", "));
  fmt::format_to(line, "  parameters     {}\n", count_text(report.parameters));
  if (!report.quantisation.empty()) fmt::format_to(line, "  quantised      {}\n", report.quantisation);
}

void print_layers(const ModelReport& report, std::string* out) {
  auto line = std::back_inserter(*out);
  fmt::format_to(line, "\n  {:<8} {:>5} {:>9} {:>9} {:>7}  {:<14} {}\n", "kind", "count", "KV heads", "head dim", "ffn",
                 "keys, values", "layers");
  for (const LayerGroup& group : report.layer_groups) {
    const LayerConfig& form = group.form;
    std::string source = form.value_is_key ? "V is K" : "own";
    if (group.shares_kv) source = report.backbone > 0 ? "the model's" : fmt::format("of layer {}", form.kv_layer);
    fmt::format_to(line, "  {:<8} {:>5} {:>9} {:>9} {:>7}  {:<14} {}\n", kind_text(form.kind), group.layers.size(),
                   form.kv_heads, form.head_dim, form.ffn, source, number_ranges(group.layers));
  }
}

void print_kv(const ModelReport& report, std::string* out) {
  auto line = std::back_inserter(*out);
  fmt::format_to(line, "  KV per token        {} bytes (bf16)\n", report.kv_bytes_per_token);
  fmt::format_to(line, "  KV windows          {} (bf16)\n", size_text(report.kv_window_bytes));
  const int64_t context = report.config.context;
  for (const int64_t tokens : std::set<int64_t>{std::min<int64_t>(8192, context), context}) {
    fmt::format_to(line, "  one sequence        of {} tokens: {} in all\n", tokens,
                   size_text(memory_needed(report, tokens)));
  }
}

void print_memory(const ModelReport& report, std::string* out) {
  auto line = std::back_inserter(*out);
  fmt::format_to(line, "\n  weights files       {}\n", size_text(report.file_bytes));
  const bool drafter = report.backbone > 0;
  fmt::format_to(line, "  {:<19} {}\n", drafter ? "drafter" : "text model", size_text(report.weight_bytes));
  fmt::format_to(line, "  read per {:<10} {}\n", drafter ? "draft" : "token", size_text(report.bytes_per_decode));
  if (!drafter) print_kv(report, out);
  if (!report.sha256.empty()) fmt::format_to(line, "  SHA-256             {}\n", report.sha256);
}

json::array layers_json(const ModelReport& report) {
  json::array rows;
  for (const LayerGroup& group : report.layer_groups) {
    json::object row;
    row["kind"] = kind_text(group.form.kind);
    row["layers"] = json::array(group.layers.begin(), group.layers.end());
    row["kv_heads"] = group.form.kv_heads;
    row["head_dim"] = group.form.head_dim;
    row["ffn"] = group.form.ffn;
    row["value_is_key"] = group.form.value_is_key;
    row["shares_kv"] = group.shares_kv;
    if (group.shares_kv && report.backbone == 0) row["kv_layer"] = group.form.kv_layer;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::string report_text(const ModelReport& report) {
  std::string text;
  print_architecture(report, &text);
  print_layers(report, &text);
  text += matrices_text(report.matrix_groups);
  print_memory(report, &text);
  return text;
}

std::string report_json(const ModelReport& report, std::string_view kernels) {
  const Gemma4Config& c = report.config;
  json::object top;
  top["folder"] = report.folder;
  top["kernels"] = kernels;
  top["model_type"] = c.model_type;
  top["layers"] = c.layer_count();
  top["hidden"] = c.hidden;
  top["heads"] = c.heads;
  top["vocab"] = c.vocab;
  top["context"] = c.context;
  top["window"] = c.window;
  top["experts"] = c.experts;
  top["experts_per_token"] = c.experts_per_token;
  top["expert_ffn"] = c.expert_ffn;
  top["per_layer_width"] = c.ple_width;
  top["softcap"] = c.softcap;
  top["tied_head"] = c.tied_head;
  if (report.backbone > 0) {
    top["backbone_hidden"] = report.backbone;
    top["centroids"] = report.centroids;
    top["centroid_top_k"] = report.centroid_top_k;
  }
  top["stop_ids"] = json::array(c.stop_ids.begin(), c.stop_ids.end());
  top["parameters"] = report.parameters;
  if (!report.quantisation.empty()) top["quantisation"] = report.quantisation;
  top["layer_groups"] = layers_json(report);
  top["matrix_groups"] = matrices_json(report.matrix_groups);
  top["file_bytes"] = report.file_bytes;
  top["weight_bytes"] = report.weight_bytes;
  top["bytes_per_decode"] = report.bytes_per_decode;
  top["kv_bytes_per_token"] = report.kv_bytes_per_token;
  top["kv_window_bytes"] = report.kv_window_bytes;
  top["memory_bytes_at_full_context"] = memory_needed(report, c.context);
  if (!report.sha256.empty()) top["sha256"] = report.sha256;
  return json::serialize(top);
}

}  // namespace paceline
