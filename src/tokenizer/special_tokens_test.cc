#include "tokenizer/special_tokens.h"

#include "tokenizer/tokenizers_for_tests.h"

namespace paceline {
namespace {

TEST(SpecialTokens, ResolvesNames) {
  const Tokenizer tokenizer = load_golden_tokenizer();
  const auto tokens =
      read_special_tokens(tokenizer, R"({"bos_token": {"content": "<bos>", "lstrip": false}, "eos_token": "<eos>",
    "pad_token": "<pad>", "unk_token": null, "image_token": "<|image|>", "eot_token": "<turn|>", "add_bos_token": true,
    "extra_special_tokens": ["<|video|>"], "model_max_length": 1e30, "tokenizer_class": "X"})");
  ASSERT_TRUE(tokens.ok()) << tokens.error().message;
  EXPECT_EQ(tokens->bos, 2);
  EXPECT_EQ(tokens->eos, 1);
  EXPECT_EQ(tokens->pad, 0);
  EXPECT_EQ(tokens->unk, std::nullopt);
  EXPECT_EQ(tokens->find("image_token"), 7);
  EXPECT_EQ(tokens->find("<|video|>"), 8);
  EXPECT_EQ(tokens->find("eot_token"), std::nullopt);
  EXPECT_EQ(tokens->unresolved, (std::vector<std::string>{"eot_token = <turn|>"}));
}

TEST(SpecialTokens, RefusesAnEndThatIsNoToken) {
  const Tokenizer tokenizer = load_golden_tokenizer();
  for (const char* config : {R"({"eos_token": "<|end|>"})", R"({"eos_token": 5})", "[]", "{"}) {
    EXPECT_FALSE(read_special_tokens(tokenizer, config).ok()) << config;
  }
}

TEST(SpecialTokens, WithoutConfigTheUsualOnes) {
  const SpecialTokens tokens = default_special_tokens(load_golden_tokenizer());
  EXPECT_EQ(tokens.bos, 2);
  EXPECT_EQ(tokens.eos, 1);
  EXPECT_EQ(tokens.pad, 0);
}

}  // namespace
}  // namespace paceline
