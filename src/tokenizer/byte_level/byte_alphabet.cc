#include "tokenizer/byte_level/byte_alphabet.h"

#include "base/utf8.h"

namespace paceline {
namespace {

constexpr char32_t kFirstOther = 0x100;
constexpr size_t kLetters = kFirstOther + 68;

constexpr bool prints(int byte) { return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD); }

struct ByteAlphabet {
  std::array<char32_t, 256> letters = {};
  std::array<int16_t, kLetters> bytes = {};  // by letter; -1 for none
};

constexpr ByteAlphabet make_alphabet() {
  ByteAlphabet made;
  for (int16_t& byte : made.bytes) byte = -1;
  char32_t next = kFirstOther;
  for (int byte = 0; byte < 256; ++byte) {
    const char32_t letter = prints(byte) ? static_cast<char32_t>(byte) : next++;
    made.letters[static_cast<size_t>(byte)] = letter;
    made.bytes[letter] = static_cast<int16_t>(byte);
  }
  return made;
}

constexpr ByteAlphabet kAlphabet = make_alphabet();

}  // namespace

std::string letter_of_byte(uint8_t byte) {
  const char32_t letter = kAlphabet.letters[byte];
  if (letter < 0x80) return std::string(1, static_cast<char>(letter));
  return {static_cast<char>(0xC0 | letter >> 6), static_cast<char>(0x80 | (letter & 0x3F))};
}

void append_piece_bytes(std::string_view piece, std::string& out) {
  const size_t begin = out.size();
  for (size_t pos = 0; pos < piece.size();) {
    const TextChar next = char_at(piece, pos);
    const int byte = next.code < kLetters ? kAlphabet.bytes[next.code] : -1;
    if (byte < 0) {
      out.resize(begin);
      out += piece;
      return;
    }
    out += static_cast<char>(byte);
    pos += next.bytes;
  }
}

}  // namespace paceline
