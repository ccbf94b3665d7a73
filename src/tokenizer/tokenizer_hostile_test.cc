// tokenizer.json from strangers: an error that says what was found, or a tokenizer; never a crash, never much memory.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <algorithm>
#include <cctype>
#include <random>

#include "tokenizer/tokenizers_for_tests.h"

namespace paceline {
namespace {

using testing::HasSubstr;

std::string error_of(const std::string& json) {
  const auto tokenizer = Tokenizer::load(json);
  return tokenizer.ok() ? "no error" : tokenizer.error().message;
}

TEST(TokenizerFile, NamesWhatItDoesNotImplement) {
  TokenizerText text;
  text.normalizer = R"({"type": "NFKC"})";
  EXPECT_THAT(error_of(text.json()),
              AllOf(HasSubstr("normalizer.type"), HasSubstr("Replace, Prepend"), HasSubstr("NFKC")));
  text = {};
  text.pre_tokenizer = R"({"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}]})";
  EXPECT_THAT(error_of(text.json()), AllOf(HasSubstr("pre_tokenizer.pretokenizers[0].type"), HasSubstr("ByteLevel")));
  text.pre_tokenizer = R"({"type": "Split", "pattern": {"Regex": "x"}, "behavior": "Removed", "invert": false})";
  EXPECT_THAT(error_of(text.json()), AllOf(HasSubstr("pre_tokenizer.pattern"), HasSubstr("Regex")));
  text = {};
  text.decoder = R"({"type": "Metaspace"})";
  EXPECT_THAT(error_of(text.json()),
              AllOf(HasSubstr("decoder.type"), HasSubstr("ByteFallback"), HasSubstr("Metaspace")));
  text = {};
  text.post_processor = R"({"type": "RobertaProcessing"})";
  EXPECT_THAT(error_of(text.json()), AllOf(HasSubstr("post_processor.type"), HasSubstr("RobertaProcessing")));
  EXPECT_THAT(error_of(R"({"model": {"type": "Unigram", "vocab": [["a", 0.5]]}})"),
              AllOf(HasSubstr("model.type"), HasSubstr("BPE"), HasSubstr("Unigram")));
  text = {};
  text.switches = R"("dropout": 0.1)";
  EXPECT_THAT(error_of(text.json()), HasSubstr("dropout"));
  text.switches = R"("end_of_word_suffix": "</w>")";
  EXPECT_THAT(error_of(text.json()), AllOf(HasSubstr("end_of_word_suffix"), HasSubstr("</w>")));
  text.switches = R"("something_new": 1)";
  EXPECT_THAT(error_of(text.json()), HasSubstr("something_new"));
}

TEST(TokenizerFile, RefusesBrokenVocabularies) {
  TokenizerText text;
  const auto error_with_vocab = [&](const std::string& vocab) {
    text.vocab = vocab;
    text.merges = "[]";
    text.unk_token = "null";
    return error_of(text.json());
  };
  EXPECT_THAT(error_with_vocab(R"({"a": 1, "b": 1})"), AllOf(HasSubstr("one piece per id"), HasSubstr("id 1")));
  EXPECT_THAT(error_with_vocab(R"({"a": 1, "a": 2})"), HasSubstr("every piece once"));
  EXPECT_THAT(error_with_vocab(R"({"a": -1})"), AllOf(HasSubstr("\"a\""), HasSubstr("-1")));
  EXPECT_THAT(error_with_vocab(R"({"a": 4294967296})"), HasSubstr("4294967296"));
  EXPECT_THAT(error_with_vocab(R"({"a": 18446744073709551615})"), HasSubstr("18446744073709551615"));
  EXPECT_THAT(error_with_vocab(R"({"a": 1.5})"), HasSubstr("1.5"));
  EXPECT_THAT(error_with_vocab(R"({"a": [1]})"), HasSubstr("an array"));
  EXPECT_THAT(error_with_vocab(R"({"a": "1"})"), HasSubstr("a string"));
  EXPECT_THAT(error_with_vocab("[]"), HasSubstr("model.vocab"));
  EXPECT_THAT(error_with_vocab("{}, \"vocab\": {}"), HasSubstr("expected it once"));
  EXPECT_THAT(error_with_vocab("{\"\xFF\": 1}"), HasSubstr("expected JSON"));
  EXPECT_THAT(error_with_vocab(R"({"\ud800": 1})"), HasSubstr("expected JSON"));
  EXPECT_EQ(error_with_vocab("{}"), "no error");
}

