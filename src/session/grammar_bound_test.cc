// What masks may take, whatever a schema asks for: counted in units of work, not in time.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <functional>

#include "grammar/grammar_for_tests.h"
#include "grammar/token_walk.h"
#include "session/token_vocabulary.h"
#include "tokenizer/tokenizers_for_tests.h"

namespace paceline::grammar {
namespace {

using testing::HasSubstr;

// First bytes are always tried, each at most once per edge that tells it from the byte before.
constexpr int64_t kBound = kMaxMaskWork + 256 * int64_t{kMaxSetEdges};

std::string any_of(int count, const std::function<std::string(int)>& one) {
  std::string text = R"({"anyOf":[)";
  for (int i = 0; i < count; ++i) text += (i > 0 ? "," : "") + one(i);
  return text + "]}";
}

// The real tokenizer where it is there.
class MaskBound : public testing::Test {
 protected:
  MaskBound()
      : tokenizer_(*Tokenizer::load(read_or_fail(shared_folder().empty()
                                                     ? PACELINE_SOURCE_DIR "/models/default/tokenizer.json"
                                                     : shared_folder() + "/tokenizer/gemma-4-it.tokenizer.json.xz"))),
        index_(make_token_index(tokenizer_).value()),
        end_(*tokenizer_.eos()) {}

  std::shared_ptr<const GrammarConstraint> made_of(std::string_view schema) {
    return std::static_pointer_cast<const GrammarConstraint>(constraint_of(schema_automaton(schema), index_, end_));
  }

  // Several texts at once, as the choices of a request are written; the longest wait for a round of masks, in ms.
  double write(const GrammarConstraint& constraint, std::string_view begin, size_t texts, size_t rounds) {
    std::vector<std::unique_ptr<ConstraintCursor>> cursors;
    std::vector<Ids> written(texts, tokenizer_.encode(begin, false));
    for (size_t i = 0; i < texts; ++i) cursors.push_back(constraint.start());
    double longest = 0;
    for (size_t round = 0; round < rounds; ++round) {
      double round_ms = 0;
      for (size_t i = 0; i < texts; ++i) {
        const auto start = std::chrono::steady_clock::now();
        const auto mask = cursors[i]->allowed(written[i]);
        round_ms += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
        const auto ids = ids_of(mask);
        EXPECT_FALSE(ids.empty());
        TokenId next = ids[random_() % ids.size()];
        for (int again = 0; again < 20 && next == end_; ++again) next = ids[random_() % ids.size()];
        if (next == end_) written[i] = tokenizer_.encode(begin, false);
        if (next != end_) written[i].push_back(next);
      }
      longest = std::max(longest, round_ms);
    }
    return longest;
  }

