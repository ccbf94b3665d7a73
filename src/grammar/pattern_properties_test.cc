// Members by the pattern of their names.
#include <gmock/gmock.h>

#include "grammar/enforceable.h"
#include "grammar/grammar_for_tests.h"
#include "grammar/regex_texts.h"

namespace paceline::grammar {
namespace {

using ::testing::HasSubstr;

std::string refusal(std::string_view schema) {
  const auto made = json_schema_grammar(parsed(schema));
  return made.ok() ? "(none)" : made.error().message;
}

TEST(PatternProperties, NamesOfTheFormHaveValuesOfTheSchema) {
  const Automaton automaton =
      schema_automaton(R"({"type":"object","properties":{"id":{"type":"integer"}},"required":["id","x-size"],)"
                       R"("patternProperties":{"^x-":{"type":"integer"},"^[a-w]*_at$":{"type":"string"}}})");
  for (const char* text : {R"({"id":1,"x-size":2})", R"({"id":1,"x-size":2,"x-":3,"made_at":"now","x-a\"b":4})",
                           R"({"id":1,"x-size":2,"_at":""})"})
    EXPECT_EQ(reading(automaton, text), Reading::complete) << text;
  for (const char* text :
       {R"({"id":1})", R"({"id":1,"x-size":"2")", R"({"id":1,"x-size":2,"x-b":"")", R"({"id":1,"x-size":2,"made_at":3)",
        R"({"id":1,"x-size":2,"other":)", R"({"id":1,"x-size":2,"made_a":)"})
    EXPECT_EQ(reading(automaton, text), Reading::no) << text;
}

TEST(PatternProperties, WhatIsWrittenIsValid) {
  std::mt19937 random(7);
  for (
      const char* text :
      {R"({"patternProperties":{"^[a-c]{1,3}$":{"type":"boolean"}},"additionalProperties":false})",
       R"({"patternProperties":{"^s_[a-z]$":{"type":"null"},"^n_[0-9]+$":{"type":"boolean"}}})",
       R"({"properties":{"ab":{"type":"null"}},"patternProperties":{"^a":{}, "^b$":{"enum":[1,"x"]}}})",
       R"({"required":["k1"],"patternProperties":{"^k[0-9]$":{"type":"boolean"}},"additionalProperties":{"type":"null"}})"}) {
    const auto schema = parsed(text);
    const Automaton automaton = schema_automaton(text);
    int found = 0;
    for (int i = 0; i < 300; ++i) {
      const std::string written = random_text(automaton, random);
      if (written.empty()) continue;
      ++found;
      int left = 10000;
      EXPECT_TRUE(satisfies(parsed(written), schema, schema, 0, &left)) << text << "\n" << written;
    }
    EXPECT_GT(found, 30) << text;
  }
}

TEST(PatternProperties, WhatCannotBeFollowedIsNamed) {
  EXPECT_THAT(refusal(R"({"patternProperties":[]})"), HasSubstr("expected an object"));
  EXPECT_THAT(refusal(R"({"patternProperties":{"\\bx":{}
}
})"),
              HasSubstr("patternProperties"));
  EXPECT_THAT(refusal(R"({"patternProperties":{"^a":{"type":"null"},"b$":{"type":"string"}}})"),
              HasSubstr(R"(a name may match both "^a" and "b$")"));
  EXPECT_THAT(refusal(R"({"properties":{"ab":{"type":"null"}},"patternProperties":{"^a":{"type":"string"}}})"),
              HasSubstr(R"("ab" matches "^a", and is listed with another schema)"));
  EXPECT_THAT(refusal(R"({"patternProperties":{"^a":{"type":"none"}}})"), HasSubstr("type"));
  // Alike, they may meet; and where anything is allowed a property says more.
  EXPECT_EQ(refusal(R"({"patternProperties":{"^a":{"type":"null"},"b$":{"type":"null"}}})"), "(none)");
  EXPECT_EQ(refusal(R"({"properties":{"ab":{"type":"null"}},"patternProperties":{"^a":true}})"), "(none)");
  std::string many = R"({"patternProperties":{)";
  for (int i = 0; i < 40; ++i) many += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":{}";
  EXPECT_THAT(refusal(many + "}}"), HasSubstr("at most 32"));
  // Of a tool that is not strict it is left out, and what is within is followed as far as it can be.
  EXPECT_EQ(enforceable(parsed(R"({"type":"object","patternProperties":{"\\bx":{}
  }
  })")),
            parsed(R"({"type":"object"})"));
  EXPECT_EQ(enforceable(parsed(R"({"patternProperties":{"^a":{"type":"array","contains":{}}}})")),
            parsed(R"({"patternProperties":{"^a":{"type":"array"}}})"));
}

TEST(PatternProperties, TextsOfExpressions) {
  int64_t work = 100'000;
  const auto texts = [&](std::string_view text) { return RegexTexts::of(parse_regex(text).value(), work).value(); };
  EXPECT_TRUE(texts("^a(b|c)*d?$").have("abcbd", work).value());
  EXPECT_FALSE(texts("^a(b|c)*d?$").have("abdc", work).value());
  EXPECT_TRUE(texts("b{2,3}").have("xbby", work).value());
  EXPECT_FALSE(texts("^b{2,3}$").have("bbbb", work).value());
  EXPECT_TRUE(texts("^[^a]$").have("\xE2\x82\xAC", work).value());
  EXPECT_TRUE(texts("^a+$").meet(texts("^(aa)+$"), work).value());
  EXPECT_FALSE(texts("^a[0-9]$").meet(texts("^a[a-z]$"), work).value());
  EXPECT_FALSE(texts("^x_").meet(texts("^y_"), work).value());
}

// Whoever writes patterns that are short to say and long to follow is told so, and nobody waits for it.
TEST(PatternProperties, WorkIsBounded) {
  int64_t work = 1000;
  EXPECT_FALSE(RegexTexts::of(parse_regex("^([a-z]{99}){99}$").value(), work).ok());
  EXPECT_THAT(refusal(R"({"patternProperties":{"^([a-z]{99}){99}$":{}}})"), HasSubstr("too much work"));
  int64_t enough = 10'000, little = 50;
  const RegexTexts some = RegexTexts::of(parse_regex("^[a-z]{1,99}a$").value(), enough).value();
  EXPECT_FALSE(some.meet(some, little).ok());
  little = 50;
  EXPECT_FALSE(some.have(std::string(60, 'b'), little).ok());
}

// Bare names, as Gemma's calls have them.
TEST(PatternProperties, InCalls) {
  int64_t work = 1000;
  const RegexNode bare = within(parse_regex("^x[-: a]+$").value(), {{'-', '.'}, {'a', 'z'}});
  const RegexTexts texts = RegexTexts::of(bare, work).value();
  EXPECT_TRUE(texts.have("x-a", work).value());
  EXPECT_FALSE(texts.have("x: a", work).value());
  EXPECT_FALSE(may_be_empty(bare));
  EXPECT_TRUE(may_be_empty(parse_regex("^(a|b?)c*$").value()));
}

}  // namespace
}  // namespace paceline::grammar
