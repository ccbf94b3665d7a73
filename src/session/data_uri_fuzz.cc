// Any bytes as a data: URI and as base64: read or not, and what is read is no longer than it can be.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "session/data_uri.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace paceline;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  if (const auto decoded = decode_base64(text)) {
    CHECK(decoded->size() <= text.size() / 4 * 3 + 2);
    // As a URI it is the same.
    const auto again = read_data_uri("data:image/png;base64," + std::string(text));
    CHECK(again && *again == *decoded);
  }
  if (const auto decoded = read_data_uri(text)) {
    CHECK(text.size() >= 5 && (text[0] | 0x20) == 'd');
    const size_t comma = text.find(',');
    CHECK(comma != std::string_view::npos && decode_base64(text.substr(comma + 1)) == decoded);
  }
  return 0;
}
