#include "tokenizer/tokenizer.h"

#include "tokenizer/tokenizers_for_tests.h"

namespace paceline {
namespace {

TEST(Tokenizer, MergesInTheOrderOfRank) {
  const Tokenizer first = TokenizerText{}.load();
  EXPECT_EQ(first.encode("abc", false), (Ids{6}));  // a b merges first, then ab c
  EXPECT_EQ(first.encode("abbc", false), (Ids{4, 5}));
  TokenizerText text;
  text.merges = R"([["b", "c"], ["a", "b"], ["ab", "c"]])";
  EXPECT_EQ(text.load().encode("abc", false), (Ids{1, 5}));  // b c first, and then nothing takes a and bc
}

TEST(Tokenizer, TakesMergesWrittenAsOneString) {
  TokenizerText text;
  text.merges = R"(["a b", "b c", "ab c"])";
  EXPECT_EQ(text.load().encode("abcbc", false), (Ids{6, 5}));
}

TEST(Tokenizer, LaterOfEqualMergesCounts) {
  TokenizerText text;
  text.merges = R"([["a", "b"], ["b", "c"], ["a", "b"]])";
  EXPECT_EQ(text.load().encode("abc", false), (Ids{1, 5}));
}

TEST(Tokenizer, FusesUnknownCharacters) {
  TokenizerText text;
  EXPECT_EQ(text.load().encode("axéb", false), (Ids{1, 0, 2}));
  text.switches = R"("fuse_unk": false, "byte_fallback": false)";
  EXPECT_EQ(text.load().encode("axéb", false), (Ids{1, 0, 0, 2}));
  text.unk_token = "null";
  EXPECT_EQ(text.load().encode("axéb", false), (Ids{4})) << "without unk_token they vanish, and neighbours meet";
}

TEST(Tokenizer, FallsBackToBytes) {
  TokenizerText text;
  text.switches = R"("fuse_unk": true, "byte_fallback": true)";
  text.vocab = R"({"<unk>": 0, "a": 1, "<0xC3>": 2, "<0xA9>": 3, "<0x78>": 4})";
  text.merges = "[]";
  const Tokenizer tokenizer = text.load();
  EXPECT_EQ(tokenizer.encode("aéxa", false), (Ids{1, 2, 3, 4, 1}));
  EXPECT_EQ(tokenizer.encode("aèa", false), (Ids{1, 0, 1})) << "one byte of two is no fallback";
  // As in Hugging Face's model: bytes do not flush an unknown character that waits.
  EXPECT_EQ(tokenizer.encode("yxya", false), (Ids{4, 0, 1}));
}

TEST(Tokenizer, BytePiecesMayMerge) {
  TokenizerText text;
  text.switches = R"("fuse_unk": true, "byte_fallback": true)";
  text.vocab = R"({"<unk>": 0, "<0xC3>": 2, "<0xA9>": 3, "<0xC3><0xA9>": 4})";
  text.merges = R"([["<0xC3>", "<0xA9>"]])";
  EXPECT_EQ(text.load().encode("éé", false), (Ids{4, 4}));
}

TEST(Tokenizer, IgnoresMergesForWholePieces) {
  TokenizerText text;
  text.merges = R"([["b", "c"]])";
  EXPECT_EQ(text.load().encode("abc", false), (Ids{1, 5}));
  text.switches = R"("ignore_merges": true)";
  EXPECT_EQ(text.load().encode("abc", false), (Ids{6}));
  EXPECT_EQ(text.load().encode("abcc", false), (Ids{1, 5, 3}));
}

TEST(Tokenizer, NormalizesAndSplits) {
  TokenizerText text;
  text.vocab = R"({"<unk>": 0, "a": 1, "▁": 2, "▁a": 3, "a▁": 4, "▁▁": 5})";
  text.merges = R"([["▁", "▁"], ["▁", "a"], ["a", "▁"]])";
  text.normalizer = R"({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})";
  text.pre_tokenizer =
      R"({"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": false})";
  EXPECT_EQ(text.load().encode("a a  a", false), (Ids{1, 3, 5, 1}));
  text.normalizer =
      R"({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, )" + text.normalizer + "]}";
  EXPECT_EQ(text.load().encode("a a", false), (Ids{3, 3}));
  EXPECT_EQ(text.load().encode("", false), (Ids{}));
  text.normalizer = "null";
  text.vocab = R"({"<unk>": 0, "a": 1, " ": 2, " a": 3, "a ": 4, "  ": 5})";
  text.merges = R"([[" ", " "], [" ", "a"], ["a", " "]])";
  EXPECT_EQ(text.load().encode("a a  a", false), (Ids{4, 4, 2, 1})) << "now the split cuts";
}

TEST(Tokenizer, PostProcessorAddsWhatItSays) {
  TokenizerText text;
  text.post_processor = R"({"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
               {"SpecialToken": {"id": "</s>", "type_id": 0}}],
    "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["a"]},
                                   "</s>": {"id": "</s>", "ids": [2, 3], "tokens": ["b", "c"]}}})";
  EXPECT_EQ(text.load().encode("abc", true), (Ids{1, 6, 2, 3}));
  EXPECT_EQ(text.load().encode("abc", false), (Ids{6}));
  EXPECT_EQ(text.load().encode("", true), (Ids{1, 2, 3}));
}

