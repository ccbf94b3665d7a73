// A model as GGUF: one file or several, its vision side in another or within, seen as the Hugging Face folder that it
// was made from. Nothing is changed but names: matrices are read where the files are mapped, in the blocks they have.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "weights/checkpoint.h"
#include "weights/gguf/gguf_files.h"
#include "weights/gguf/gguf_vocabulary.h"

namespace paceline {

// Which files make up a model. An error says what was looked for.
struct GgufPlace {
  std::filesystem::path model;
  std::filesystem::path vision;  // empty: none, or within the model's

  // Of a file (any one of several, which is the model's; a projector lies beside it), of a folder with one model, or of
  // an Ollama manifest.
  static Result<GgufPlace> find(const std::filesystem::path& place);
};

// Any file, or a folder that has a .gguf and no config.json.
bool is_gguf_place(const std::filesystem::path& place);
// By its name.
bool is_gguf_file(const std::filesystem::path& file);
// The model whose name has this quantisation in it, "Q4_K_M", in a folder or the folders within it.
Result<std::filesystem::path> gguf_named(const std::filesystem::path& folder, const std::string& quant);
// Models and drafters in a folder and the folders within it; of several parts the first.
std::vector<std::filesystem::path> gguf_models_in(const std::filesystem::path& folder);
// "Q4_K_M", of …-Q4_K_M.gguf; empty where the name has none.
std::string gguf_quant_label(const std::filesystem::path& file);
// Drafters that lie beside a model, or in a folder MTP there.
std::vector<std::filesystem::path> gguf_drafters_beside(const std::filesystem::path& place);

class GgufCheckpoint : public Checkpoint {
 public:
  static Result<std::shared_ptr<const Checkpoint>> open(const std::filesystem::path& place,
                                                        const BeforeWeights& before_weights);

  // What was asked for, file or folder.
  [[nodiscard]] const std::filesystem::path& folder() const override { return place_; }
  [[nodiscard]] std::span<const MappedFile> files() const override { return mapped_; }
  [[nodiscard]] std::span<const TensorView> tensors() const override { return tensors_; }
  [[nodiscard]] const TensorView* find(std::string_view name) const override;
  [[nodiscard]] const std::string& config_json() const override { return config_json_; }
  [[nodiscard]] const std::string& generation_config_json() const override { return generation_config_json_; }
  [[nodiscard]] Result<std::optional<std::string>> side_file(std::string_view name) const override;

 private:
  Status read_configs();
  Status read_tensors();

  std::filesystem::path place_;
  GgufFiles model_;
  std::optional<GgufFiles> vision_;
  std::optional<GgufVocabulary> vocabulary_;
  std::string config_json_, generation_config_json_;
  std::vector<MappedFile> mapped_;
  std::vector<TensorView> tensors_;
  std::vector<std::shared_ptr<const void>> owners_;
  std::unordered_map<std::string_view, size_t> by_name_;  // keys live in tensors_
};

}  // namespace paceline
