// The letters in which byte-level vocabularies write bytes: a byte that prints in Latin-1 as itself, any other as a
// letter from U+0100 on, so that a space is written "Ġ".
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace paceline {

// In UTF-8.
std::string letter_of_byte(uint8_t byte);

// Appends the bytes that a piece stands for. A piece with other letters in it (an added token, mostly) stands for
// itself.
void append_piece_bytes(std::string_view piece, std::string& out);

}  // namespace paceline
