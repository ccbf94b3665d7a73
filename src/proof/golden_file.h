// A goldens folder as it lies on disk: golden.json and golden.safetensors of one case.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"
#include "weights/json_fields.h"
#include "weights/mapped_file.h"
#include "weights/safetensors/safetensors.h"

namespace paceline {

inline constexpr size_t kMostGoldenJsonBytes = 64u << 20;

struct GoldenPrompt {
  std::vector<TokenId> ids;
  std::vector<TokenId> greedy;  // what follows, each time the largest logit
  double min_gap = 0;           // smallest distance between best and second logit on the way; 0: not known
};

// An image in the prompt: the file, and the budget of soft tokens it was given.
struct GoldenImage {
  GoldenPrompt prompt;
  std::string file;
  int32_t budget = 0;
};

// A clip in the prompt: which of its frames were shown.
struct GoldenClip {
  GoldenPrompt prompt;
  std::vector<int32_t> frames;
};

// States on the way: a safetensors file.
class GoldenStates {
 public:
  static Result<GoldenStates> open(const std::filesystem::path& path);

  struct Values {
    std::span<const float> values;  // [rows, cols]
    int64_t rows = 0, cols = 0;
  };
  Result<Values> matrix(const std::string& tensor) const;

  struct ByteValues {
    std::span<const uint8_t> values;
    std::vector<int64_t> shape;
  };
  Result<ByteValues> bytes(const std::string& tensor) const;

 private:
  Result<const TensorEntry*> find(const std::string& tensor) const;
  [[nodiscard]] const std::byte* start_of(const TensorEntry& entry) const { return file_.bytes().data() + entry.begin; }
  GoldenStates(std::string name, MappedFile file, SafetensorsHeader header)
      : file_name_(std::move(name)), file_(std::move(file)), header_(std::move(header)) {}

  std::string file_name_;
  MappedFile file_;
  SafetensorsHeader header_;
};

class GoldenFile : public GoldenStates {
 public:
  // folder: with golden.json, golden.safetensors, and the checkpoint in target/.
  static Result<GoldenFile> open(const std::filesystem::path& folder);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<GoldenPrompt>& prompts() const { return prompts_; }
  // Prompts with an image each, or a clip: their places are taken by image or video tokens.
  [[nodiscard]] const std::vector<GoldenImage>& images() const { return images_; }
  [[nodiscard]] const std::vector<GoldenClip>& clips() const { return clips_; }

 private:
  explicit GoldenFile(GoldenStates states) : GoldenStates(std::move(states)) {}
  Status read_json(const std::filesystem::path& path);

  std::string name_;
  std::vector<GoldenPrompt> prompts_;
  std::vector<GoldenImage> images_;
  std::vector<GoldenClip> clips_;
};

// A field of the goldens' JSON files.
Result<std::vector<TokenId>> read_token_list(const JsonFields& fields, std::string_view name);

// The cases of a folder: itself if it is one, else its subfolders that are.
Result<std::vector<std::filesystem::path>> find_golden_cases(const std::filesystem::path& folder);

}  // namespace paceline
