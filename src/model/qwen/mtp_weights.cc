#include "model/qwen/mtp_weights.h"

#include <fmt/format.h>

#include "model/placing.h"
#include "model/qwen/binding.h"

namespace paceline::qwen {
namespace {

constexpr const char* kMtpJoin = "mtp.fc";

}  // namespace

bool has_mtp(const QwenWeights& target) {
  return target.checkpoint != nullptr && target.checkpoint->find(fmt::format("{}.weight", kMtpJoin)) != nullptr;
}

Result<std::shared_ptr<const MtpWeights>> bind_mtp(const QwenWeights& target, ThreadPool& pool) {
  const QwenConfig& config = target.config;
  const std::string folder = target.checkpoint->folder().string();
  if (config.mtp_layers > 1)
    return Error{fmt::format("{}: mtp_num_hidden_layers: expected at most 1, found {}", folder, config.mtp_layers)};
  TensorBinder binder(target.checkpoint, pool);
  auto weights = std::make_shared<MtpWeights>();
  const auto bind = [&]() -> Status {
    TRY(binder.matrix(kMtpJoin, config.hidden, int64_t{2} * config.hidden, &weights->join));
    TRY(bind_norm(binder, "mtp.pre_fc_norm_embedding.weight", config.hidden, config, &weights->embedding_norm));
    TRY(bind_norm(binder, "mtp.pre_fc_norm_hidden.weight", config.hidden, config, &weights->hidden_norm));
    TRY(bind_norm(binder, "mtp.norm.weight", config.hidden, config, &weights->final_norm));
    return bind_layer(binder, "mtp.layers.0.", config, {Mixer::attention, config.experts > 0}, &weights->layer);
  };
  if (const Status bound = bind(); !bound.ok()) return Error{fmt::format("{}: {}", folder, bound.error().message)};
  weights->owners = binder.take_owners();
  weights->checkpoint = target.checkpoint;
  return std::shared_ptr<const MtpWeights>(std::move(weights));
}

std::shared_ptr<const MtpWeights> place_mtp(std::shared_ptr<const MtpWeights> weights, kernels::Ops& ops) {
  if (weights->placed == ops.placed_tag()) return weights;
  auto placed = std::make_shared<MtpWeights>(*weights);
  placed->placed = ops.placed_tag();
  Placing placing(ops, placed->owners, placed->checkpoint.get());
  placing.place(placed->join);
  place_layer(placing, placed->layer);
  for (Vector* vector : {&placed->embedding_norm, &placed->hidden_norm, &placed->final_norm}) placing.place(*vector);
  placing.finish();
  return placed;
}

}  // namespace paceline::qwen
