#include "weights/checkpoint.h"

#include "weights/gguf/gguf_checkpoint.h"
#include "weights/safetensors/folder.h"

namespace paceline {

Result<std::shared_ptr<const Checkpoint>> Checkpoint::open(const std::filesystem::path& place,
                                                           const BeforeWeights& before_weights) {
  if (is_gguf_place(place)) return GgufCheckpoint::open(place, before_weights);
  return SafetensorsFolder::open(place, before_weights);
}

void Checkpoint::forget(std::span<const std::byte> part) const {
  for (const MappedFile& file : files()) {
    if (file.forget(part)) return;
  }
}

void Checkpoint::forget_all() const {
  for (const MappedFile& file : files()) file.forget(file.bytes());
}

const TensorView* TensorUse::take(std::string_view name) {
  const TensorView* tensor = checkpoint_->find(name);
  if (tensor != nullptr) taken_.insert(tensor);
  return tensor;
}

std::vector<const TensorView*> TensorUse::untaken() const {
  std::vector<const TensorView*> rest;
  for (const TensorView& tensor : checkpoint_->tensors()) {
    if (!taken_.contains(&tensor)) rest.push_back(&tensor);
  }
  return rest;
}

}  // namespace paceline
