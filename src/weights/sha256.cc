#include "weights/sha256.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/refused_memory.h"

namespace paceline {
namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    // Where memory ended while the library began, it does not look before it uses what is not there.
    has_memory_ = context_ != nullptr && OSSL_LIB_CTX_get0_global_default() != nullptr;
    if (!has_memory_) return;
    const RefusedMemory memory;
    good_ = EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1;
    has_memory_ = good_ || !memory.found();
  }

  void add(std::span<const std::byte> bytes) {
    good_ = good_ && EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1;
  }

  Result<std::string> hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest = {};
    unsigned length = 0;
    good_ = good_ && EVP_DigestFinal_ex(context_.get(), digest.data(), &length) == 1;
    if (!has_memory_) return Error{"SHA-256: not enough memory", kNoMemory};
    if (!good_) return Error{"SHA-256 is not available from the system's libcrypto"};
    std::string text;
    for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
  bool good_ = false, has_memory_ = false;
};

}  // namespace

Result<std::string> sha256_hex(std::span<const std::byte> bytes) {
  Sha256 sha;
  sha.add(bytes);
  return sha.hex();
}

Result<std::string> sha256_hex(std::span<const MappedFile> files, const std::stop_token& stop) {
  // Some milliseconds' worth: whoever wants it to stop does not wait longer.
  constexpr size_t kPiece = size_t{8} << 20;
  Sha256 sha;
  for (const MappedFile& file : files) {
    for (auto rest = file.bytes(); !rest.empty();) {
      if (stop.stop_requested()) return Error{"SHA-256: told to stop"};
      const auto piece = rest.first(std::min(kPiece, rest.size()));
      sha.add(piece);
      rest = rest.subspan(piece.size());
    }
  }
  return sha.hex();
}

}  // namespace paceline
