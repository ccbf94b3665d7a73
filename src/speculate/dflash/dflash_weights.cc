#include "speculate/dflash/dflash_weights.h"

#include <fmt/format.h>

#include <cmath>

#include "model/placing.h"
#include "model/tensor_binder.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

// Names as the file has them: some exports have another word before everything, or for the two of the context.
struct Names {
  std::string prefix;
  std::string fc = "fc", hidden_norm = "hidden_norm";

  explicit Names(const TensorBinder& binder) {
    const auto has = [&](const char* name) { return binder.has(std::string(name)); };
    if (has("model.fc.weight") || has("model.encoder.fc.weight")) prefix = "model.";
    if (has("encoder.fc.weight") || has("model.encoder.fc.weight")) {
      fc = "encoder.fc";
      hidden_norm = "encoder.output_norm_enc";
    }
  }
};

class Binding {
 public:
  Binding(std::shared_ptr<const Checkpoint> checkpoint, DflashConfig config, ThreadPool& pool)
      : binder_(std::move(checkpoint), pool), names_(binder_), weights_(std::make_shared<DflashWeights>()) {
    weights_->config = std::move(config);
  }

  Result<std::shared_ptr<const DflashWeights>> run(const ModelWeights& target) {
    const DflashConfig& c = weights_->config;
    for (const char* reduced : {"d2t", "t2d", "model.d2t", "model.t2d"})
      if (binder_.has(reduced))
        return Error{fmt::format("tensor \"{}\": a reduced draft vocabulary is not supported", reduced)};
    const auto tapped = static_cast<int64_t>(tapped_layers(c, target.lent_ends().layers).size());
    const std::string& p = names_.prefix;
    TRY(binder_.matrix(p + names_.fc, c.hidden, tapped * c.hidden, &weights_->fc));
    TRY(binder_.vector(p + names_.hidden_norm + ".weight", c.hidden, &weights_->hidden_norm));
    TRY(binder_.vector(p + "norm.weight", c.hidden, &weights_->norm));
    weights_->layers.resize(c.layers.size());
    for (size_t i = 0; i < c.layers.size(); ++i) TRY(layer(fmt::format("{}layers.{}.", p, i), weights_->layers[i]));
    if (c.selector.rank > 0) TRY(selector(target.facts().vocab));
    for (const TensorView* tensor : binder_.untaken())
      if (!tensor->name.ends_with("inv_freq"))
        return Error{fmt::format("tensor \"{}\" belongs to nothing in a {}", tensor->name, c.architecture)};
    weights_->owners = binder_.take_owners();
    weights_->checkpoint = binder_.checkpoint();
    return std::shared_ptr<const DflashWeights>(std::move(weights_));
  }

 private:
  Status layer(const std::string& prefix, DflashLayer& l) {
    const DflashConfig& c = weights_->config;
    const int64_t hidden = c.hidden, heads = int64_t{c.heads} * c.head_dim, kv = int64_t{c.kv_heads} * c.head_dim;
    TRY(binder_.vector(prefix + "input_layernorm.weight", hidden, &l.input_norm));
    TRY(binder_.vector(prefix + "post_attention_layernorm.weight", hidden, &l.post_attention_norm));
    const std::string attention = prefix + "self_attn.", mlp = prefix + "mlp.";
    TRY(binder_.matrix(attention + "q_proj", heads, hidden, &l.q));
    TRY(binder_.matrix(attention + "k_proj", kv, hidden, &l.k));
    TRY(binder_.matrix(attention + "v_proj", kv, hidden, &l.v));
    TRY(binder_.matrix(attention + "o_proj", hidden, heads, &l.o));
    TRY(binder_.vector(attention + "q_norm.weight", c.head_dim, &l.q_norm));
    TRY(binder_.vector(attention + "k_norm.weight", c.head_dim, &l.k_norm));
    if (c.has_bias) {
      TRY(binder_.vector(attention + "q_proj.bias", heads, &l.q_bias));
      TRY(binder_.vector(attention + "k_proj.bias", kv, &l.k_bias));
      TRY(binder_.vector(attention + "v_proj.bias", kv, &l.v_bias));
      TRY(binder_.vector(attention + "o_proj.bias", hidden, &l.o_bias));
    }
    TRY(binder_.matrix(mlp + "gate_proj", c.ffn, hidden, &l.gate));
    TRY(binder_.matrix(mlp + "up_proj", c.ffn, hidden, &l.up));
    TRY(binder_.matrix(mlp + "down_proj", hidden, c.ffn, &l.down));
    if (c.conv.taps > 0) {
      TRY(conv(prefix + "attention_conv.", l.attention_conv));
      TRY(conv(prefix + "mlp_conv.", l.mlp_conv));
    }
    // Attention knows no factor for scores, and a rotation keeps one; YaRN's is that of queries and keys both.
    const double stretch = c.yarn ? c.yarn->attention_factor : 1;
    const auto factor = static_cast<float>(stretch * stretch / std::sqrt(static_cast<double>(c.head_dim)));
    for (float& weight : l.q_norm) weight *= factor;
    return Done{};
  }

