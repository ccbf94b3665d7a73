#include "base/utf8.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(Utf8, AcceptsExactlyUnicode) {
  for (const char* valid :
       {"", "a", "é", "€", "😀", "\xED\x9F\xBF", "\xEE\x80\x80", "\xF4\x8F\xBF\xBF", "eight bytes and é"}) {
    EXPECT_TRUE(is_valid_utf8(valid)) << valid;
  }
  for (const char* invalid : {"\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                              "\xF4\x90\x80\x80", "\xF5", "\xC3", "\xE2\x82", "\xE2\x28\xA1", "seven b\xFF"}) {
    EXPECT_FALSE(is_valid_utf8(invalid)) << invalid;
  }
}

TEST(Utf8, ReplacesMaximalSubparts) {
  // The example of Unicode 15, table 3-11.
  EXPECT_EQ(with_invalid_utf8_replaced("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF"
                                       "A"),
            "\uFFFD\uFFFD\uFFFD\uFFFDA");
  EXPECT_EQ(with_invalid_utf8_replaced("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82"
                                       "A"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA");
  EXPECT_EQ(with_invalid_utf8_replaced("é\xE2\x82"), "é\uFFFD");
}

TEST(Utf8, ReadsCharactersForwardsAndBackwards) {
  const std::string text = "aé€😀";
  size_t pos = 0;
  for (const char32_t code : {U'a', U'é', U'€', U'😀'}) {
    const TextChar found = char_at(text, pos);
    EXPECT_EQ(found.code, code);
    EXPECT_EQ(char_begin_before(text, pos + found.bytes), pos);
    pos += found.bytes;
  }
  EXPECT_EQ(pos, text.size());
}

TEST(Utf8, KnowsSpacesAndWords) {
  for (const char32_t space : {U' ', U'\n', U'\v', U'\u0085', U'\u00a0', U'\u2003', U'\u3000'})
    EXPECT_TRUE(is_white_space(space));
  for (const char32_t other : {U'\u200b', U'\u001c', U'\ufeff', U'a'}) EXPECT_FALSE(is_white_space(other));
  for (const char32_t word : {U'a', U'Z', U'0', U'_', U'é', U'中', U'\u0301', U'\u203f', U'Ⅷ', U'Ⓐ'})
    EXPECT_TRUE(is_word_char(word));
  for (const char32_t other : {U'-', U' ', U'²', U'😀', U'▁', U'<', U'\0'}) EXPECT_FALSE(is_word_char(other));
}

TEST(Utf8, StripsLikePython) {
  EXPECT_EQ(strip_like_python(" \n\u2003a b\u00a0\x1f"), "a b");
  EXPECT_EQ(strip_like_python("\u200ba"), "\u200ba");
  EXPECT_EQ(strip_like_python(" \u3000 "), "");
}

}  // namespace
}  // namespace paceline