TEST(TokenizerFile, RefusesBrokenMergesAndTokens) {
  const auto error_with_merges = [](const std::string& merges) {
    TokenizerText text;
    text.merges = merges;
    return error_of(text.json());
  };
  EXPECT_THAT(error_with_merges(R"([["a", "x"]])"), AllOf(HasSubstr("entry 0"), HasSubstr("\"x\"")));
  EXPECT_THAT(error_with_merges(R"(["a b c"])"), HasSubstr("\"a b c\""));
  EXPECT_THAT(error_with_merges(R"(["ab"])"), HasSubstr("\"ab\""));
  EXPECT_THAT(error_with_merges(R"([["a"]])"), HasSubstr("another length"));
  EXPECT_THAT(error_with_merges(R"([["a", "b", "c"]])"), HasSubstr("another length"));
  EXPECT_THAT(error_with_merges(R"([["a", ["b"]]])"), HasSubstr("an array"));
  EXPECT_THAT(error_with_merges(R"([1])"), HasSubstr("a number"));
  EXPECT_THAT(error_with_merges("{}"), HasSubstr("model.merges"));
  const auto error_with_added = [](const std::string& tokens) {
    TokenizerText text;
    text.added_tokens = tokens;
    return error_of(text.json());
  };
  EXPECT_THAT(error_with_added(R"([{"id": 7, "content": "x"}, {"id": 7, "content": "y"}])"),
              HasSubstr("every id once"));
  EXPECT_THAT(error_with_added(R"([{"id": 7, "content": "x"}, {"id": 8, "content": "x"}])"),
              HasSubstr("every token once"));
  EXPECT_THAT(error_with_added(R"([{"id": 7, "content": "a"}])"), HasSubstr("under its id"));
  EXPECT_THAT(error_with_added(R"([{"id": 1, "content": "x"}])"), HasSubstr("a free id"));
  EXPECT_THAT(error_with_added(R"([{"id": 7, "content": ""}])"), HasSubstr("not empty"));
  EXPECT_THAT(error_with_added(R"([{"id": 4000000000, "content": "x"}])"), HasSubstr("4000000000"));
  TokenizerText text;
  text.unk_token = "\"nobody\"";
  EXPECT_THAT(error_of(text.json()), HasSubstr("nobody"));
  text = {};
  text.post_processor =
      R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "s"}}, {"Sequence": {"id": "A"}}],
                            "special_tokens": {"s": {"ids": [99]}}})";
  EXPECT_THAT(error_of(text.json()), AllOf(HasSubstr("post_processor"), HasSubstr("99")));
}

TEST(TokenizerFile, RefusesWhatIsNoTokenizerAtAll) {
  for (const char* json :
       {"", " ", "null", "[]", "{}", "{", "{\"model\": 1}", "{\"model\": {\"vocab\": {\"a\": 1", "{} {}"}) {
    EXPECT_NE(error_of(json), "no error") << json;
  }
  EXPECT_THAT(error_of(std::string(100000, '[')), HasSubstr("expected JSON"));
  TokenizerText text;
  text.normalizer = "";
  for (int depth = 0; depth < 100000; ++depth) text.normalizer += R"({"type": "Sequence", "normalizers": [)";
  EXPECT_THAT(error_of(text.json()), HasSubstr("expected JSON"));
}

TEST(TokenizerFile, HighIdsCostNothing) {
  TokenizerText text;
  text.vocab = R"({"<unk>": 0, "a": 2147483646, "b": 1000000000, "ab": 1999999999})";
  text.merges = R"([["a", "b"]])";
  rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  const Tokenizer tokenizer = text.load();
  EXPECT_EQ(tokenizer.encode("aba", false), (Ids{1999999999, 2147483646}));
  EXPECT_EQ(tokenizer.decode(Ids{1999999999, 5, 2147483646}, false), "aba");
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 * 1024) << "KiB";
}

