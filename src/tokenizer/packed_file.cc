#include "tokenizer/packed_file.h"

#include <fmt/core.h>
#include <lzma.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/regular_file.h"

namespace paceline {
namespace {

constexpr std::string_view kXzMagic(
    "\xFD"
    "7zXZ\0",
    6);
constexpr uint64_t kMaxDecoderMemory = uint64_t{256} << 20;  // xz -9 needs 65 MiB

}  // namespace

Result<std::string> unpack_xz(std::string_view packed, size_t max_bytes) {
  lzma_stream stream = LZMA_STREAM_INIT;
  const std::unique_ptr<lzma_stream, void (*)(lzma_stream*)> ends(&stream, lzma_end);
  if (lzma_stream_decoder(&stream, kMaxDecoderMemory, LZMA_CONCATENATED) != LZMA_OK) {
    return Error{"xz: expected memory for a decoder, found none"};
  }
  stream.next_in = reinterpret_cast<const uint8_t*>(packed.data());
  stream.avail_in = packed.size();
  std::string text;
  lzma_ret state = LZMA_OK;
  while (state == LZMA_OK) {
    const size_t done = stream.total_out;
    if (done == text.size()) {
      if (done > max_bytes) return Error{fmt::format("xz: expected at most {} bytes unpacked, found more", max_bytes)};
      // One byte more than allowed tells too large a file from one that just fits.
      text.resize(std::min(max_bytes + 1, std::max<size_t>(4 * packed.size(), 2 * text.size()) + 4096));
    }
    stream.next_out = reinterpret_cast<uint8_t*>(text.data()) + done;
    stream.avail_out = text.size() - done;
    state = lzma_code(&stream, LZMA_FINISH);
  }
  if (state != LZMA_STREAM_END)
    return Error{fmt::format("xz: expected a whole stream, found liblzma error {}", int{state})};
  if (stream.total_out > max_bytes)
    return Error{fmt::format("xz: expected at most {} bytes unpacked, found more", max_bytes)};
  text.resize(stream.total_out);
  return text;
}

Result<std::string> read_packed_file(const std::string& path, size_t max_bytes) {
  TRY_ASSIGN(std::string contents, read_file(path, max_bytes));
  if (!contents.starts_with(kXzMagic)) return contents;
  auto text = unpack_xz(contents, max_bytes);
  if (!text) return Error{fmt::format("{}: {}", path, text.error().message)};
  return text;
}

}  // namespace paceline
