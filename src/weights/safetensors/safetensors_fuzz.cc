// Any bytes as a safetensors file: an error, or ranges that lie inside and cover the file.
#include "base/check.h"
#include "weights/safetensors/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const auto parsed = paceline::parse_safetensors({reinterpret_cast<const std::byte*>(bytes), size});
  if (!parsed.ok()) {
    CHECK(!parsed.error().message.empty());
    return 0;
  }
  uint64_t covered = 0;
  for (const auto& tensor : parsed->tensors) {
    CHECK(tensor.begin <= tensor.end && tensor.end <= size);
    CHECK(covered == 0 || tensor.begin == covered);
    covered = tensor.end;
  }
  CHECK(parsed->tensors.empty() || covered == size);
  return 0;
}
