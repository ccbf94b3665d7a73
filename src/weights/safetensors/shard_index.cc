#include "weights/safetensors/shard_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "weights/json_fields.h"

namespace paceline {
namespace {

constexpr std::string_view kFile = "model.safetensors.index.json";

bool is_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find_first_of(std::string_view("/\\\0", 3)) == name.npos;
}

}  // namespace

Result<ShardIndex> parse_shard_index(std::string_view json) {
  TRY_ASSIGN(const boost::json::object document, parse_json_object(json, kFile));
  const JsonFields fields(document, std::string(kFile));
  TRY_ASSIGN(const auto weight_map, fields.object_if_any("weight_map"));
  if (!weight_map) return fields.wrong("weight_map", "an object");

  std::set<std::string> shards;
  for (const auto& [key, value] : weight_map->object()) {
    const std::string_view name(key.data(), key.size());
    TRY_ASSIGN(const std::string shard, weight_map->text(name));
    if (!is_file_name(shard)) return weight_map->wrong(name, "the name of a file in the same folder");
    shards.insert(shard);
  }
  ShardIndex index;
  index.shards.assign(shards.begin(), shards.end());
  for (const auto& [key, value] : weight_map->object()) {
    const auto& shard = value.get_string();
    const auto at =
        std::lower_bound(index.shards.begin(), index.shards.end(), std::string_view(shard.data(), shard.size()));
    index.shard_of.emplace(std::string(key.data(), key.size()), static_cast<size_t>(at - index.shards.begin()));
  }
  return index;
}

}  // namespace paceline
