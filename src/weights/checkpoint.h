// A checkpoint: named tensors in mapped files, and the small files beside them, whatever the files' format. Knows no
// model. Immutable once open; views stay valid for as long as the Checkpoint lives.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"
#include "tensor/matrix.h"
#include "weights/mapped_file.h"

namespace paceline {

struct TensorView {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  const std::byte* values = nullptr;  // [shape], row-major
  size_t bytes = 0;
  WeightFormat blocks = WeightFormat::none;  // or the blocks that the rows consist of, whatever the dtype
  const double* factors = nullptr;           // of blocks: [rows in all], or none: what all of a row is multiplied with

  // Whether the values may be read in place as their dtype.
  [[nodiscard]] bool aligned() const { return reinterpret_cast<uintptr_t>(values) % dtype_bytes(dtype) == 0; }
};

// Each format of files implements it, in a folder of its own.
class Checkpoint {
 public:
  // before_weights: asked when the configs are read and no weights are looked for yet, so that a model of another kind
  // hears that it is one, and not what it lacks.
  using BeforeWeights = std::function<Status(const Checkpoint& opened)>;
  // What lies at `place`, in the format that it has.
  static Result<std::shared_ptr<const Checkpoint>> open(const std::filesystem::path& place,
                                                        const BeforeWeights& before_weights);
  static Result<std::shared_ptr<const Checkpoint>> open(const std::filesystem::path& place) {
    return open(place, [](const Checkpoint&) -> Status { return Done{}; });
  }

  Checkpoint() = default;
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;
  virtual ~Checkpoint() = default;

  [[nodiscard]] virtual const std::filesystem::path& folder() const = 0;
  [[nodiscard]] virtual std::span<const MappedFile> files() const = 0;
  [[nodiscard]] virtual std::span<const TensorView> tensors() const = 0;  // file by file, as they lie
  [[nodiscard]] virtual const TensorView* find(std::string_view name) const = 0;

  [[nodiscard]] virtual const std::string& config_json() const = 0;
  // Empty where there is none.
  [[nodiscard]] virtual const std::string& generation_config_json() const = 0;
  // tokenizer.json, tokenizer_config.json, chat_template.jinja, …: read when asked for; nullopt where absent.
  [[nodiscard]] virtual Result<std::optional<std::string>> side_file(std::string_view name) const = 0;

  // Gives back the memory that these bytes take, if they lie in one of the files. They stay readable.
  void forget(std::span<const std::byte> part) const;
  void forget_all() const;
};

// Keeps count of which tensors a reader took, so that those nobody asked for can be named.
class TensorUse {
 public:
  explicit TensorUse(const Checkpoint& checkpoint) : checkpoint_(&checkpoint) {}

  // nullptr where there is none of that name.
  const TensorView* take(std::string_view name);
  // Without taking it.
  [[nodiscard]] const TensorView* find(std::string_view name) const { return checkpoint_->find(name); }
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  [[nodiscard]] std::vector<const TensorView*> untaken() const;

 private:
  const Checkpoint* checkpoint_;
  std::unordered_set<const TensorView*> taken_;
};

}  // namespace paceline
