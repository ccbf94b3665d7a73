// Tokenizers of bytes, from their file to ids and back.
#include <gmock/gmock.h>

#include <random>

#include "base/utf8.h"
#include "tokenizer/byte_level/vocab_and_merges.h"
#include "tokenizer/stream_decoder.h"
#include "tokenizer/tokenizers_for_tests.h"

namespace paceline {
namespace {

using testing::HasSubstr;

ByteTokenizerText small_tokenizer() {
  ByteTokenizerText text;
  text.merges = {{"t", "h"}, {"th", "e"}, {"Ġ", "the"}, {"Ã", "©"}, {"a", "a"}, {"aa", "aa"}};
  text.added_tokens = R"([{"id": 300, "content": "<|im_end|>", "special": true, "normalized": false},
    {"id": 301, "content": "<think>", "special": false, "normalized": false},
    {"id": 302, "content": "e\u0301!", "special": false, "normalized": true}])";
  return text;
}

std::string bytes_error(const TokenizerText& text) {
  const auto tokenizer = Tokenizer::load(text.json());
  return tokenizer.ok() ? "no error" : tokenizer.error().message;
}

TEST(ByteLevel, EncodesBytesAndMergesThem) {
  const Tokenizer tokenizer = small_tokenizer().load();
  EXPECT_EQ(tokenizer.encode("the the", false), (Ids{257, 258}));
  EXPECT_EQ(tokenizer.encode("aaaaa", false), (Ids{261, 'a'}));
  EXPECT_EQ(tokenizer.encode("\n\xF0\x9F\x98\x80", false), (Ids{'\n', 0xF0, 0x9F, 0x98, 0x80}));
  EXPECT_EQ(tokenizer.encode("caf\u00E9", false), (Ids{'c', 'a', 'f', 259}));
  EXPECT_EQ(tokenizer.encode("cafe\u0301", false), (Ids{'c', 'a', 'f', 259})) << "composed first";
  EXPECT_EQ(tokenizer.encode("", true), Ids{});
  EXPECT_EQ(tokenizer.piece(258), "Ġthe");
  EXPECT_EQ(tokenizer.id_of("Ġthe"), 258);
  EXPECT_EQ(tokenizer.size(), 262u + 3u);
  EXPECT_EQ(tokenizer.id_end(), 303);
}

TEST(ByteLevel, FindsAddedTokensFirst) {
  const Tokenizer tokenizer = small_tokenizer().load();
  EXPECT_EQ(tokenizer.encode("<think>the<|im_end|>", true), (Ids{301, 257, 300}));
  EXPECT_EQ(tokenizer.encode("e<think>\u0301", false), (Ids{'e', 301, 0xCC, 0x81})) << "nothing joins across one";
  EXPECT_EQ(tokenizer.encode("\u00E9!", false), (Ids{302})) << "found in normalised text";
  EXPECT_TRUE(tokenizer.is_added(301));
  EXPECT_FALSE(tokenizer.is_special(301));
  EXPECT_FALSE(tokenizer.is_added(258));
  EXPECT_EQ(tokenizer.decode(Ids{301, 257, 300}, true), "<think>the");
  EXPECT_EQ(tokenizer.decode(Ids{301, 257, 300}, false), "<think>the<|im_end|>");
}

TEST(ByteLevel, DecodesWhatIsNoUtf8BySubparts) {
  const Tokenizer tokenizer = small_tokenizer().load();
  EXPECT_EQ(tokenizer.decode(Ids{'a', 0xE2, 0x82, 'b', 0xFF, 0xFF, 0xE2}, false), "a\uFFFDb\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(tokenizer.decode(Ids{0xE2, 0x82, 0xAC}, false), "\u20AC");
  EXPECT_EQ(tokenizer.decode(Ids{0xE2, 301, 0x82}, false), "\uFFFD<think>\uFFFD");
  EXPECT_EQ(tokenizer.decode(Ids{'a', 999, -1, 'b'}, false), "ab");
}

TEST(ByteLevel, StreamsWholeCharacters) {
  const Tokenizer tokenizer = small_tokenizer().load();
  std::mt19937 random(7);
  for (const ByteRuns runs : {ByteRuns::whole, ByteRuns::by_character}) {
    StreamDecoder decoder(tokenizer, {.skip_special = true, .byte_runs = runs});
    for (int round = 0; round < 3000; ++round) {
      Ids ids;
      for (size_t count = random() % 10; count > 0; --count) {
        const std::vector<std::string> texts = {"\u00E9", "\u20AC", "\U0001F600", "the", "\xE2\x82", "\xFF"};
        if (random() % 4 == 0) ids.push_back(static_cast<TokenId>(random() % 310));
        for (const char byte : texts[random() % texts.size()]) ids.push_back(static_cast<unsigned char>(byte));
      }
      std::string all;
      for (const TokenId id : ids) {
        const std::string text = decoder.push(id);
        ASSERT_TRUE(is_valid_utf8(text)) << "half a character came out";
        all += text;
      }
      all += decoder.finish();
      ASSERT_EQ(all, tokenizer.decode(ids, true)) << round;
    }
  }
}

TEST(ByteLevel, BytesOfAPieceAreItsBytes) {
  const Tokenizer tokenizer = small_tokenizer().load();
  const auto bytes = [&](TokenId id) { return bytes_of_piece(tokenizer.decode_plan(), *tokenizer.piece(id)); };
  EXPECT_EQ(bytes(258), " the");
  EXPECT_EQ(bytes(0xE2), "\xE2");
  EXPECT_EQ(bytes(0), std::string(1, '\0'));
  EXPECT_EQ(bytes(301), "<think>");
}

TEST(ByteLevel, EveryTextComesBack) {
  const Tokenizer tokenizer = small_tokenizer().load();
  std::string all_bytes;
  for (int code = 0; code < 0x80; ++code) all_bytes += static_cast<char>(code);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(all_bytes, false), false), all_bytes);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a\xFF\xE2\x82z", false), false), "a\uFFFD\uFFFDz");
}

