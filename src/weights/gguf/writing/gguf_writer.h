// Writes one GGUF file: keys and the list of tensors first, then the tensors' bytes, in any order and in pieces.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "weights/gguf/gguf_types.h"
#include "weights/gguf/writing/gguf_keys.h"
#include "weights/partial_file.h"

namespace paceline {

struct GgufTensorPlan {
  std::string name;
  std::vector<int64_t> shape;  // as Hugging Face has it: the length of a row last
  GgufType type;

  [[nodiscard]] uint64_t bytes() const;
};

class GgufWriter {
 public:
  static Result<GgufWriter> create(const std::filesystem::path& path, const GgufKeys& keys,
                                   const std::vector<GgufTensorPlan>& tensors);

  // `tensor`: its place in the list given to create(). `offset`: in bytes, within the tensor.
  Status write(size_t tensor, uint64_t offset, std::span<const std::byte> bytes);
  Status finish();

 private:
  struct Placed {
    uint64_t begin = 0, bytes = 0, written = 0;
  };
  GgufWriter(PartialFile file, std::vector<Placed> tensors) : file_(std::move(file)), tensors_(std::move(tensors)) {}

  PartialFile file_;
  std::vector<Placed> tensors_;
  uint64_t end_ = 0;
};

}  // namespace paceline
