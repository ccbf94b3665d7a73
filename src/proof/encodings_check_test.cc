#include "proof/encodings_check.h"

#include <ctime>
#include <random>

#include "base/utf8.h"
#include "tokenizer/stream_decoder.h"
#include "tokenizer/tokenizers_for_tests.h"

namespace paceline {
namespace {

TEST(EncodingsCheck, CountsWhatIsEqualAndSaysWhatIsNot) {
  const Tokenizer tokenizer = TokenizerText{}.load();
  const auto report =
      check_encodings(tokenizer, R"({"encode": [{"text": "abc", "ids": [6]}, {"text": "abc", "ids": [4, 3]}],
    "decode": [{"ids": [6, 1], "text": "abca", "text_without_special": "wrong"}, {"ids": [], "text": ""}]})");
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->encode_rows, 2u);
  EXPECT_EQ(report->encode_equal, 1u);
  EXPECT_EQ(report->decode_rows, 2u);
  EXPECT_EQ(report->decode_equal, 2u);
  EXPECT_EQ(report->decode_without_special_rows, 1u);
  EXPECT_EQ(report->decode_without_special_equal, 0u);
  EXPECT_FALSE(report->all_equal());
  ASSERT_EQ(report->first_mismatches.size(), 2u);
  EXPECT_EQ(report->first_mismatches[0], "encode[1]: expected 2 ids, from 0 on [4, 3]; found 1 ids, there [6]");
  EXPECT_NE(report->first_mismatches[1].find("decode[0].text_without_special"), std::string::npos);
}

TEST(EncodingsCheck, RefusesWhatIsNoTable) {
  const Tokenizer tokenizer = TokenizerText{}.load();
  for (const char* table : {"", "[]", "{}", R"({"encode": 1})", R"({"encode": [1]})", R"({"encode": [{"text": "a"}]})",
                            R"({"encode": [{"text": "a", "ids": [-1]}]})", R"({"decode": [{"ids": []}]})"}) {
    EXPECT_FALSE(check_encodings(tokenizer, table).ok()) << table;
  }
}

struct RealFiles {
  const char *name, *tokenizer, *encodings;
  TokenId bytes_begin, id_end;
};

class RealTokenizer : public testing::TestWithParam<RealFiles> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_SHARED(shared_);
    if (!std::filesystem::exists(path(GetParam().tokenizer))) GTEST_SKIP() << "no such tokenizer there";
  }
  [[nodiscard]] std::string path(const char* file) const { return shared_ + "/tokenizer/" + file; }
  [[nodiscard]] Tokenizer load() const {
    auto tokenizer = Tokenizer::load(read_or_fail(path(GetParam().tokenizer)));
    if (!tokenizer.ok()) {
      ADD_FAILURE() << tokenizer.error().message;
      std::abort();
    }
    return std::move(tokenizer).value();
  }
  const std::string shared_ = shared_folder();
};

TEST_P(RealTokenizer, AgreesWithHuggingFace) {
  const auto report = check_encodings_files(path(GetParam().tokenizer), path(GetParam().encodings));
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_GE(report->encode_rows, 399u);
  EXPECT_GE(report->decode_rows, 90u);
  EXPECT_TRUE(report->all_equal());
  for (const std::string& line : report->first_mismatches) ADD_FAILURE() << line;
}

TEST_P(RealTokenizer, StreamsWhatItDecodes) {
  const Tokenizer tokenizer = load();
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    Ids ids;
    while (random() % 40 != 0) {
      // Pieces of one byte are rare, so every third id is one.
      const auto any = static_cast<TokenId>(random() % static_cast<uint32_t>(GetParam().id_end));
      ids.push_back(random() % 3 == 0 ? GetParam().bytes_begin + static_cast<TokenId>(random() % 256) : any);
    }
    for (const bool skip_special : {false, true}) {
      StreamDecoder decoder(tokenizer, {.skip_special = skip_special});
      std::string all;
      for (const TokenId id : ids) all += decoder.push(id);
      all += decoder.finish();
      ASSERT_EQ(all, tokenizer.decode(ids, skip_special));
    }
  }
}

// Work that grew with the square of the length would be 10^12 steps, hours of any machine's; what it is takes a tenth
// of a second. So a minute of processor time tells them apart wherever this runs.
TEST_P(RealTokenizer, OneMegabyteIsNotWorkOfItsSquare) {
  const Tokenizer tokenizer = load();
  constexpr size_t kBytes = 1000000;
  std::mt19937 random(1);
  std::string letters, mixed;
  while (letters.size() < kBytes) letters += static_cast<char>('a' + random() % 26);
  while (mixed.size() < kBytes)
    mixed += "The quick brown fox – größer, 我能吞下玻璃 <turn|>\n  return x**2;\t😀 " + std::to_string(random());
  const std::pair<const char*, std::string> texts[] = {{"mixed", mixed},
                                                       {"letters", letters},
                                                       {"one letter", std::string(kBytes, 'a')},
                                                       {"spaces", std::string(kBytes, ' ')},
                                                       {"lines", std::string(kBytes, '\n')},
                                                       {"digits", std::string(kBytes, '7')},
                                                       {"angle brackets", std::string(kBytes, '<')},
                                                       {"no UTF-8", std::string(kBytes, '\xFF')}};
  for (const auto& [name, text] : texts) {
    const std::clock_t begin = std::clock();  // processor time: others may be using the machine
    const Ids ids = tokenizer.encode(text, false);
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    RecordProperty(name, std::to_string(seconds));
    EXPECT_LT(seconds, 60) << name;
    const bool comes_back = is_valid_utf8(text);
    EXPECT_EQ(tokenizer.decode(ids, false) == text, comes_back) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, RealTokenizer,
    testing::Values(RealFiles{"Gemma4", "gemma-4-it.tokenizer.json.xz", "encodings.json", 238, 262144},
                    RealFiles{"Qwen3", "qwen3.tokenizer.json.xz", "qwen3.encodings.json", 0, 151669}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace paceline
