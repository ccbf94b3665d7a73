#include "model/gemma4/mtp_binding.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "model/gemma4/binding.h"
#include "model/tensor_binder.h"

namespace paceline {
namespace {

constexpr const char* kOrdering = "masked_embedding.token_ordering";
// Rows of an embedding worth waking another thread for.
constexpr int64_t kRowsPerPiece = 1024;

// What the drafter's forward does not compute must not be asked for.
Status check_supported(const AssistantConfig& config) {
  const Gemma4Config& text = config.text;
  for (int32_t i = 0; i < text.layer_count(); ++i) {
    if (text.layers[static_cast<size_t>(i)].kv_layer == i)
      return Error{
          fmt::format("num_kv_shared_layers: expected all {} layers of a drafter, but layer {} has its own "
                      "keys and values",
                      text.layer_count(), i)};
  }
  if (text.experts > 0) return Error{fmt::format("num_experts: expected none in a drafter, found {}", text.experts)};
  if (text.ple_width > 0)
    return Error{fmt::format("hidden_size_per_layer_input: expected 0 in a drafter, found {}", text.ple_width)};
  if (!text.tied_head) return Error{"tie_word_embeddings: expected true in a drafter, found false"};
  return Done{};
}

Status check_each_once(const std::vector<TokenId>& ordering) {
  std::vector<char> seen(ordering.size(), 0);
  for (size_t i = 0; i < ordering.size(); ++i) {
    char& mark = seen[static_cast<size_t>(ordering[i])];
    if (mark != 0)
      return Error{
          fmt::format("tensor \"{}\": expected each id once, found {} again at {}", kOrdering, ordering[i], i)};
    mark = 1;
  }
  return Done{};
}

// The rows of m in another order, in memory of their own.
Matrix reorder_rows(const Matrix& m, const std::vector<TokenId>& order, ThreadPool& pool,
                    std::shared_ptr<const void>* owner) {
  const size_t value_bytes = m.row_value_bytes(), scale_bytes = m.row_scale_bytes();
  const size_t values_end = order.size() * value_bytes, scales_end = values_end + order.size() * scale_bytes;
  const size_t biases_end = scales_end + (m.biases != nullptr ? order.size() * scale_bytes : 0);
  const size_t factors_at = (biases_end + sizeof(double) - 1) / sizeof(double) * sizeof(double);
  // operator new[] aligns for every dtype, and so do whole rows of it.
  std::shared_ptr<std::byte[]> memory(new std::byte[factors_at + order.size() * sizeof(double)]);
  std::byte* const to = memory.get();
  const auto copy_row = [&](std::byte* part, const void* from, size_t bytes, size_t row) {
    const auto source = static_cast<size_t>(order[row]);
    std::memcpy(part + row * bytes, static_cast<const std::byte*>(from) + source * bytes, bytes);
  };
  pool.run(static_cast<int64_t>(order.size()), kRowsPerPiece, [&](int64_t begin, int64_t end) {
    for (auto row = static_cast<size_t>(begin); row < static_cast<size_t>(end); ++row) {
      copy_row(to, m.values, value_bytes, row);
      if (m.scales != nullptr) copy_row(to + values_end, m.scales, scale_bytes, row);
      if (m.biases != nullptr) copy_row(to + scales_end, m.biases, scale_bytes, row);
      if (m.factors != nullptr) copy_row(to + factors_at, m.factors, sizeof(double), row);
    }
  });
  Matrix ordered = m;
  ordered.values = to;
  if (m.scales != nullptr) ordered.scales = to + values_end;
  if (m.biases != nullptr) ordered.biases = to + scales_end;
  if (m.factors != nullptr) ordered.factors = reinterpret_cast<const double*>(to + factors_at);
  *owner = std::move(memory);
  return ordered;
}

Status bind_head(TensorBinder& binder, ThreadPool& pool, MtpWeights* out) {
  const AssistantConfig& config = out->config;
  Matrix embedding;
  TRY(binder.matrix("model.embed_tokens", config.text.vocab, config.text.hidden, &embedding));
  if (config.centroids == 0) {
    out->head = embedding;
    return Done{};
  }
  TRY(binder.matrix("masked_embedding.centroids", config.centroids, config.text.hidden, &out->centroids));
  TRY(binder.ids(kOrdering, config.text.vocab, config.text.vocab, &out->cluster_tokens));
  TRY(check_each_once(out->cluster_tokens));
  out->clusters.first = reorder_rows(embedding, out->cluster_tokens, pool, &out->cluster_rows);
  out->clusters.first.rows = config.text.vocab / config.centroids;
  out->clusters.count = config.centroids;
  out->clusters.stride_rows = out->clusters.first.rows;
  return Done{};
}

// The tied head once more, and keys and values that nobody reads.
bool may_be_left(std::string_view name) {
  if (name.starts_with("lm_head.") || name.ends_with("inv_freq")) return true;
  if (!name.starts_with("model.layers.")) return false;
  for (const std::string_view part :
       {".self_attn.k_proj.", ".self_attn.v_proj.", ".self_attn.k_norm.", ".self_attn.v_norm."})
    if (name.find(part) != std::string_view::npos) return true;
  return false;
}

Error differs(std::string_view what, int64_t drafter, int64_t target) {
  return Error{fmt::format("the drafter does not fit the model: {} is {} in the drafter, {} in the model", what,
                           drafter, target)};
}

}  // namespace

Result<std::shared_ptr<const MtpWeights>> bind_mtp_weights(std::shared_ptr<const Checkpoint> checkpoint,
                                                           AssistantConfig config, ThreadPool& pool) {
  TRY(check_supported(config));
  TensorBinder binder(std::move(checkpoint), pool);
  auto weights = std::make_shared<MtpWeights>();
  weights->config = std::move(config);
  const Gemma4Config& text = weights->config.text;
  const int64_t hidden = text.hidden, backbone = weights->config.backbone_hidden;
  TRY(binder.matrix("pre_projection", hidden, 2 * backbone, &weights->pre_projection));
  TRY(binder.matrix("post_projection", backbone, hidden, &weights->post_projection));
  TRY(binder.vector("model.norm.weight", hidden, &weights->final_norm));
  TRY(bind_head(binder, pool, weights.get()));
  weights->layers.resize(text.layers.size());
  for (int32_t i = 0; i < text.layer_count(); ++i) {
    TRY(bind_layer(binder, fmt::format("model.layers.{}.", i), {text, i}, &weights->layers[static_cast<size_t>(i)]));
  }
  for (const TensorView* tensor : binder.untaken()) {
    if (may_be_left(tensor->name)) continue;
    return Error{fmt::format("tensor \"{}\" belongs to nothing in a {} model", tensor->name, text.model_type)};
  }
  weights->owners = binder.take_owners();
  weights->checkpoint = binder.checkpoint();
  return std::shared_ptr<const MtpWeights>(std::move(weights));
}

Result<std::shared_ptr<const MtpWeights>> load_mtp(const std::filesystem::path& folder, ThreadPool& pool) {
  AssistantConfig config;
  const auto read = [&](const Checkpoint& opened) -> Status {
    auto found = read_assistant_config(opened.config_json());
    if (!found.ok()) return Error{fmt::format("{}: {}", folder.string(), found.error().message)};
    config = std::move(*found);
    return Done{};
  };
  TRY_ASSIGN(auto checkpoint, Checkpoint::open(folder, read));
  auto weights = bind_mtp_weights(std::move(checkpoint), std::move(config), pool);
  if (!weights.ok()) return Error{fmt::format("{}: {}", folder.string(), weights.error().message)};
  return weights;
}

Status check_fits(const AssistantConfig& drafter, const ModelWeights& target) {
  const auto* gemma4 = dynamic_cast<const Gemma4Weights*>(&target);
  if (gemma4 == nullptr) return Error{fmt::format("expected a Gemma 4 model, found {}", target.facts().model_type)};
  return check_fits(drafter, gemma4->config);
}

int32_t mtp_source_layer(const Gemma4Config& target, LayerKind kind) {
  for (int32_t i = target.layer_count(); i-- > 0;) {
    const LayerConfig& layer = target.layers[static_cast<size_t>(i)];
    if (layer.kind == kind && layer.kv_layer == i) return i;
  }
  return -1;
}

Status check_fits(const AssistantConfig& drafter, const Gemma4Config& target) {
  const Gemma4Config& text = drafter.text;
  if (drafter.backbone_hidden != target.hidden)
    return differs("the hidden size", drafter.backbone_hidden, target.hidden);
  if (text.vocab != target.vocab) return differs("the vocabulary", text.vocab, target.vocab);
  for (const LayerConfig& layer : text.layers) {
    const bool sliding = layer.kind == LayerKind::sliding;
    const std::string kind = sliding ? "sliding" : "global";
    const int32_t from = mtp_source_layer(target, layer.kind);
    if (from < 0) {
      return Error{
          fmt::format("the drafter does not fit the model: it has {} layers, of which the model's {} layers "
                      "have none with keys and values",
                      kind, target.layer_count())};
    }
    const LayerConfig& source = target.layers[static_cast<size_t>(from)];
    if (layer.head_dim != source.head_dim)
      return differs(fmt::format("the head size of {} layers", kind), layer.head_dim, source.head_dim);
    if (layer.kv_heads != source.kv_heads)
      return differs(fmt::format("the number of KV heads of {} layers", kind), layer.kv_heads, source.kv_heads);
    if (sliding && text.window != target.window) return differs("the sliding window", text.window, target.window);
  }
  return Done{};
}

size_t MtpWeights::total_bytes() const {
  size_t bytes = pre_projection.bytes() + post_projection.bytes() + head.bytes() + centroids.bytes();
  bytes += static_cast<size_t>(clusters.count) * clusters.first.bytes();
  bytes += final_norm.size() * sizeof(float) + cluster_tokens.size() * sizeof(TokenId);
  for (const LayerWeights& layer : layers) bytes += layer.shared_bytes();
  return bytes;
}

size_t MtpWeights::bytes_per_draft() const {
  const size_t scored = static_cast<size_t>(config.centroid_top_k);
  const size_t left_out = static_cast<size_t>(clusters.count) - scored;
  return total_bytes() - left_out * clusters.first.bytes() -
         left_out * static_cast<size_t>(cluster_size()) * sizeof(TokenId);
}

}  // namespace paceline
