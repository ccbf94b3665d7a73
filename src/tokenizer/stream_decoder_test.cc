#include "tokenizer/stream_decoder.h"

#include <random>

#include "base/utf8.h"
#include "tokenizer/tokenizers_for_tests.h"

namespace paceline {
namespace {

TokenizerText mixed_tokenizer() {
  TokenizerText text;
  text.vocab = R"({"<unk>": 0, "▁a": 1, "é": 2, "b": 3, "▁": 4, "<eos>": 5)";
  for (int byte = 0; byte < 256; ++byte) {
    char piece[32];
    std::snprintf(piece, sizeof piece, R"(, "<0x%02X>": %d)", static_cast<unsigned>(byte), 10 + byte);
    text.vocab += piece;
  }
  text.vocab += "}";
  text.merges = "[]";
  text.added_tokens = R"([{"id": 5, "content": "<eos>", "special": true}])";
  text.decoder = R"({"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
    {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 2, "stop": 0}]})";
  return text;
}

// Byte pieces often in such an order that they are characters.
Ids random_ids(std::mt19937& random) {
  const std::vector<std::string> texts = {"é", "€", "😀", "A", "\xE2\x82", "\xFF", "\xF0\x9F"};
  Ids ids;
  const size_t parts = random() % 12;
  for (size_t part = 0; part < parts; ++part) {
    if (random() % 2) {
      ids.push_back(static_cast<TokenId>(random() % 7));
    } else {
      for (const char byte : texts[random() % texts.size()]) ids.push_back(10 + static_cast<unsigned char>(byte));
    }
  }
  return ids;
}

TEST(StreamDecoder, AllThatComesOutIsWhatDecodeGives) {
  const Tokenizer tokenizer = mixed_tokenizer().load();
  std::mt19937 random(3);
  for (const bool skip_special : {false, true}) {
    StreamDecoder decoder(tokenizer, {.skip_special = skip_special});
    for (int round = 0; round < 4000; ++round) {
      const Ids ids = random_ids(random);
      std::string all;
      for (const TokenId id : ids) {
        const std::string text = decoder.push(id);
        ASSERT_TRUE(is_valid_utf8(text)) << "half a character came out";
        all += text;
      }
      all += decoder.finish();
      ASSERT_EQ(all, tokenizer.decode(ids, skip_special)) << "round " << round;
    }
  }
}

TEST(StreamDecoder, HoldsBackAByteRunUntilItEnds) {
  const Tokenizer tokenizer = mixed_tokenizer().load();
  StreamDecoder decoder(tokenizer, {});
  EXPECT_EQ(decoder.push(3), "b");
  EXPECT_EQ(decoder.push(10 + 0xC3), "");
  EXPECT_EQ(decoder.push(10 + 0xA9), "") << "a later byte could still spoil the run";
  EXPECT_EQ(decoder.push(5), "") << "a special token that is skipped does not end it";
  EXPECT_EQ(decoder.push(3), "éb");
  EXPECT_EQ(decoder.push(10 + 0xC3), "");
  EXPECT_EQ(decoder.finish(), "\uFFFD");
  EXPECT_EQ(decoder.finish(), "");
}

TEST(StreamDecoder, ByCharacterGivesEachWhenItIsThere) {
  const Tokenizer tokenizer = load_golden_tokenizer();
  StreamDecoder decoder(tokenizer, {.byte_runs = ByteRuns::by_character});
  EXPECT_EQ(decoder.push(128 + 'A'), "A");
  EXPECT_EQ(decoder.push(128 + 0xE2), "");
  EXPECT_EQ(decoder.push(128 + 0x82), "");
  EXPECT_EQ(decoder.push(128 + 0xAC), "€");
  EXPECT_EQ(decoder.push(128 + 0xE2), "");
  EXPECT_EQ(decoder.push(128 + 'B'), "\uFFFDB");
  EXPECT_EQ(decoder.push(128 + 0xFF), "\uFFFD");
  EXPECT_EQ(decoder.push(128 + 0xF0), "");
  EXPECT_EQ(decoder.push(128 + 0x9F), "");
  EXPECT_EQ(decoder.finish(), "\uFFFD\uFFFD");
}

TEST(StreamDecoder, ByCharacterEqualsDecodeOnValidText) {
  const Tokenizer tokenizer = load_golden_tokenizer();
  const std::string text = "def f():\n    return \"größer € 😀\"";
  StreamDecoder decoder(tokenizer, {.byte_runs = ByteRuns::by_character});
  std::string all;
  for (const TokenId id : tokenizer.encode(text, true)) decoder.push(id, all);
  EXPECT_EQ(all, text) << "nothing is left to finish";
}

}  // namespace
}  // namespace paceline
