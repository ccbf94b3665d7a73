// model.safetensors.index.json: which shard file holds which tensor.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace paceline {

struct ShardIndex {
  std::vector<std::string> shards;         // file names, sorted: the shards' order
  std::map<std::string, size_t> shard_of;  // tensor name → its place in `shards`
};

// Shard names are file names beside the index and nothing more: a path is an error.
Result<ShardIndex> parse_shard_index(std::string_view json);

}  // namespace paceline
