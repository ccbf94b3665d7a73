#include "weights/gguf/writing/write_gguf.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <cmath>

#include "weights/gguf/writing/gguf_writer.h"
#include "weights/gguf/writing/written_gemma4.h"
#include "weights/gguf/writing/written_qwen.h"
#include "weights/gguf/writing/written_tensor.h"
#include "weights/gguf/writing/written_vocabulary.h"
#include "weights/json_fields.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

struct WrittenFile {
  GgufKeys keys;
  std::vector<WrittenTensor> tensors;
};

// A square of pixels has the channel first there.
std::vector<int64_t> patch_shape(const TensorView& tensor, bool tower) {
  if (!tower || tensor.shape.size() != 2) return tensor.shape;
  const auto side = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(tensor.shape[1]) / 3)));
  return {tensor.shape[0], 3, side, side};
}

WrittenTensor vision_tensor(const std::string& name, const WrittenNames::Vision& vision, bool tower) {
  const TensorView& source = *vision.tensor;
  using Order = GgufVisionName::Order;
  const bool matrix = source.shape.size() == 2 && vision.order == Order::same;
  if (matrix) return {{name, source.shape, {source.dtype, WeightFormat::none}}, {&source}};
  std::vector<int64_t> shape = written_shape(source);
  if (vision.order == Order::channels_first) shape = patch_shape(source, tower);
  if (vision.order == Order::axes_first) std::swap(shape[0], shape[1]);
  return {{name, shape, kWrittenFloats}, {}, in_gguf_order(written_floats(source), source.shape, vision.order)};
}

// What a model says of how it is sampled, and what it never writes.
Status add_generation_keys(const Checkpoint& checkpoint, GgufKeys* keys) {
  if (checkpoint.generation_config_json().empty()) return Done{};
  TRY_ASSIGN(const json::object generation,
             parse_json_object(checkpoint.generation_config_json(), "generation_config.json"));
  const JsonFields fields(generation, "generation_config.json");
  if (fields.find("temperature") != nullptr) {
    TRY_ASSIGN(const double value, fields.number_or("temperature", 1, 0, 100));
    keys->number("general.sampling.temp", static_cast<float>(value));
  }
  if (fields.find("top_p") != nullptr) {
    TRY_ASSIGN(const double value, fields.number_or("top_p", 1, 0, 1));
    keys->number("general.sampling.top_p", static_cast<float>(value));
  }
  if (fields.find("top_k") != nullptr) {
    TRY_ASSIGN(const int64_t value, fields.integer_or("top_k", 0, 0, 1 << 24));
    keys->unsigned_integer("general.sampling.top_k", static_cast<uint32_t>(value));
  }
  const json::value* never = fields.find("suppress_tokens");
  if (never == nullptr || !never->is_array()) return Done{};
  std::vector<int32_t> ids;
  for (const json::value& id : never->get_array())
    if (const auto number = json_integer(id)) ids.push_back(static_cast<int32_t>(*number));
  keys->integers("tokenizer.ggml.suppress_tokens", ids);
  return Done{};
}

Status add_gemma4(const Checkpoint& checkpoint, const json::object& config, const WrittenNames& names,
                  const GgufRecipe& recipe, WrittenFile* file) {
  TRY(add_gemma4_keys(config, names, &file->keys));
  const TensorView* embedding = names.find("token_embd.weight");
  if (embedding == nullptr || embedding->shape.size() != 2)
    return Error{fmt::format("{}: expected a matrix of embeddings", checkpoint.folder().string())};
  TRY_ASSIGN(const auto tokenizer, checkpoint.side_file("tokenizer.json"));
  // A drafter speaks its target's words.
  if (tokenizer || names.find("nextn.pre_projection.weight") == nullptr)
    TRY(add_vocabulary_keys(checkpoint, embedding->shape[0], &file->keys));
  TRY_ASSIGN(const int64_t layers, written_layers(config));
  TRY_ASSIGN(std::vector<float> factors, written_rope_factors(config, names));
  file->tensors.push_back(
      {{"rope_freqs.weight", {static_cast<int64_t>(factors.size())}, kWrittenFloats}, {}, std::move(factors)});
  for (const auto& [name, source] : names.text) {
    const GgufType type = recipe.type_of(name, source->shape, source->dtype, layers);
    file->tensors.push_back({{name, written_shape(*source), type}, {source}});
  }
  return Done{};
}

