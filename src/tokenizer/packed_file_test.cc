#include "tokenizer/packed_file.h"

#include <gtest/gtest.h>
#include <lzma.h>

#include <cstdint>

namespace paceline {
namespace {

std::string pack(const std::string& text) {
  std::string packed(lzma_stream_buffer_bound(text.size()), '\0');
  size_t bytes = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, nullptr, reinterpret_cast<const uint8_t*>(text.data()),
                                    text.size(), reinterpret_cast<uint8_t*>(packed.data()), &bytes, packed.size()),
            LZMA_OK);
  packed.resize(bytes);
  return packed;
}

TEST(PackedFile, UnpacksWhatFits) {
  const std::string text(100000, 'x');
  for (const size_t limit : {size_t{100000}, size_t{1} << 30}) {
    const auto unpacked = unpack_xz(pack(text), limit);
    ASSERT_TRUE(unpacked.ok()) << unpacked.error().message;
    EXPECT_EQ(*unpacked, text);
  }
  EXPECT_EQ(*unpack_xz(pack(""), 10), "");
  EXPECT_FALSE(unpack_xz(pack(text), 99999).ok());
}

TEST(PackedFile, RefusesBrokenStreams) {
  const std::string packed = pack("some text that is packed");
  for (size_t bytes = 0; bytes < packed.size(); ++bytes)
    EXPECT_FALSE(unpack_xz(packed.substr(0, bytes), 1000).ok()) << bytes;
  std::string changed = packed;
  changed[packed.size() / 2] ^= 1;
  EXPECT_FALSE(unpack_xz(changed, 1000).ok());
}

TEST(PackedFile, SaysWhichFileIsMissing) {
  const auto missing = read_packed_file("/nowhere/at/all.json");
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("/nowhere/at/all.json"), std::string::npos);
}

}  // namespace
}  // namespace paceline
