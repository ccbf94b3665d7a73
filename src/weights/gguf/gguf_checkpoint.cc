#include "weights/gguf/gguf_checkpoint.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "weights/gguf/gguf_words.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

enum class GgufKind : uint8_t { gemma4, assistant, qwen };

Result<GgufKind> gguf_kind_of(const GgufFiles& files) {
  TRY_ASSIGN(const std::string name, files.metadata().text("general.architecture"));
  if (name == "gemma4") return GgufKind::gemma4;
  if (name == "gemma4-assistant" || name == "gemma4_assistant") return GgufKind::assistant;
  for (const char* qwen : {"qwen3", "qwen3moe", "qwen35", "qwen35moe"})
    if (name == qwen) return GgufKind::qwen;
  return files.metadata().wrong("general.architecture",
                                "gemma4, gemma4-assistant, gemma4_assistant, qwen3, qwen3moe, qwen35 or qwen35moe");
}

Status in_file(const fs::path& file, const Status& status) {
  if (status.ok()) return status;
  return Error{fmt::format("{}: {}", file.string(), status.error().message)};
}

}  // namespace

Result<std::shared_ptr<const Checkpoint>> GgufCheckpoint::open(const fs::path& place,
                                                               const BeforeWeights& before_weights) {
  TRY_ASSIGN(const GgufPlace found, GgufPlace::find(place));
  const auto checkpoint = std::make_shared<GgufCheckpoint>();
  checkpoint->place_ = place;
  TRY_ASSIGN(checkpoint->model_, GgufFiles::open(found.model));
  if (!found.vision.empty()) {
    TRY_ASSIGN(checkpoint->vision_, GgufFiles::open(found.vision));
  }
  TRY(in_file(found.model, checkpoint->read_configs()));
  TRY(before_weights(*checkpoint));
  TRY(in_file(found.model, checkpoint->read_tensors()));
  return std::shared_ptr<const Checkpoint>(checkpoint);
}

Status GgufCheckpoint::read_configs() {
  TRY_ASSIGN(const GgufKind kind, gguf_kind_of(model_));
  if (kind == GgufKind::assistant) {
    TRY_ASSIGN(const auto config, gemma4_assistant_gguf_config(model_));
    config_json_ = boost::json::serialize(config);
    return Done{};
  }
  TRY_ASSIGN(const int64_t rows, gguf_vocabulary_rows(model_));
  TRY_ASSIGN(vocabulary_, GgufVocabulary::read(model_.metadata(), rows));
  GgufConfigs configs;
  if (kind == GgufKind::gemma4) {
    const GgufFiles* vision = vision_ ? &*vision_ : has_gemma4_vision(model_) ? &model_ : nullptr;
    TRY_ASSIGN(configs, gemma4_gguf_configs({&model_, vision}, *vocabulary_));
  } else {
    TRY_ASSIGN(configs, qwen_gguf_configs(model_, *vocabulary_));
  }
  config_json_ = boost::json::serialize(configs.config);
  generation_config_json_ = boost::json::serialize(configs.generation);
  return Done{};
}

Status GgufCheckpoint::read_tensors() {
  TRY_ASSIGN(const GgufKind kind, gguf_kind_of(model_));
  GgufTensors made;
  switch (kind) {
    case GgufKind::gemma4: TRY(add_gemma4_tensors(model_, &made)); break;
    case GgufKind::assistant: TRY(add_gemma4_assistant_tensors(model_, &made)); break;
    case GgufKind::qwen: TRY(add_qwen_tensors(model_, &made)); break;
  }
  if (vision_) {
    TRY(add_gemma4_vision_tensors(*vision_, &made));
  } else if (kind == GgufKind::gemma4 && has_gemma4_vision(model_)) {
    TRY(add_gemma4_vision_tensors(model_, &made));
  }
  tensors_ = made.take();
  owners_ = made.take_owners();
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (!by_name_.emplace(tensors_[i].name, i).second)
      return Error{fmt::format("tensor \"{}\" is there twice, or has two names", tensors_[i].name)};
  }
  // What they map does not move.
  for (MappedFile& file : model_.files) mapped_.push_back(std::move(file));
  if (vision_)
    for (MappedFile& file : vision_->files) mapped_.push_back(std::move(file));
  return Done{};
}

const TensorView* GgufCheckpoint::find(std::string_view name) const {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : &tensors_[at->second];
}

Result<std::optional<std::string>> GgufCheckpoint::side_file(std::string_view name) const {
  using Text = std::optional<std::string>;
  if (!vocabulary_) return Text();
  const auto text_of = [](Result<std::string> made) -> Result<Text> {
    if (!made.ok()) return made.error();
    return Text(std::move(*made));
  };
  if (name == "tokenizer_config.json") return text_of(vocabulary_->tokenizer_config_json());
  if (name == "chat_template.jinja") return vocabulary_->chat_template();
  if (name == "tokenizer.json" && !vocabulary_->byte_level()) return text_of(vocabulary_->tokenizer_json());
  if (name == "vocab.json" && vocabulary_->byte_level()) return text_of(vocabulary_->vocab_json());
  if (name == "merges.txt" && vocabulary_->byte_level()) return text_of(vocabulary_->merges_txt());
  return Text();
}

}  // namespace paceline
