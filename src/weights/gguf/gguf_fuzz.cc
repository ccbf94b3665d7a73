// Any bytes as a GGUF file: an error, or a checkpoint whose tensors lie inside the file, and a tokenizer's files.
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "base/check.h"
#include "weights/checkpoint.h"

namespace {

// A file that lies in memory, under a name.
class MemoryFile {
 public:
  MemoryFile(const uint8_t* bytes, size_t size) : descriptor_(::memfd_create("gguf", MFD_CLOEXEC)) {
    CHECK(descriptor_ >= 0 && ::write(descriptor_, bytes, size) == static_cast<ssize_t>(size));
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(descriptor_); }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const MemoryFile file(bytes, size);
  const auto opened = paceline::Checkpoint::open(file.path());
  if (!opened.ok()) {
    CHECK(!opened.error().message.empty());
    return 0;
  }
  unsigned sum = 0;
  for (const paceline::TensorView& tensor : (*opened)->tensors())
    for (size_t i = 0; i < tensor.bytes; i += 64) sum += static_cast<unsigned>(tensor.values[i]);
  for (const char* name :
       {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "vocab.json", "merges.txt"})
    if (const auto text = (*opened)->side_file(name); !text.ok()) CHECK(!text.error().message.empty());
  return sum == 0xffffffffu ? 1 : 0;
}
