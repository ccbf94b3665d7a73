// A checkpoint folder in Hugging Face layout: config.json, and model.safetensors or model.safetensors.index.json with
// its shards.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "weights/checkpoint.h"

namespace paceline {

class SafetensorsFolder : public Checkpoint {
 public:
  static Result<std::shared_ptr<const Checkpoint>> open(const std::filesystem::path& folder,
                                                        const BeforeWeights& before_weights);

  [[nodiscard]] const std::filesystem::path& folder() const override { return folder_; }
  [[nodiscard]] std::span<const MappedFile> files() const override { return files_; }  // in shard order
  [[nodiscard]] std::span<const TensorView> tensors() const override { return tensors_; }
  [[nodiscard]] const TensorView* find(std::string_view name) const override;
  [[nodiscard]] const std::string& config_json() const override { return config_json_; }
  [[nodiscard]] const std::string& generation_config_json() const override { return generation_config_json_; }
  [[nodiscard]] Result<std::optional<std::string>> side_file(std::string_view name) const override;

 private:
  Status open_files();
  Status add_file(const std::string& name);

  std::filesystem::path folder_;
  std::string config_json_, generation_config_json_;
  std::vector<MappedFile> files_;
  std::vector<TensorView> tensors_;
  std::unordered_map<std::string_view, size_t> by_name_;  // keys live in tensors_
};

}  // namespace paceline