TEST(Tokenizer, DecodesStepByStep) {
  TokenizerText text;
  text.vocab = R"({"<unk>": 0, "▁a": 1, "<0xC3>": 2, "<0xA9>": 3, "b": 4, "<0x41>": 5})";
  text.merges = "[]";
  text.decoder = R"({"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
    {"type": "ByteFallback"}, {"type": "Fuse"}]})";
  EXPECT_EQ(text.load().decode(Ids{1, 2, 3, 1, 4}, false), " aé ab");
  EXPECT_EQ(text.load().decode(Ids{5, 2}, false), "\uFFFD\uFFFD") << "one bad byte spoils its whole run";
  EXPECT_EQ(text.load().decode(Ids{5, 4, 2}, false), "Ab\uFFFD");
  EXPECT_EQ(text.load().decode(Ids{4, 99, -1, 4}, false), "bb") << "ids of nothing are skipped";
  text.decoder.insert(text.decoder.size() - 2, R"(, {"type": "Strip", "content": " ", "start": 1, "stop": 0})");
  EXPECT_EQ(text.load().decode(Ids{1, 1}, false), "a a");
  EXPECT_EQ(text.load().decode(Ids{4, 1}, false), "b a");
  text.decoder = "null";
  EXPECT_EQ(text.load().decode(Ids{4, 4}, false), "b b");
}

TEST(Tokenizer, ReadsInvalidUtf8AsReplacementCharacters) {
  const Tokenizer tokenizer = load_golden_tokenizer();
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a\xFF\xE2\x82z", false), false), "a\uFFFD\uFFFDz");
}

TEST(Tokenizer, LooksUpPieces) {
  TokenizerText text;
  text.added_tokens =
      R"([{"id": 9, "content": "<eos>", "special": true}, {"id": 1, "content": "a", "special": false}])";
  const Tokenizer tokenizer = text.load();
  EXPECT_EQ(tokenizer.size(), 8u);
  EXPECT_EQ(tokenizer.id_end(), 10);
  EXPECT_EQ(tokenizer.piece(9), "<eos>");
  EXPECT_EQ(tokenizer.piece(6), "abc");
  EXPECT_EQ(tokenizer.piece(7), std::nullopt);
  EXPECT_EQ(tokenizer.id_of("<eos>"), 9);
  EXPECT_EQ(tokenizer.id_of("bc"), 5);
  EXPECT_EQ(tokenizer.id_of("cb"), std::nullopt);
  EXPECT_TRUE(tokenizer.is_special(9));
  EXPECT_FALSE(tokenizer.is_special(1));
  EXPECT_EQ(tokenizer.eos(), 9);
  EXPECT_EQ(tokenizer.bos(), std::nullopt);
  EXPECT_EQ(tokenizer.decode(Ids{9, 1}, true), "a");
  EXPECT_EQ(tokenizer.decode(Ids{9, 1}, false), "<eos>a");
}

TEST(Tokenizer, GoldenModelsReadBytes) {
  const Tokenizer tokenizer = load_golden_tokenizer();
  EXPECT_EQ(tokenizer.size(), 384u);
  EXPECT_EQ(tokenizer.encode("def f(self):\n    return ", true),
            (Ids{2,   228, 229, 230, 160, 230, 168, 243, 229, 236, 230, 169, 186,
                 138, 160, 160, 160, 160, 242, 229, 244, 245, 242, 238, 160}));
  EXPECT_EQ(tokenizer.encode("é<|image|>", false), (Ids{128 + 0xC3, 128 + 0xA9, 7}));
  EXPECT_EQ(tokenizer.decode(Ids{2, 228, 128 + 0xC3, 128 + 0xA9, 1}, true), "dé");
  EXPECT_EQ(tokenizer.bos(), 2);
  EXPECT_EQ(tokenizer.eos(), 1);
  std::string all_bytes;
  for (int code = 0; code < 0x80; ++code) all_bytes += static_cast<char>(code);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(all_bytes, false), false), all_bytes);
}

}  // namespace
}  // namespace paceline
