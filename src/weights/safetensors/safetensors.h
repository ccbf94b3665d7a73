// The header of a safetensors file, read as hostile input: an 8-byte little-endian length, that many bytes of JSON
// {"name": {"dtype": "BF16", "shape": [..], "data_offsets": [begin, end]}, "__metadata__": {..}}, then the tensors'
// bytes. What comes back is checked: every range lies inside the file and has the size that dtype and shape give, and
// the ranges cover the bytes after the header exactly, without overlap or hole, as the format demands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"

namespace paceline {

// The format's own limit on the header.
inline constexpr uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;
// Of the header's length, which every file begins with.
inline constexpr size_t kLengthBytes = 8;
inline constexpr size_t kMaxTensorRank = 8;

struct TensorEntry {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // from the start of the file
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<TensorEntry> tensors;  // by begin
  std::map<std::string, std::string> metadata;
};

Result<SafetensorsHeader> parse_safetensors(std::span<const std::byte> file);

// "[2, 3]"
std::string shape_text(std::span<const int64_t> shape);

}  // namespace paceline
