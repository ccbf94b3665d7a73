#include "tokenizer/byte_level/nfc.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <cstdlib>
#include <random>
#include <set>

#include "base/utf8.h"

namespace paceline {
namespace {

void append_code(char32_t code, std::string& text) {
  utf8proc_uint8_t bytes[4];
  const auto length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(length));
}

// By the library alone, all at once.
std::string nfc_of_library(const std::string& text) {
  utf8proc_uint8_t* made = utf8proc_NFC(reinterpret_cast<const utf8proc_uint8_t*>(text.c_str()));
  std::string normal(reinterpret_cast<const char*>(made));
  std::free(made);
  return normal;
}

TEST(Nfc, ComposesAndOrders) {
  EXPECT_EQ(to_nfc(""), "");
  EXPECT_EQ(to_nfc("plain text"), "plain text");
  EXPECT_EQ(to_nfc("cafe\u0301 cafe\u0301"), "caf\u00E9 caf\u00E9");
  EXPECT_EQ(to_nfc("\u0301e"), "\u0301e") << "nothing before it";
  EXPECT_EQ(to_nfc("\u212B\u2126"), "\u00C5\u03A9") << "characters that are others";
  EXPECT_EQ(to_nfc("\u1112\u1161\u11AB"), "\uD55C");
  EXPECT_EQ(to_nfc("\uD558\u11AB"), "\uD55C") << "a syllable and what ends it";
  EXPECT_EQ(to_nfc("\u304B\u3099"), "\u304C");
  EXPECT_EQ(to_nfc("a\u0315\u0300\u05AE\u0300b"), "\u00E0\u05AE\u0300\u0315b") << "an example of Unicode's test";
  EXPECT_EQ(to_nfc("\u0958"), "\u0915\u093C") << "excluded from composition";
}

TEST(Nfc, EqualsTheLibrarysOwnOnAnyText) {
  const std::vector<char32_t> favourites = {'a',    'e',    0xC5,   0x301,  0x300,  0x327,  0x315,   0x5AE,
                                            0x1112, 0x1161, 0x11AB, 0xAC00, 0x304B, 0x3099, 0x1D15E, 0x958};
  std::mt19937 random(5);
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (size_t count = random() % 12; count > 0; --count) {
      char32_t code = favourites[random() % favourites.size()];
      if (random() % 3 == 0) code = static_cast<char32_t>(1 + random() % (random() % 2 ? 0x3100 : 0x10FFFE));
      if (code >= 0xD800 && code < 0xE000) code = ' ';
      append_code(code, text);
    }
    ASSERT_EQ(to_nfc(text), nfc_of_library(text)) << round;
  }
}

TEST(Nfc, CalmCharactersAreWhatTheirNameSays) {
  std::set<char32_t> joins;  // characters that some composition has behind its first
  for (char32_t code = 0; code < 0x110000; ++code) {
    utf8proc_int32_t parts[8];
    int boundary = 0;
    const auto count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), parts, 8,
                                static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE), &boundary);
    for (utf8proc_ssize_t i = 1; i < count; ++i) joins.insert(static_cast<char32_t>(parts[i]));
  }
  for (char32_t code = 1; code < 0x110000; ++code) {
    if (!is_calm(code)) continue;
    std::string text;
    append_code(code, text);
    ASSERT_EQ(nfc_of_library(text), text) << static_cast<uint32_t>(code);
    ASSERT_EQ(utf8proc_get_property(static_cast<utf8proc_int32_t>(code))->combining_class, 0);
    ASSERT_FALSE(joins.contains(code)) << static_cast<uint32_t>(code);
  }
}

TEST(Nfc, ManyMarksOnOneCharacterAreNoWork) {
  std::string text = "e";
  for (int i = 0; i < 300000; ++i) text += "\u0345";  // the highest class
  for (int i = 0; i < 300000; ++i) text += "\u0334";  // the lowest
  const std::string normal = to_nfc(text);
  EXPECT_EQ(normal.size(), text.size());
  EXPECT_TRUE(normal.starts_with("e\u0334\u0334"));
  EXPECT_TRUE(normal.ends_with("\u0345\u0345"));
}

}  // namespace
}  // namespace paceline
