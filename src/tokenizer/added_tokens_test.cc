#include "tokenizer/added_tokens.h"

#include "tokenizer/tokenizers_for_tests.h"

namespace paceline {
namespace {

// Text that stays as it is.
class NoEncoder final : public TextEncoder {
 public:
  [[nodiscard]] const PieceTable& vocab() const override { return none_; }
  [[nodiscard]] std::string normalize(std::string_view text) const override { return std::string(text); }
  void encode(std::string_view, std::vector<TokenId>&) const override {}

 private:
  PieceTable none_;
};

// Tokens as [5], text as it is: "a[5]b".
std::string shown(const std::vector<AddedToken>& tokens, std::string_view text) {
  std::string parts;
  for (const TextPart& part : make_finders(tokens, NoEncoder()).plain.split(text)) {
    if (part.token) {
      parts.append("[").append(std::to_string(*part.token)).append("]");
    } else {
      parts.append("(").append(part.text).append(")");
    }
  }
  return parts;
}

TEST(AddedTokens, LeftmostThenLongest) {
  const std::vector<AddedToken> tokens = {{1, "<a>"}, {2, "<a><b>"}, {3, "b><"}, {4, "x"}, {5, "<a><b><c>"}};
  EXPECT_EQ(shown(tokens, "q<a>r"), "(q)[1](r)");
  EXPECT_EQ(shown(tokens, "<a><b>"), "[2]");
  EXPECT_EQ(shown(tokens, "<a><b><"), "[2](<)");
  EXPECT_EQ(shown(tokens, "<a><b><c"), "[2](<c)");
  EXPECT_EQ(shown(tokens, "<a><b><c>"), "[5]");
  EXPECT_EQ(shown(tokens, "b><a>"), "[3](a>)");
  EXPECT_EQ(shown(tokens, "xx<<a>"), "[4][4](<)[1]");
  EXPECT_EQ(shown(tokens, ""), "");
  EXPECT_EQ(shown({}, "<a>"), "(<a>)");
}

TEST(AddedTokens, SingleWordStandsAlone) {
  const std::vector<AddedToken> tokens = {{.id = 1, .content = "cat", .single_word = true}};
  EXPECT_EQ(shown(tokens, "cat"), "[1]");
  EXPECT_EQ(shown(tokens, "a cat."), "(a )[1](.)");
  EXPECT_EQ(shown(tokens, "concat cats"), "(concat cats)");
  EXPECT_EQ(shown(tokens, "cat\u00e9 \u00e9cat _cat cat9"), "(cat\u00e9 \u00e9cat _cat cat9)");
  EXPECT_EQ(shown(tokens, "\u4e2dcat"), "(\u4e2dcat)") << "letters of every script";
  EXPECT_EQ(shown(tokens, "\u2014cat\u2014"), "(\u2014)[1](\u2014)");
}

TEST(AddedTokens, TakesWhiteSpaceAlong) {
  const std::vector<AddedToken> tokens = {{.id = 1, .content = "<l>", .lstrip = true},
                                          {.id = 2, .content = "<r>", .rstrip = true}};
  EXPECT_EQ(shown(tokens, "a \u00a0\n<l> b"), "(a)[1]( b)");
  EXPECT_EQ(shown(tokens, "a <r>\t\u3000 b"), "(a )[2](b)");
  EXPECT_EQ(shown(tokens, "<r>  <l>"), "[2][1]");
  EXPECT_EQ(shown(tokens, "  <l>"), "[1]");
  EXPECT_EQ(shown(tokens, "<r>  "), "[2]");
}

TEST(AddedTokens, NormalizedOnesAreFoundInNormalizedText) {
  TokenizerText text;
  text.vocab = R"({"<unk>": 0, "▁": 1, "x": 2, "y": 3})";
  text.merges = "[]";
  text.normalizer = R"({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})";
  text.added_tokens = R"([{"id": 7, "content": "x y", "normalized": true, "special": false},
                          {"id": 8, "content": " x", "normalized": false, "special": false}])";
  EXPECT_EQ(text.load().encode("yx y", false), (Ids{3, 7}));
  EXPECT_EQ(text.load().encode("yx▁y", false), (Ids{3, 7})) << "its form is x▁y";
  EXPECT_EQ(text.load().encode("y x y", false), (Ids{3, 8, 1, 3})) << "tokens of the first pass come first";
  EXPECT_EQ(text.load().encode("y▁x", false), (Ids{3, 1, 2})) << "and see the text as it is";
}

}  // namespace
}  // namespace paceline
