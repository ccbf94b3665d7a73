// Any bytes as a tokenizer.json: an error, or a tokenizer that encodes, decodes and streams.
#include <cstddef>
#include <cstdint>
#include <string>

#include "tokenizer/stream_decoder.h"
#include "tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace paceline;
  const auto tokenizer = Tokenizer::load(std::string_view(reinterpret_cast<const char*>(bytes), size));
  if (!tokenizer.ok()) {
    CHECK(!tokenizer.error().message.empty());
    return 0;
  }
  const std::vector<TokenId> ids = tokenizer->encode("ab abc <s> cat \xC3\xA9\xFF\xF0\x9F\x98\x80\n", true);
  for (const TokenId id : ids) CHECK(tokenizer->piece(id).has_value());
  for (const bool skip_special : {false, true}) {
    StreamDecoder decoder(*tokenizer, {.skip_special = skip_special});
    std::string streamed;
    for (const TokenId id : ids) decoder.push(id, streamed);
    decoder.finish(streamed);
    CHECK(streamed == tokenizer->decode(ids, skip_special));
  }
  return 0;
}
