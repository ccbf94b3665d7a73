#include "jinja/characters.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(Characters, CountsAndFindsThem) {
  EXPECT_EQ(count_characters("aé😀"), 3u);
  EXPECT_EQ(byte_of_character("aé😀b", 2), 3u);
  EXPECT_EQ(byte_of_character("aé", 9), 3u);
  std::string text;
  for (const char32_t code : {U'a', U'é', U'€', U'😀'}) append_utf8(code, text);
  EXPECT_EQ(text, "aé€😀");
}

TEST(Characters, HaveCasesAsInPython) {
  EXPECT_EQ(to_upper("straße ﬁ ŉ ǆ"), "STRASSE FI ʼN Ǆ");
  EXPECT_EQ(to_lower("İÄ ΑΣ Σ ΑΣΑ"), "i̇ä ας σ ασα");
  EXPECT_EQ(to_title("they're ǆ ﬁn"), "They'Re ǅ Fin");
  EXPECT_EQ(to_capitalized("ǆABC Ä"), "ǅabc ä");
  EXPECT_EQ(with_case_swapped("aBß Ä"), "AbSS ä");
}

TEST(Characters, AreToldApart) {
  EXPECT_EQ(char_flags('a'), kAlphabetic | kPrintable | kLower);
  EXPECT_EQ(char_flags('7'), kDecimal | kDigit | kNumeric | kPrintable);
  EXPECT_EQ(char_flags(U'²'), kDigit | kNumeric | kPrintable);
  EXPECT_EQ(char_flags(U'ǅ'), kAlphabetic | kPrintable | kTitle);
  EXPECT_EQ(char_flags(0xA0), 0);
  EXPECT_EQ(char_flags(0x10FFFF), 0);
  EXPECT_EQ(char_flags(0), 0);
}

}  // namespace
}  // namespace paceline
