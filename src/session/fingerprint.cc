#include "session/fingerprint.h"

#include <string>

#include "weights/sha256.h"

namespace paceline {

Result<Fingerprint> fingerprint_of(std::span<const std::byte> bytes) {
  TRY_ASSIGN(const std::string hex, sha256_hex(bytes));
  Fingerprint print{};
  for (size_t half = 0; half < print.size(); ++half) print[half] = std::stoull(hex.substr(16 * half, 16), nullptr, 16);
  return print;
}

}  // namespace paceline