TEST(ByteLevel, LongRunsTakeNoSquareOfTheirLength) {
  const Tokenizer tokenizer = small_tokenizer().load();
  const std::string text(1000000, 'a');
  EXPECT_EQ(tokenizer.encode(text, false).size(), 250000u);
}

TEST(ByteLevel, NamesWhatItDoesNotImplement) {
  const TokenizerText good = small_tokenizer().text();
  TokenizerText text = good;
  text.normalizer = R"({"type": "NFKC"})";
  EXPECT_THAT(bytes_error(text), AllOf(HasSubstr("normalizer.type"), HasSubstr("NFKC")));
  text = good;
  text.pre_tokenizer = "null";
  EXPECT_THAT(bytes_error(text), AllOf(HasSubstr("pre_tokenizer"), HasSubstr("ByteLevel")));
  text.pre_tokenizer = R"({"type": "ByteLevel", "add_prefix_space": true})";
  EXPECT_THAT(bytes_error(text), HasSubstr("add_prefix_space"));
  text.pre_tokenizer = R"({"type": "ByteLevel", "add_prefix_space": false})";
  EXPECT_THAT(bytes_error(text), HasSubstr("use_regex"));
  text.pre_tokenizer = R"({"type": "Split", "pattern": {"Regex": "(?=a"}, "behavior": "Isolated"})";
  EXPECT_THAT(bytes_error(text), AllOf(HasSubstr("pre_tokenizer.pattern.Regex"), HasSubstr("(?i:")));
  text.pre_tokenizer = R"({"type": "Split", "pattern": {"Regex": "a"}, "behavior": "Removed"})";
  EXPECT_THAT(bytes_error(text), HasSubstr("Isolated"));
  text = good;
  text.vocab = R"({"a": 0})";
  text.merges = "[]";
  EXPECT_THAT(bytes_error(text), AllOf(HasSubstr("every byte"), HasSubstr("0x00")));
  text = good;
  text.merges = R"([["x", "y"]])";
  EXPECT_THAT(bytes_error(text), AllOf(HasSubstr("entry 0"), HasSubstr("\"xy\"")));
  text = good;
  text.switches = R"("byte_fallback": true)";
  EXPECT_THAT(bytes_error(text), HasSubstr("byte_fallback"));
}

TEST(ByteLevel, IgnoresMergesForWholePieces) {
  TokenizerText text = small_tokenizer().text();
  text.merges = "[]";
  EXPECT_EQ(text.load().encode("the", false), (Ids{'t', 'h', 'e'}));
  text.switches = R"("ignore_merges": true)";
  EXPECT_EQ(text.load().encode("the", false), (Ids{257}));
}

TEST(VocabAndMerges, SayTheSameAsTokenizerJson) {
  const ByteTokenizerText parts = small_tokenizer();
  std::string merges = "#version: 0.2\n";
  for (const auto& [left, right] : parts.merges) merges += left + " " + right + "\r\n";
  const std::string vocab = parts.vocab_json();
  std::string config = R"({"tokenizer_class": "Qwen2Tokenizer", "added_tokens_decoder": {
    "300": {"content": "<|im_end|>", "special": true, "normalized": false},
    "301": {"content": "<think>", "special": false, "normalized": false}}})";
  const auto made = tokenizer_json_of({vocab, merges, config});
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto tokenizer = Tokenizer::load(*made);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  const std::string text = "the<think> the 12 it's cafe\u0301<|im_end|>\n";
  EXPECT_EQ(tokenizer->encode(text, true), parts.load().encode(text, true));

  const auto error_with = [&](std::string_view merges_txt, std::string_view config_json) {
    const auto refused = tokenizer_json_of({vocab, merges_txt, config_json});
    return refused.ok() ? "no error" : refused.error().message;
  };
  EXPECT_THAT(error_with("a b c\n", config), AllOf(HasSubstr("line 1"), HasSubstr("a b c")));
  EXPECT_THAT(error_with("\xFF \xFF", config), HasSubstr("UTF-8"));
  EXPECT_THAT(error_with(merges, "{"), HasSubstr("tokenizer_config.json"));
  EXPECT_THAT(error_with(merges, R"({"tokenizer_class": "LlamaTokenizer"})"), HasSubstr("LlamaTokenizer"));
  EXPECT_THAT(error_with(merges, R"({"tokenizer_class": "Qwen2Tokenizer", "added_tokens_decoder": {"x": {}}})"),
              HasSubstr("an id's token"));
}

}  // namespace
}  // namespace paceline
