// A checkpoint folder in Hugging Face layout: its weights files mapped, their tensors by name, and the small files
// beside them. Knows no model. Immutable once open; views stay valid for as long as the Checkpoint lives.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"
#include "weights/mapped_file.h"

namespace paceline {

struct TensorView {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  const std::byte* values = nullptr;  // [shape], row-major
  size_t bytes = 0;

  // Whether the values may be read in place as their dtype.
  [[nodiscard]] bool aligned() const { return reinterpret_cast<uintptr_t>(values) % dtype_bytes(dtype) == 0; }
};

class Checkpoint {
 public:
  // Needs config.json and model.safetensors, or model.safetensors.index.json with its shards.
  static Result<std::shared_ptr<const Checkpoint>> open(const std::filesystem::path& folder) {
    return open(folder, [](const Checkpoint&) -> Status { return Done{}; });
  }
  // before_weights: asked when the configs are read and no weights are looked for yet, so that a model of another kind
  // hears that it is one, and not what it lacks.
  using BeforeWeights = std::function<Status(const Checkpoint& opened)>;
  static Result<std::shared_ptr<const Checkpoint>> open(const std::filesystem::path& folder,
                                                        const BeforeWeights& before_weights);

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] std::span<const MappedFile> files() const { return files_; }      // in shard order
  [[nodiscard]] std::span<const TensorView> tensors() const { return tensors_; }  // file by file, as they lie
  [[nodiscard]] const TensorView* find(std::string_view name) const;
  // Gives back the memory that these bytes take, if they lie in one of the files. They stay readable.
  void forget(std::span<const std::byte> part) const;

  [[nodiscard]] const std::string& config_json() const { return config_json_; }
  // Empty where the folder has none.
  [[nodiscard]] const std::string& generation_config_json() const { return generation_config_json_; }
  // tokenizer.json, tokenizer_config.json, chat_template.jinja, …: read when asked for; nullopt where absent.
  [[nodiscard]] Result<std::optional<std::string>> side_file(std::string_view name) const;

 private:
  Checkpoint() = default;
  Status open_files();
  Status add_file(const std::string& name);

  std::filesystem::path folder_;
  std::string config_json_, generation_config_json_;
  std::vector<MappedFile> files_;
  std::vector<TensorView> tensors_;
  std::unordered_map<std::string_view, size_t> by_name_;  // keys live in tensors_
};

// Keeps count of which tensors a reader took, so that those nobody asked for can be named.
class TensorUse {
 public:
  explicit TensorUse(const Checkpoint& checkpoint) : checkpoint_(&checkpoint) {}

  // nullptr where there is none of that name.
  const TensorView* take(std::string_view name);
  [[nodiscard]] bool has(std::string_view name) const { return checkpoint_->find(name) != nullptr; }
  [[nodiscard]] std::vector<const TensorView*> untaken() const;

 private:
  const Checkpoint* checkpoint_;
  std::unordered_set<const TensorView*> taken_;
};

}  // namespace paceline
