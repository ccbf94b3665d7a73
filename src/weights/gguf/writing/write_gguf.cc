#include "weights/gguf/writing/write_gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <cmath>
#include <cstring>

#include "weights/gguf/writing/block_packing.h"
#include "weights/gguf/writing/gguf_writer.h"
#include "weights/gguf/writing/written_gemma4.h"
#include "weights/gguf/writing/written_vocabulary.h"
#include "weights/json_fields.h"
#include "weights/quantizer.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// Of what is written, made at a time: what bounds the memory in use.
constexpr uint64_t kChunkBytes = 32 << 20;
constexpr int64_t kRowsPerPiece = 16;
constexpr GgufType kFloats{DType::f32, WeightFormat::none};

// A tensor of the source in rows of another type, or numbers of its own.
struct WrittenTensor {
  GgufTensorPlan plan;
  const TensorView* source = nullptr;
  std::vector<float> values;
};

struct WrittenFile {
  GgufKeys keys;
  std::vector<WrittenTensor> tensors;
};

void encode_row(std::span<const float> row, GgufType type, std::byte* out) {
  if (type.in_blocks()) return pack_blocks(type.blocks, row, out);
  if (type.dtype == DType::f32) {
    std::memcpy(out, row.data(), row.size_bytes());
    return;
  }
  for (size_t i = 0; i < row.size(); ++i) {
    const uint16_t half = type.dtype == DType::bf16 ? f32_to_bf16(row[i]) : f32_to_f16(row[i]);
    std::memcpy(out + 2 * i, &half, sizeof half);
  }
}

int64_t elements_of(const TensorView& tensor) {
  int64_t count = 1;
  for (const int64_t dimension : tensor.shape) count *= dimension;
  return count;
}

Status write_rows(const WrittenTensor& tensor, size_t number, ThreadPool& pool, GgufWriter& writer) {
  const TensorView& source = *tensor.source;
  const int64_t cols = source.shape.empty() ? 1 : source.shape.back();
  const int64_t rows = elements_of(source) / cols;
  const auto row_bytes = tensor.plan.bytes() / static_cast<uint64_t>(rows);
  const auto chunk = static_cast<int64_t>(std::max<uint64_t>(1, kChunkBytes / row_bytes));
  std::vector<std::byte> made;
  std::atomic<bool> finite{true};
  for (int64_t first = 0; first < rows; first += chunk) {
    const int64_t count = std::min(chunk, rows - first);
    made.resize(static_cast<size_t>(count) * row_bytes);
    pool.run(count, kRowsPerPiece, [&](int64_t begin, int64_t end) {
      std::vector<float> row(static_cast<size_t>(cols));
      for (int64_t i = begin; i < end; ++i) {
        read_weight_row({source.values, source.dtype, rows, cols}, first + i, row);
        if (!std::all_of(row.begin(), row.end(), [](float f) { return std::isfinite(f); })) {
          finite.store(false, std::memory_order_relaxed);
        } else {
          encode_row(row, tensor.plan.type, made.data() + static_cast<uint64_t>(i) * row_bytes);
        }
      }
    });
    if (!finite.load()) return Error{fmt::format("tensor \"{}\": expected finite weights, found others", source.name)};
    TRY(writer.write(number, static_cast<uint64_t>(first) * row_bytes, made));
  }
  return Done{};
}

std::vector<int64_t> shape_or_one(const TensorView& tensor) {
  return tensor.shape.empty() ? std::vector<int64_t>{1} : tensor.shape;
}

std::vector<float> floats_of(const TensorView& tensor) {
  std::vector<float> values(static_cast<size_t>(elements_of(tensor)));
  read_weight_row({tensor.values, tensor.dtype, 1, static_cast<int64_t>(values.size())}, 0, values);
  return values;
}

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
  if (matrix) return {{name, source.shape, {source.dtype, WeightFormat::none}}, &source, {}};
  std::vector<int64_t> shape = shape_or_one(source);
  if (vision.order == Order::channels_first) shape = patch_shape(source, tower);
  if (vision.order == Order::axes_first) std::swap(shape[0], shape[1]);
  return {{name, shape, kFloats}, nullptr, in_gguf_order(floats_of(source), source.shape, vision.order)};
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

Result<WrittenFile> model_file(const Checkpoint& checkpoint, const json::object& config, const WrittenNames& names,
                               const GgufRecipe& recipe) {
  WrittenFile file;
  TRY(add_gemma4_keys(config, names, &file.keys));
  file.keys.text("general.type", "model");
  file.keys.text("general.name", checkpoint.folder().filename().string());
  file.keys.unsigned_integer("general.file_type", recipe.file_type);
  file.keys.unsigned_integer("general.quantization_version", 2);
  TRY(add_generation_keys(checkpoint, &file.keys));
  const TensorView* embedding = names.find("token_embd.weight");
  if (embedding == nullptr || embedding->shape.size() != 2)
    return Error{fmt::format("{}: expected a matrix of embeddings", checkpoint.folder().string())};
  TRY_ASSIGN(const auto tokenizer, checkpoint.side_file("tokenizer.json"));
  // A drafter speaks its target's words.
  if (tokenizer || names.find("nextn.pre_projection.weight") == nullptr)
    TRY(add_vocabulary_keys(checkpoint, embedding->shape[0], &file.keys));
  TRY_ASSIGN(const int64_t layers, written_layers(config));
  TRY_ASSIGN(std::vector<float> factors, written_rope_factors(config, names));
  file.tensors.push_back(
      {{"rope_freqs.weight", {static_cast<int64_t>(factors.size())}, kFloats}, nullptr, std::move(factors)});
  for (const auto& [name, source] : names.text) {
    const GgufType type = recipe.type_of(name, source->shape, source->dtype, layers);
    file.tensors.push_back({{name, shape_or_one(*source), type}, source, {}});
  }
  return file;
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
    if (tensor.source != nullptr) {
      TRY(write_rows(tensor, i, pool, writer));
    } else {
      TRY(writer.write(i, 0, std::as_bytes(std::span(tensor.values))));
    }
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
  TRY_ASSIGN(const WrittenNames names, WrittenNames::of(checkpoint));
  TRY_ASSIGN(const WrittenFile model, model_file(checkpoint, config, names, recipe));
  GgufSummary summary;
  for (const TensorView& tensor : checkpoint.tensors()) summary.bytes_before += tensor.bytes;
  Steps steps(progress, names.text.size() + 1 + names.vision.size());
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
