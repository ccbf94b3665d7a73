#include "session/random_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/units_text.h"
#include "model/gemma4/synthetic.h"
#include "model/qwen/synthetic.h"
#include "session/model_path.h"
#include "session/prompt_checks.h"

namespace paceline {
namespace {

bool is_one_of(std::string_view name, const std::vector<std::string_view>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

SyntheticFormat synthetic_format(const RandomModel& random) {
  SyntheticFormat format;
  format.group = random.group;
  for (const SyntheticFormatName& known : kSyntheticFormats) {
    if (random.format != known.name) continue;
    format.format = known.format;
    format.wide = known.wide;
  }
  return format;
}

std::vector<std::string_view> synthetic_shapes() {
  std::vector<std::string_view> all = synthetic_names();
  all.insert(all.end(), qwen::synthetic_names().begin(), qwen::synthetic_names().end());
  return all;
}

std::string synthetic_shapes_text() { return fmt::format("{}", fmt::join(synthetic_shapes(), ", ")); }

Result<std::shared_ptr<const ModelWeights>> make_random_weights(const RandomModel& random, ThreadPool& pool,
                                                                const std::function<void(const std::string&)>& tell) {
  const SyntheticFormat format = synthetic_format(random);
  const auto say = [&](size_t bytes) {
    if (tell) tell(fmt::format("making {} of random weights", bytes_text(static_cast<double>(bytes))));
  };
  if (is_one_of(random.shape, qwen::synthetic_names())) {
    TRY_ASSIGN(const qwen::QwenConfig config, qwen::synthetic_config(random.shape));
    say(qwen::synthetic_bytes(config, format));
    return std::shared_ptr<const ModelWeights>(qwen::make_synthetic(config, format, pool));
  }
  if (!is_one_of(random.shape, synthetic_names()))
    return Error{
        fmt::format("no synthetic model is called '{}': expected one of {}", random.shape, synthetic_shapes_text())};
  TRY_ASSIGN(const Gemma4Config config, synthetic_config(random.shape));
  say(synthetic_bytes(config, format));
  return std::shared_ptr<const ModelWeights>(make_synthetic(config, format, pool));
}

Result<std::shared_ptr<const MtpWeights>> make_random_mtp_weights(const RandomModel& random, ThreadPool& pool) {
  TRY_ASSIGN(const AssistantConfig config, synthetic_mtp_config(random.shape));
  return make_synthetic_mtp(config, synthetic_format(random), pool);
}

Result<TextModel> make_random_text_model(const RandomModel& random, ThreadPool& pool,
                                         const std::function<void(const std::string&)>& tell) {
  LoadedModel made;
  TRY_ASSIGN(made.weights, make_random_weights(random, pool, tell));
  made.config = made.weights->facts();
  TRY_ASSIGN(const std::filesystem::path shipped, find_shipped_model());
  TRY_ASSIGN(made.checkpoint, Checkpoint::open(shipped));
  TRY_ASSIGN(TextModel model, make_text_model(std::move(made)));
  const int32_t vocab = model.loaded.config.vocab;
  if (model.tokenizer.id_end() > vocab)
    return Error{fmt::format("{}: its vocabulary of {} is smaller than the shipped tokenizer's {}", random.shape, vocab,
                             model.tokenizer.id_end())};
  std::vector<TokenId> never = *model.never_sampled;
  for (TokenId id = 0; id < model.tokenizer.id_end(); ++id) {
    if (model.tokenizer.is_added(id)) never.push_back(id);
  }
  sort_unique(never);
  model.never_sampled = std::make_shared<const std::vector<TokenId>>(std::move(never));
  return model;
}

}  // namespace paceline