TEST(TokenizerFile, SeedsOfTheFuzzerAreTokenizers) {
  size_t seeds = 0;
  for (const auto& file : std::filesystem::directory_iterator(PACELINE_SOURCE_DIR "/tests/fuzz/tokenizer")) {
    EXPECT_EQ(error_of(read_or_fail(file.path().string())), "no error") << file.path();
    ++seeds;
  }
  EXPECT_GE(seeds, 4u);
}

// The places of JSON's atoms: strings with their quotes, numbers and words.
std::vector<std::pair<size_t, size_t>> find_atoms(const std::string& json) {
  std::vector<std::pair<size_t, size_t>> atoms;
  for (size_t pos = 0; pos < json.size();) {
    size_t end = pos;
    if (json[pos] == '"') {
      end = json.find('"', pos + 1) + 1;
    } else {
      while (end < json.size() && (std::isalnum(static_cast<unsigned char>(json[end])) || json[end] == '.')) ++end;
    }
    if (end > pos) atoms.emplace_back(pos, end - pos);
    pos = std::max(end, pos + 1);
  }
  return atoms;
}

// Still JSON, mostly: one atom in place of another.
void put_atom(std::string& mutated, const std::string& json, std::mt19937& random) {
  const auto atoms = find_atoms(json), places = find_atoms(mutated);
  if (places.empty()) return;
  const auto [from, bytes] = atoms[random() % atoms.size()];
  const auto [to, old_bytes] = places[random() % places.size()];
  mutated.replace(to, std::min(old_bytes, mutated.size() - to), json, from, bytes);
}

TEST(TokenizerFile, SurvivesMutations) {
  TokenizerText text;
  text.added_tokens =
      R"([{"id": 7, "content": "<s>", "lstrip": true, "special": true}, {"id": 8, "content": "cat", "single_word": true, "normalized": true, "rstrip": true, "special": false}])";
  text.normalizer =
      R"({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]})";
  text.pre_tokenizer =
      R"({"type": "Split", "pattern": {"String": "b"}, "behavior": "MergedWithNext", "invert": false})";
  text.post_processor =
      R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "s"}}, {"Sequence": {"id": "A"}}], "special_tokens": {"s": {"ids": [7]}}})";
  text.decoder =
      R"({"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})";
  text.switches = R"("fuse_unk": true, "byte_fallback": true, "ignore_merges": false)";
  const std::string json = text.json();
  ASSERT_EQ(error_of(json), "no error");
  const std::vector<std::string> scraps = {"{",   "}",     "[",       "]",    "\"", ",",    ":",    "null", "-1",
                                           "4e9", "1e999", "\\u0000", "\xFF", "▁",  "\"\"", "true", "0"};
  std::mt19937 random(11);
  size_t loaded = 0;
  for (int round = 0; round < 6000; ++round) {
    std::string mutated = json;
    for (size_t changes = 1 + random() % 3; changes > 0; --changes) {
      const size_t at = random() % mutated.size();
      if (round % 2 == 0) {
        put_atom(mutated, json, random);
        continue;
      }
      switch (random() % 5) {
        case 0: mutated[at] = static_cast<char>(random()); break;
        case 1: mutated.erase(at, 1 + random() % 8); break;
        case 2: mutated.insert(at, scraps[random() % scraps.size()]); break;
        case 3: mutated.insert(at, mutated.substr(random() % mutated.size(), random() % 40)); break;
        case 4: mutated[at] = static_cast<char>('0' + random() % 75); break;
      }
      if (mutated.empty()) mutated = " ";
    }
    const auto tokenizer = Tokenizer::load(mutated);
    if (!tokenizer.ok()) {
      ASSERT_FALSE(tokenizer.error().message.empty());
      continue;
    }
    ++loaded;
    const Ids ids = tokenizer->encode("abcab <s> cat \xC3\xA9\xFF b", true);
    (void)tokenizer->decode(ids, false);
    (void)tokenizer->decode(ids, true);
  }
  EXPECT_GT(loaded, 100u) << "too few of them were tokenizers to try anything";
  EXPECT_LT(loaded, 5900u);
}

}  // namespace
}  // namespace paceline
