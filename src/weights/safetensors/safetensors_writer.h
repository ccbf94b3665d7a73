// Writes one safetensors file. The list of tensors comes first, so the header is known before the first byte of
// weights; then the tensors' bytes, in any order and in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"
#include "weights/partial_file.h"

namespace paceline {

struct TensorPlan {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;

  [[nodiscard]] uint64_t bytes() const;
};

class SafetensorsWriter {
 public:
  // Tensors are laid out by falling element size, else in the order given, and the first starts at a multiple of 64: so
  // each one is aligned for its dtype and may be read in place.
  static Result<SafetensorsWriter> create(const std::filesystem::path& path, std::vector<TensorPlan> tensors,
                                          const std::map<std::string, std::string>& metadata);

  // `tensor`: its place in the list given to create(). `offset`: in bytes, within the tensor.
  Status write(size_t tensor, uint64_t offset, std::span<const std::byte> bytes);
  Status finish();

 private:
  struct Placed {
    std::string name;
    uint64_t begin = 0;  // in the file
    uint64_t bytes = 0;
    uint64_t written = 0;
  };
  SafetensorsWriter(PartialFile file, size_t tensors) : file_(std::move(file)), tensors_(tensors) {}

  PartialFile file_;
  std::vector<Placed> tensors_;
};

}  // namespace paceline
