// The JSON of a safetensors header, as it is written there: names unique, types known, nothing else checked yet.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"

namespace paceline {

struct HeaderEntry {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  uint64_t data_begin = 0;  // from the first byte after the header
  uint64_t data_end = 0;
};

struct HeaderJson {
  std::vector<HeaderEntry> entries;  // as written
  std::map<std::string, std::string> metadata;
};

// Reads while parsing, without a document in memory: a header's size is the bound on what is allocated, and a name
// written twice is seen (a document would keep only the last).
Result<HeaderJson> parse_header_json(std::string_view json);

}  // namespace paceline
