#include "tokenizer/byte_level/split_expression.h"

#include <gmock/gmock.h>

#include "tokenizer/tokenizers_for_tests.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Words = std::vector<std::string>;

Words words_of(std::string_view text, const char* written = kQwen3Words) {
  const auto expression = SplitExpression::parse(written);
  EXPECT_TRUE(expression.ok()) << expression.error().message;
  Words words;
  expression->for_each_word(text, [&](std::string_view word) { words.emplace_back(word); });
  return words;
}

std::string split_error(const char* written) {
  const auto expression = SplitExpression::parse(written);
  return expression.ok() ? "no error" : expression.error().message;
}

TEST(SplitExpression, CutsLikeQwen) {
  EXPECT_EQ(words_of(""), Words{});
  EXPECT_THAT(words_of("Hello,  world!   "), ElementsAre("Hello", ",", " ", " world", "!", "   "));
  EXPECT_THAT(words_of("it's I'LL 'tis we'Ve"), ElementsAre("it", "'s", " I", "'LL", " '", "tis", " we", "'Ve"));
  EXPECT_THAT(words_of("x='s'"), ElementsAre("x", "='", "s", "'"));
  EXPECT_THAT(words_of("a1234 56"), ElementsAre("a", "1", "2", "3", "4", " ", "5", "6"));
  EXPECT_THAT(words_of("f(x):\n    return"), ElementsAre("f", "(x", "):\n", "   ", " return"));
  EXPECT_THAT(words_of("a \n \n b"), ElementsAre("a", " \n \n", " b"));
  EXPECT_THAT(words_of("a\r\n\r\n\tb"), ElementsAre("a", "\r\n\r\n", "\tb"));
  EXPECT_THAT(words_of("\u00A0\u3000x"), ElementsAre("\u00A0", "\u3000x"));
  EXPECT_THAT(words_of("'\u017Fx"), ElementsAre("'\u017F", "x")) << "the long s, where case does not count";
}

TEST(SplitExpression, MarksBelongToLettersInOneAndNotInTheOther) {
  // A consonant, a vowel's sign and another consonant.
  const std::string text = "\u0915\u093F\u0924 \u0301";
  EXPECT_THAT(words_of(text), ElementsAre("\u0915", "\u093F\u0924", " \u0301"));
  EXPECT_THAT(words_of(text, kQwen35Words), ElementsAre("\u0915\u093F\u0924", " \u0301"));
}

TEST(SplitExpression, WhatMatchesNothingStandsBetween) {
  EXPECT_THAT(words_of("ab12cd", "\\p{N}+"), ElementsAre("ab", "12", "cd"));
  EXPECT_THAT(words_of("12345678", "\\p{N}{1,3}"), ElementsAre("123", "456", "78"));
  EXPECT_THAT(words_of("aaab", "a*a{2}b"), ElementsAre("aaab")) << "what was taken is given back";
  EXPECT_THAT(words_of("xay", "(?:x|z)(?:a|b)y"), ElementsAre("xay"));
}

TEST(SplitExpression, NamesWhatItDoesNotUnderstand) {
  EXPECT_THAT(split_error("\\p{Lu}+"), AllOf(HasSubstr("\\p{L}"), HasSubstr("byte 0")));
  EXPECT_THAT(split_error("a|[a-z]+"), HasSubstr("no range"));
  EXPECT_THAT(split_error("(a)"), HasSubstr("(?i:"));
  EXPECT_THAT(split_error("(?:a)+"), HasSubstr("not repeated"));
  EXPECT_THAT(split_error("a++"), HasSubstr("no other repeat"));
  EXPECT_THAT(split_error("(?:a"), HasSubstr("closes"));
  EXPECT_THAT(split_error("[a"), HasSubstr("closes"));
  EXPECT_THAT(split_error("a)"), HasSubstr("an end"));
  EXPECT_THAT(split_error("."), HasSubstr("a character"));
  EXPECT_THAT(split_error("a{5000}"), HasSubstr("number"));
  EXPECT_THAT(split_error("\\s*\\s*\\s*x"), HasSubstr("two sets"));
  EXPECT_THAT(split_error("(?:a|b)(?:a|b)(?:a|b)(?:a|b)(?:a|b)(?:a|b)(?:a|b)"), HasSubstr("fewer"));
  EXPECT_THAT(split_error("\xFF"), HasSubstr("UTF-8"));
  EXPECT_EQ(split_error(kQwen35Words), "no error");
}

TEST(SplitExpression, LongRunsAreWalkedOnce) {
  for (const char* unit : {" ", "a", "!", "\n", "1", " \t", "'", "\u3000"}) {
    std::string text;
    while (text.size() < 1000000) text += unit;
    text += "x";
    size_t bytes = 0;
    const auto expression = SplitExpression::parse(kQwen3Words);
    expression->for_each_word(text, [&](std::string_view word) { bytes += word.size(); });
    EXPECT_EQ(bytes, text.size());
  }
}

}  // namespace
}  // namespace paceline
