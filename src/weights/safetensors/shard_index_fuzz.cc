// Any bytes as model.safetensors.index.json: an error, or plain file names.
#include <cstdint>

#include "base/check.h"
#include "weights/safetensors/shard_index.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const auto parsed = paceline::parse_shard_index({reinterpret_cast<const char*>(bytes), size});
  if (!parsed.ok()) return 0;
  for (const auto& shard : parsed->shards)
    CHECK(!shard.empty() && shard.find('/') == std::string::npos && shard != "..");
  for (const auto& [name, shard] : parsed->shard_of) CHECK(shard < parsed->shards.size());
  return 0;
}
