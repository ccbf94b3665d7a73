#include "weights/safetensors/folder.h"

#include <fmt/format.h>

#include "base/regular_file.h"
#include "weights/safetensors/safetensors.h"
#include "weights/safetensors/shard_index.h"

namespace paceline {
namespace {

constexpr const char* kSingleFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";
// A parsed document may take some ten times its text; real ones have kilobytes.
constexpr size_t kMaxConfigBytes = 4u << 20;
constexpr size_t kMaxIndexBytes = 32u << 20;
// Gemma's tokenizer.json has about 32 MiB.
constexpr size_t kMaxSideFileBytes = 512u << 20;

// Of index and shards: each tensor is in the shard that the index names, and no other is there.
Status check_index(const ShardIndex& index, std::span<const TensorView> tensors,
                   std::span<const size_t> shard_of_tensor) {
  std::unordered_map<std::string_view, size_t> found;
  for (size_t i = 0; i < tensors.size(); ++i) found.emplace(tensors[i].name, shard_of_tensor[i]);
  for (const auto& [name, shard] : index.shard_of) {
    const auto at = found.find(name);
    if (at == found.end() || at->second != shard) {
      return Error{
          fmt::format("{}: tensor \"{}\" should be in {}, but is not there", kIndexFile, name, index.shards[shard])};
    }
  }
  for (const TensorView& tensor : tensors) {
    if (!index.shard_of.contains(tensor.name)) {
      return Error{fmt::format("{}: tensor \"{}\" is in a shard, but not in the index", kIndexFile, tensor.name)};
    }
  }
  return Done{};
}

}  // namespace

Result<std::shared_ptr<const Checkpoint>> SafetensorsFolder::open(const std::filesystem::path& folder,
                                                                  const BeforeWeights& before_weights) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return Error{fmt::format("{}: expected a checkpoint folder", folder.string())};
  }
  const auto checkpoint = std::make_shared<SafetensorsFolder>();
  checkpoint->folder_ = folder;
  TRY_ASSIGN(checkpoint->config_json_, read_file(folder / "config.json", kMaxConfigBytes));
  if (std::filesystem::exists(folder / "generation_config.json", error)) {
    TRY_ASSIGN(checkpoint->generation_config_json_, read_file(folder / "generation_config.json", kMaxConfigBytes));
  }
  TRY(before_weights(*checkpoint));
  TRY(checkpoint->open_files());
  return std::shared_ptr<const Checkpoint>(checkpoint);
}

Status SafetensorsFolder::open_files() {
  std::error_code error;
  if (std::filesystem::exists(folder_ / kSingleFile, error)) {
    TRY(add_file(kSingleFile));
  } else if (std::filesystem::exists(folder_ / kIndexFile, error)) {
    TRY_ASSIGN(const std::string text, read_file(folder_ / kIndexFile, kMaxIndexBytes));
    TRY_ASSIGN(const ShardIndex index, parse_shard_index(text));
    std::vector<size_t> shard_of_tensor;
    for (size_t shard = 0; shard < index.shards.size(); ++shard) {
      TRY(add_file(index.shards[shard]));
      shard_of_tensor.resize(tensors_.size(), shard);
    }
    TRY(check_index(index, tensors_, shard_of_tensor));
  } else {
    return Error{fmt::format("{}: expected {} or {}, found neither", folder_.string(), kSingleFile, kIndexFile)};
  }
  // Only now do the names stay where they are.
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (!by_name_.emplace(tensors_[i].name, i).second) {
      return Error{fmt::format("{}: tensor \"{}\" is in two shards", folder_.string(), tensors_[i].name)};
    }
  }
  return Done{};
}

Status SafetensorsFolder::add_file(const std::string& name) {
  TRY_ASSIGN(MappedFile file, MappedFile::open(folder_ / name));
  auto parsed = parse_safetensors(file.bytes());
  if (!parsed.ok()) return Error{fmt::format("{}: {}", file.path().string(), parsed.error().message)};
  for (TensorEntry& entry : parsed->tensors) {
    tensors_.push_back({std::move(entry.name), entry.dtype, std::move(entry.shape), file.bytes().data() + entry.begin,
                        static_cast<size_t>(entry.end - entry.begin)});
  }
  files_.push_back(std::move(file));
  return Done{};
}

const TensorView* SafetensorsFolder::find(std::string_view name) const {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : &tensors_[at->second];
}

Result<std::optional<std::string>> SafetensorsFolder::side_file(std::string_view name) const {
  const auto path = folder_ / name;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::optional<std::string>();
  TRY_ASSIGN(std::string text, read_file(path, kMaxSideFileBytes));
  return std::optional<std::string>(std::move(text));
}

}  // namespace paceline