  Tokenizer tokenizer_;
  std::shared_ptr<const TokenIndex> index_;
  TokenId end_;
  std::mt19937 random_{11};
};

TEST_F(MaskBound, StringsOfManyLengthsAreTheLongest) {
  const auto schema = any_of(640, [](int i) { return fmt::format(R"({{"type":"string","maxLength":{}}})", i + 1); });
  const Automaton automaton = schema_automaton(schema);
  Matcher matcher(automaton);
  EXPECT_EQ(matcher.threads(matcher.step(matcher.start(), '"')).size(), 1u);
  const auto constraint = made_of(schema);
  const double longest = write(*constraint, "\"", 16, 60);
  const MaskStats stats = constraint->stats();
  fmt::print("{} ids, 640 lengths, 16 texts: a round took up to {:.1f} ms, a mask {} units; {} of {} made\n",
             index_->words() * 64, longest, stats.most_work, stats.made, stats.asked);
  EXPECT_LE(stats.most_work, 200'000);
  EXPECT_EQ(stats.cut, 0);
}

// Lengths of which none is within another: these are as many ways as there are alternatives.
TEST_F(MaskBound, TooManyWaysAtOnceAreRefusedByName) {
  const auto lengths = [](int i) {
    return fmt::format(R"({{"type":"string","minLength":{0},"maxLength":{0}}})", 2 * i + 1);
  };
  EXPECT_TRUE(json_schema_grammar(parsed(any_of(200, lengths))).ok());
  const auto refused = json_schema_grammar(parsed(any_of(640, lengths)));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("#/anyOf: too costly: expected alternatives"));
  // Late, behind what they have in common.
  const auto objects = [&](int i) {
    return fmt::format(R"({{"type":"object","properties":{{"name":{}}},"required":["name"]}})", lengths(i));
  };
  const auto late = json_schema_grammar(parsed(R"({"properties":{"a":)" + any_of(640, objects) + "}}"));
  ASSERT_FALSE(late.ok());
  EXPECT_THAT(late.error().message, HasSubstr("#/properties/a/anyOf: too costly"));
  // As many that differ early are none too many.
  EXPECT_TRUE(json_schema_grammar(parsed(any_of(400, [](int i) {
                return fmt::format(
                    R"({{"type":"object","properties":{{"kind":{{"const":"k{}"}},"x":{{}}}},"required":["kind"]}})", i);
              }))).ok());
}

TEST_F(MaskBound, HoldsForWhateverIsTaken) {
  const std::string wild =
      R"({"anyOf":[{"type":"array","items":{"$ref":"#"}},{"type":"array","items":{"anyOf":[{"$ref":"#"},{}]}},{}]})";
  const std::string wild_strings =
      R"({"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"type":"array","items":{"$ref":"#/$defs/a"}},)"
      R"({"type":"array","maxItems":3,"items":{"$ref":"#/$defs/a"}},{"type":"string","maxLength":9},)"
      R"({"type":"string","minLength":4,"maxLength":30},{"enum":["abc","abd"]}]}}})";
  const auto lengths = any_of(
      280, [](int i) { return fmt::format(R"({{"type":"string","minLength":{0},"maxLength":{0}}})", 2 * i + 1); });
  std::string words = R"({"enum":[)";
  for (int i = 0; i < 20000; ++i)
    words += fmt::format("{}\"{}\"", i ? "," : "", tokenizer_.decode(Ids{300 + i * 7}, true).size() + i);
  words += "]}";
  struct Case {
    const char* name;
    const std::string& schema;
    std::string begin;
  };
  for (const Case& one :
       {Case{"ways without end", wild, std::string(12, '[')}, Case{"with strings", wild_strings, "[[[[[[[[[\""},
        Case{"280 lengths", lengths, "\""}, Case{"20,000 words", words, "\""}}) {
    const auto constraint = made_of(one.schema);
    const double longest = write(*constraint, one.begin, 1, 40);
    const MaskStats stats = constraint->stats();
    fmt::print("{}: a mask took up to {:.1f} ms, {} units, {} of {} cut\n", one.name, longest, stats.most_work,
               stats.cut, stats.made);
    EXPECT_LE(stats.most_work, kBound) << one.name;
  }
}

// A mask that is cut has all tokens of one byte, and no token that may not follow.
TEST_F(MaskBound, WhatIsCutIsStillRight) {
  const Automaton automaton =
      schema_automaton(R"({"type":"array","items":{"anyOf":[{"type":"string","maxLength":9},{"type":"number"},{}]}})");
  for (const char* text : {"", "[", "[\"", "[\"ab", "[12", "[{\"a\":"}) {
    Matcher matcher(automaton);
    SetId position = matcher.start();
    for (const char byte : std::string_view(text)) position = matcher.step(position, static_cast<uint8_t>(byte));
    std::vector<uint64_t> whole(index_->words()), cut(index_->words()), again(index_->words());
    MaskWork all, little{.most = 300}, twice{.most = 300};
    add_allowed(automaton, *index_, matcher, position, whole, all);
    add_allowed(automaton, *index_, matcher, position, cut, little);
    Matcher fresh(automaton);
    add_allowed(automaton, *index_, fresh, fresh.adopt(matcher, position), again, twice);
    EXPECT_FALSE(all.cut) << text;
    // What was remembered makes no difference, neither to the mask nor to the count.
    EXPECT_EQ(cut, again) << text;
    EXPECT_EQ(little.units, twice.units) << text;
    for (TokenId id = 0; id < static_cast<TokenId>(index_->words() * 64); ++id) {
      const bool must_agree = is_set(cut, id) || index_->bytes_of(id).size() == 1;
      ASSERT_TRUE(!must_agree || is_set(cut, id) == is_set(whole, id)) << text << " " << id;
    }
  }
}

TEST_F(MaskBound, TextsOfOneGrammarShareTheirMasks) {
  const auto constraint =
      made_of(R"({"type":"object","properties":{"a":{"type":"string","maxLength":20}},"required":["a"]})");
  const Ids tokens = tokenizer_.encode(R"({"a": "some text"})", false);
  const auto ask = [&] {
    const auto cursor = constraint->start();
    for (size_t i = 0; i <= tokens.size(); ++i) (void)cursor->allowed(std::span(tokens).first(i));
  };
  ask();
  const MaskStats one = constraint->stats();
  EXPECT_GT(one.made, 0);
  for (int i = 0; i < 15; ++i) ask();
  EXPECT_EQ(constraint->stats().made, one.made);
  EXPECT_EQ(constraint->stats().asked, 16 * one.asked);
}

}  // namespace
}  // namespace paceline::grammar