  Status conv(const std::string& prefix, DflashConv& out) {
    const DflashConfig& c = weights_->config;
    const int64_t groups = c.hidden / c.conv.group;
    TRY(binder_.floats(prefix + "base_kernel", {2, c.conv.taps, c.hidden}, &out.base));
    return binder_.matrix(prefix + "kernel_projection", 2 * c.conv.taps * groups, c.hidden, &out.projection);
  }

  Status selector(int32_t vocab) {
    const DflashConfig& c = weights_->config;
    const std::string prefix = names_.prefix + "candidate_selector.";
    TRY(binder_.table(prefix + "predecessor_codebook", vocab, c.selector.rank, &weights_->predecessors));
    TRY(binder_.table(prefix + "successor_codebook", vocab, c.selector.rank, &weights_->successors));
    return binder_.matrix(prefix + "hidden_projection", c.selector.rank, c.hidden, &weights_->selector_projection);
  }

  TensorBinder binder_;
  Names names_;
  std::shared_ptr<DflashWeights> weights_;
};

// Of weights that may be changed, or not.
template <class Weights, class Visit>
void each_matrix(Weights& w, const Visit& visit) {
  for (auto& l : w.layers)
    for (auto* m :
         {&l.q, &l.k, &l.v, &l.o, &l.gate, &l.up, &l.down, &l.attention_conv.projection, &l.mlp_conv.projection})
      visit(*m);
  visit(w.fc);
  visit(w.selector_projection);
}

template <class Weights, class Visit>
void each_vector(Weights& w, const Visit& visit) {
  for (auto& l : w.layers)
    for (auto* v : {&l.input_norm, &l.post_attention_norm, &l.q_norm, &l.k_norm, &l.q_bias, &l.k_bias, &l.v_bias,
                    &l.o_bias, &l.attention_conv.base, &l.mlp_conv.base})
      visit(*v);
  visit(w.hidden_norm);
  visit(w.norm);
}

}  // namespace

Result<std::shared_ptr<const DflashWeights>> bind_dflash_weights(std::shared_ptr<const Checkpoint> checkpoint,
                                                                 DflashConfig config, const ModelWeights& target,
                                                                 ThreadPool& pool) {
  return Binding(std::move(checkpoint), std::move(config), pool).run(target);
}

Result<std::shared_ptr<const DflashWeights>> load_dflash(const fs::path& folder, const ModelWeights& target,
                                                         ThreadPool& pool) {
  const auto named = [&](const Error& error) { return Error{fmt::format("{}: {}", folder.string(), error.message)}; };
  DflashConfig config;
  const auto read = [&](const Checkpoint& opened) -> Status {
    auto found = read_dflash_config(opened.config_json());
    if (!found.ok()) return named(found.error());
    config = std::move(*found);
    if (const Status fits = check_fits(config, target); !fits.ok()) return named(fits.error());
    return Done{};
  };
  std::error_code error;
  if (fs::exists(folder / "mask_embedding.pt", error))
    return named(
        {"mask_embedding.pt: a mask of its own is not supported; the mask is a row of the target's embedding"});
  TRY_ASSIGN(auto checkpoint, Checkpoint::open(folder, read));
  auto weights = bind_dflash_weights(std::move(checkpoint), std::move(config), target, pool);
  if (!weights.ok()) return named(weights.error());
  return weights;
}

std::shared_ptr<const DflashWeights> place_weights(std::shared_ptr<const DflashWeights> weights, kernels::Ops& ops) {
  if (weights->placed == ops.placed_tag()) return weights;
  auto placed = std::make_shared<DflashWeights>(*weights);
  placed->placed = ops.placed_tag();
  Placing placing(ops, placed->owners, placed->checkpoint.get());
  each_matrix(*placed, [&](Matrix& m) {
    if (m.present()) placing.place(m);
  });
  each_vector(*placed, [&](Vector& v) { placing.place(v); });
  for (Matrix* table : {&placed->predecessors, &placed->successors})
    if (table->present()) placing.place_table(*table);
  placing.finish();
  return placed;
}

size_t DflashWeights::total_bytes() const {
  size_t bytes = predecessors.bytes() + successors.bytes();
  each_matrix(*this, [&](const Matrix& m) { bytes += m.bytes(); });
  each_vector(*this, [&](const Vector& v) { bytes += v.size() * sizeof(float); });
  return bytes;
}

}  // namespace paceline
