// The header of a GGUF file, read as hostile input: "GGUF", the version, how many tensors and keys; the keys with their
// values; the tensors' names, shapes, types and places. What comes back is checked: nothing is counted that the file
// cannot hold, names and keys are unique, every tensor lies inside the file behind the header, aligned, and none over
// another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "weights/gguf/gguf_metadata.h"
#include "weights/gguf/gguf_types.h"

namespace paceline {

struct GgufTensor {
  std::string_view name;
  GgufType type;
  uint32_t type_number = 0;
  std::vector<int64_t> shape;  // as Hugging Face has it: the length of a row is the last
  uint64_t begin = 0;          // from the start of the file
  uint64_t bytes = 0;
};

// Views into the file's bytes, which outlive it.
struct GgufHeader {
  GgufMetadata metadata;
  std::vector<GgufTensor> tensors;  // as listed
};

bool begins_as_gguf(std::span<const std::byte> file);

Result<GgufHeader> parse_gguf(std::span<const std::byte> file);

}  // namespace paceline