Status add_qwen(const Checkpoint& checkpoint, const json::object& config, const GgufRecipe& recipe, WrittenFile* file) {
  TRY_ASSIGN(const QwenForm form, QwenForm::of(checkpoint, config));
  TRY(add_qwen_keys(config, form, &file->keys));
  TRY_ASSIGN(file->tensors, written_qwen_tensors(checkpoint, form, recipe));
  for (const WrittenTensor& tensor : file->tensors)
    if (tensor.plan.name == "token_embd.weight" && tensor.plan.shape.size() == 2)
      return add_byte_vocabulary_keys(checkpoint, tensor.plan.shape[0], &file->keys);
  return Error{fmt::format("{}: expected a matrix of embeddings", checkpoint.folder().string())};
}

Status add_general_keys(const Checkpoint& checkpoint, const GgufRecipe& recipe, GgufKeys* keys) {
  keys->text("general.type", "model");
  keys->text("general.name", checkpoint.folder().filename().string());
  keys->unsigned_integer("general.file_type", recipe.file_type);
  keys->unsigned_integer("general.quantization_version", 2);
  return add_generation_keys(checkpoint, keys);
}

Result<WrittenFile> vision_file(const json::object& config, const WrittenNames& names) {
  WrittenFile file;
  TRY(add_gemma4_vision_keys(config, &file.keys));
  const bool tower = names.vision.contains("v.blk.0.attn_q.weight");
  for (const auto& [name, vision] : names.vision) file.tensors.push_back(vision_tensor(name, vision, tower));
  return file;
}

class Steps {
 public:
  Steps(const std::function<void(int, int)>& progress, size_t total)
      : progress_(progress), total_(static_cast<int>(total)) {}
  void one_more() {
    ++done_;
    if (progress_) progress_(done_, total_);
  }

 private:
  const std::function<void(int, int)>& progress_;
  int done_ = 0, total_;
};

Status write_file(const WrittenFile& file, const fs::path& to, ThreadPool& pool, Steps* steps, GgufSummary* summary) {
  std::vector<GgufTensorPlan> plans;
  for (const WrittenTensor& tensor : file.tensors) plans.push_back(tensor.plan);
  TRY_ASSIGN(GgufWriter writer, GgufWriter::create(to, file.keys, plans));
  for (size_t i = 0; i < file.tensors.size(); ++i) {
    const WrittenTensor& tensor = file.tensors[i];
    TRY(write_tensor(tensor, i, pool, writer));
    ++(tensor.plan.type.in_blocks() ? summary->quantised : summary->kept);
    summary->bytes_after += tensor.plan.bytes();
    steps->one_more();
  }
  return writer.finish();
}

Status refuse_existing(const fs::path& file) {
  std::error_code error;
  if (fs::exists(file, error)) return Error{fmt::format("{}: expected no such file, but it exists", file.string())};
  return Done{};
}

}  // namespace

fs::path gguf_vision_file(const fs::path& model) {
  return model.parent_path() / fmt::format("mmproj-{}", model.filename().string());
}

Result<GgufSummary> write_gguf(const Checkpoint& checkpoint, const fs::path& to, const GgufRecipe& recipe,
                               ThreadPool& pool, const std::function<void(int done, int total)>& progress) {
  TRY(refuse_existing(to));
  TRY_ASSIGN(const json::object config, parse_json_object(checkpoint.config_json(), "config.json"));
  for (const char* packed : {"quantization", "quantization_config"}) {
    if (const json::value* found = config.if_contains(packed); found != nullptr && !found->is_null())
      return Error{fmt::format("{}: expected weights that are not packed yet, found {} in its config.json",
                               checkpoint.folder().string(), packed)};
  }
  WrittenFile model;
  WrittenNames names;
  if (is_written_qwen(config)) {
    TRY(add_qwen(checkpoint, config, recipe, &model));
  } else {
    TRY_ASSIGN(names, WrittenNames::of(checkpoint));
    TRY(add_gemma4(checkpoint, config, names, recipe, &model));
  }
  TRY(add_general_keys(checkpoint, recipe, &model.keys));
  GgufSummary summary;
  for (const TensorView& tensor : checkpoint.tensors()) summary.bytes_before += tensor.bytes;
  Steps steps(progress, model.tensors.size() + names.vision.size());
  if (!names.vision.empty()) {
    summary.vision = gguf_vision_file(to);
    TRY(refuse_existing(summary.vision));
    TRY_ASSIGN(const WrittenFile vision, vision_file(config, names));
    TRY(write_file(vision, summary.vision, pool, &steps, &summary));
  }
  TRY(write_file(model, to, pool, &steps, &summary));
  return summary;
}

}  // namespace paceline
