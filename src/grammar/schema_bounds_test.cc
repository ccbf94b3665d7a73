// Keywords that bound one another: multiples within bounds, lengths of patterns, numbers of properties, items once
// each.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <regex>
#include <set>

#include "grammar/enforceable.h"
#include "grammar/grammar_for_tests.h"

namespace paceline::grammar {
namespace {

using testing::HasSubstr;

std::string problem(std::string_view schema) {
  const auto made = json_schema_grammar(parsed(schema));
  return made.ok() ? "(none)" : made.error().message;
}

// Every number of so many digits, against arithmetic in whole numbers.
TEST(SchemaBounds, MultiplesWithinBounds) {
  const struct {
    const char* fields;
    int64_t multiple, low, high;  // in thousandths
  } cases[] = {
      {R"("multipleOf":7,"minimum":-20,"maximum":100)", 7000, -20000, 100000},
      {R"("multipleOf":5,"exclusiveMinimum":10,"exclusiveMaximum":40)", 5000, 10001, 39999},
      {R"("multipleOf":0.5)", 500, -200000, 200000},
      {R"("multipleOf":0.25,"minimum":-1.3,"maximum":12.75)", 250, -1300, 12750},
      {R"("multipleOf":0.01,"minimum":0,"maximum":3)", 10, 0, 3000},
      {R"("multipleOf":2.5,"maximum":-3)", 2500, -200000, -3000},
      {R"("multipleOf":0.3,"minimum":1,"maximum":2)", 300, 1000, 2000},
  };
  for (const auto& c : cases) {
    const Automaton automaton = schema_automaton(fmt::format(R"({{"type":"number",{}}})", c.fields));
    for (int64_t thousandths = -25000; thousandths <= 105000; thousandths += 10) {
      const bool is_good = thousandths % c.multiple == 0 && thousandths >= c.low && thousandths <= c.high;
      std::string text = fmt::format("{}{}", thousandths < 0 ? "-" : "", std::abs(thousandths) / 1000);
      const int64_t fraction = std::abs(thousandths) % 1000 / 10;
      if (fraction != 0)
        text += fraction % 10 == 0 ? fmt::format(".{}", fraction / 10) : fmt::format(".{:02}", fraction);
      EXPECT_EQ(reading(automaton, text) == Reading::complete, is_good) << c.fields << ": " << text;
    }
  }
}

// Whatever is begun can be ended.
TEST(SchemaBounds, NoNumberIsADeadEnd) {
  std::mt19937 random(1);
  for (const char* fields : {R"("multipleOf":0.25)", R"("multipleOf":35,"minimum":100,"maximum":1000)",
                             R"("multipleOf":0.125,"minimum":0.1,"maximum":0.6)", R"("multipleOf":999)"}) {
    const Automaton automaton = schema_automaton(fmt::format(R"({{"type":"number",{}}})", fields));
    const double multiple = std::stod(std::string(fields).substr(13));
    for (int i = 0; i < 60; ++i) {
      const std::string text = random_text(automaton, random);
      ASSERT_NE(text, "") << fields;
      if (text.size() > 12) continue;  // a double says no more
      const double times = std::stod(text) / multiple;
      EXPECT_NEAR(times, std::round(times), 1e-6) << text;
    }
  }
  EXPECT_THAT(problem(R"({"type":"integer","multipleOf":7,"minimum":8,"maximum":13})"),
              HasSubstr("no finite document"));
  for (const char* wrong : {"0", "-2", "1001", "1000.5", "\"2\"", "0.0011111"})
    EXPECT_THAT(problem(fmt::format(R"({{"type":"number","multipleOf":{}}})", wrong)), HasSubstr("multipleOf"))
        << wrong;
  const Automaton whole = schema_automaton(R"({"type":"integer","multipleOf":2.5})");
  EXPECT_EQ(reading(whole, "5"), Reading::complete);
  for (const char* text : {"4.", "2.5", "7.5"}) EXPECT_EQ(reading(whole, text), Reading::no) << text;
}

TEST(SchemaBounds, LengthsBesideAPatternOrAFormat) {
  const Automaton letters = schema_automaton(R"({"type":"string","pattern":"^[a-zé]+$","minLength":3,"maxLength":5})");
  for (const char* text : {"\"abc\"", "\"éééé\"", "\"abcde\""}) EXPECT_EQ(reading(letters, text), Reading::complete);
  for (const char* text : {"\"ab\"", "\"abcdef", "\"ab1"}) EXPECT_EQ(reading(letters, text), Reading::no) << text;
  std::mt19937 random(1);
  // Control characters are not written; whatever else `.` stands for is.
  const Automaton any = schema_automaton(R"({"type":"string","pattern":"^.*$","maxLength":3})");
  EXPECT_EQ(reading(any, "\"a b\""), Reading::complete);
  EXPECT_THAT(problem(R"({"type":"string","pattern":"^a\\tb$","maxLength":3})"), HasSubstr("cannot be written"));
  const Automaton mail = schema_automaton(R"({"type":"string","format":"email","maxLength":12})");
  int found = 0;
  for (int i = 0; i < 60; ++i) {
    const std::string text = random_text(mail, random);
    if (text.empty()) continue;
    ++found;
    EXPECT_LE(text.size(), 14u) << text;
    EXPECT_TRUE(std::regex_search(text, std::regex("^\"[^@]+@[^@]+\\.[A-Za-z]+\"$"))) << text;
  }
  EXPECT_GT(found, 30);
  const Automaton all = schema_automaton(
      R"({"type":"string","format":"uri","pattern":"^https://a\\.example/","minLength":22,"maxLength":22})");
  EXPECT_EQ(reading(all, "\"https://a.example/abcd\""), Reading::complete);
  EXPECT_EQ(reading(all, "\"https://a.example/abc\""), Reading::no);
  EXPECT_THAT(problem(R"({"type":"string","format":"date","minLength":11})"), HasSubstr("minLength"));
  EXPECT_THAT(problem(R"({"type":"string","pattern":"^a+$","maxLength":300000})"), HasSubstr("maxLength"));
  const auto left = enforceable(parsed(R"({"type":"string","format":"date","minLength":11})"));
  EXPECT_EQ(boost::json::serialize(left), R"({"type":"string","format":"date"})");
}

// Of integers nothing is written that is so long.
TEST(SchemaBounds, BoundsBeyondAllDigitsAreNamed) {
  for (const char* bound : {R"("minimum":10000000000000000000)", R"("minimum":1e19)", R"("exclusiveMinimum":1e18)",
                            R"("maximum":-1e19)", R"("exclusiveMaximum":-1e30)"}) {
    for (const char* type : {"integer", "number"}) {
      const std::string schema = fmt::format(R"({{"type":"{}",{}}})", type, bound);
      EXPECT_THAT(problem(schema), HasSubstr("18 digits in front of the point")) << schema;
      EXPECT_EQ(boost::json::serialize(enforceable(parsed(schema))), fmt::format(R"({{"type":"{}"}})", type));
    }
  }
  // The first that is not excluded has a digit more.
  for (const char* bound : {R"("exclusiveMinimum":999999999999999999)", R"("exclusiveMaximum":-999999999999999999)"}) {
    const std::string schema = fmt::format(R"({{"type":"integer",{}}})", bound);
    EXPECT_THAT(problem(schema), HasSubstr("18 digits in front of the point")) << schema;
    EXPECT_EQ(problem(fmt::format(R"({{"type":"number",{}}})", bound)), "(none)") << schema;
  }
  EXPECT_EQ(problem(R"({"type":"integer","exclusiveMinimum":999999999999999998})"), "(none)");
  for (const char* bound : {R"("maximum":10000000000000000000)", R"("maximum":1e19)", R"("minimum":-1e19)"}) {
    const std::string schema = fmt::format(R"({{"type":"integer",{}}})", bound);
    EXPECT_EQ(problem(schema), "(none)") << schema;
    EXPECT_EQ(reading(schema_automaton(schema), "12345"), Reading::complete) << schema;
  }
}

// All subsets of the properties, in their order.
TEST(SchemaBounds, NumbersOfProperties) {
  const auto expect = [](const char* bounds, const char* required, int low, int high, int needed) {
    const Automaton automaton = schema_automaton(fmt::format(
        R"({{"properties":{{"a":{{"const":1}},"b":{{"const":1}},"c":{{"const":1}},"d":{{"const":1}}}},"required":{},{}}})",
        required, bounds));
    for (int set = 0; set < 16; ++set) {
      std::string text = "{";
      for (int i = 0; i < 4; ++i)
        if ((set >> i & 1) != 0) text += fmt::format("{}\"{}\":1", text.size() > 1 ? "," : "", "abcd"[i]);
      const int count = std::popcount(static_cast<unsigned>(set));
      const bool is_good = count >= low && count <= high && (set & needed) == needed;
      EXPECT_EQ(reading(automaton, text + "}") == Reading::complete, is_good) << bounds << required << text;
    }
    // Whatever is begun can be ended.
    std::mt19937 random(1);
    for (int i = 0; i < 20; ++i) EXPECT_NE(random_text(automaton, random), "") << bounds << required;
  };
  expect(R"("minProperties":1)", "[]", 1, 4, 0);
  expect(R"("minProperties":2)", "[]", 2, 4, 0);
  expect(R"("maxProperties":2)", "[]", 0, 2, 0);
  expect(R"("minProperties":2,"maxProperties":3)", R"(["c"])", 2, 3, 4);
  expect(R"("maxProperties":2)", R"(["a","d"])", 2, 2, 9);
  expect(R"("minProperties":4,"maxProperties":9)", "[]", 4, 4, 0);
  const Automaton open = schema_automaton(R"({"type":"object","minProperties":1})");
  EXPECT_EQ(reading(open, "{}"), Reading::no);
  EXPECT_EQ(reading(open, R"({"x":[]})"), Reading::complete);
  EXPECT_THAT(problem(R"({"properties":{"a":{}},"required":["a"],"maxProperties":0})"), HasSubstr("no object"));
  EXPECT_THAT(problem(R"({"properties":{"a":{}},"minProperties":2})"), HasSubstr("no object"));
  EXPECT_THAT(problem(R"({"type":"object","minProperties":2})"), HasSubstr("minProperties"));
  EXPECT_THAT(problem(R"({"properties":{"a":{}},"additionalProperties":true,"maxProperties":2})"),
              HasSubstr("named properties only"));
}

TEST(SchemaBounds, ItemsOnceEach) {
  const Automaton colours =
      schema_automaton(R"({"type":"array","items":{"$ref":"#/$defs/c"},"uniqueItems":true,"minItems":2,"maxItems":3,)"
                       R"("$defs":{"c":{"type":"string","enum":["red","redder","blue","green"]}}})");
  for (const char* text : {R"(["red","blue"])", R"(["redder", "red", "green"])"})
    EXPECT_EQ(reading(colours, text), Reading::complete) << text;
  for (const char* text : {R"(["red"])", R"(["red","red")", R"(["red","blue","redder",)", R"(["red","pink")"})
    EXPECT_EQ(reading(colours, text), Reading::no) << text;
  const Automaton mixed = schema_automaton(R"({"items":{"enum":[1,1.0,null,"x"]},"uniqueItems":true})");
  std::mt19937 random(1);
  for (int i = 0; i < 60; ++i) {
    const std::string text = random_text(mixed, random);
    ASSERT_NE(text, "");
    std::set<std::string> seen;
    const auto read = parsed(text);
    for (const auto& item : read.as_array()) EXPECT_TRUE(seen.insert(boost::json::serialize(item)).second) << text;
    EXPECT_LE(seen.size(), 3u);
  }
  EXPECT_THAT(problem(R"({"items":{"type":"string"},"uniqueItems":true})"), HasSubstr("uniqueItems"));
  EXPECT_THAT(problem(R"({"items":{"enum":[1,2,3,4,5,6,7,8,9]},"uniqueItems":true})"), HasSubstr("up to 8"));
  EXPECT_THAT(problem(R"({"items":{"enum":[1,2]},"uniqueItems":true,"minItems":3})"), HasSubstr("minItems"));
  EXPECT_THAT(problem(R"({"items":{"enum":[1,2]},"uniqueItems":1})"), HasSubstr("uniqueItems"));
  EXPECT_THAT(problem(R"({"items":{"$ref":"#/$defs/c"},"uniqueItems":true,"$defs":{"c":{"type":"string"}}})"),
              HasSubstr("uniqueItems"));
  const auto left =
      enforceable(parsed(R"({"items":{"$ref":"#/$defs/c"},"uniqueItems":true,"$defs":{"c":{"type":"string"}}})"));
  EXPECT_FALSE(left.as_object().contains("uniqueItems"));
}

TEST(SchemaBounds, MoreItemsThanAreListed) {
  const Automaton some =
      schema_automaton(R"({"prefixItems":[{"type":"integer"}],"items":{"type":"boolean"},"minItems":3})");
  EXPECT_EQ(reading(some, "[1,true,false]"), Reading::complete);
  for (const char* text : {"[1]", "[1,true]", "[1,2", "[true"}) EXPECT_EQ(reading(some, text), Reading::no) << text;
  EXPECT_EQ(reading(schema_automaton(R"({"prefixItems":[{"type":"integer"}],"minItems":2})"), R"([1,{"x":[]}])"),
            Reading::complete);
  EXPECT_THAT(problem(R"({"prefixItems":[{"type":"integer"}],"items":false,"minItems":2})"),
              HasSubstr("no finite document"));
}

TEST(SchemaBounds, WhatStandsBesideAllOf) {
  const std::string tail = R"("$defs":{"a":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}}})";
  const Automaton both = schema_automaton(
      R"({"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"integer"}},"additionalProperties":false,)"
      R"("required":["y"],"allOf":[{"$ref":"#/$defs/a"}],)" +
      tail);
  EXPECT_EQ(reading(both, R"({"x":1,"y":2})"), Reading::complete);
  for (const char* text : {R"({"x":1})", R"({"y":1})", R"({"x":1,"y":2,)"})
    EXPECT_EQ(reading(both, text), Reading::no) << text;
  // As the standard has it: who lists no more lets no more in, though its neighbour lists them.
  EXPECT_THAT(problem(R"({"properties":{"y":{}},"additionalProperties":false,"allOf":[{"$ref":"#/$defs/a"}],)" + tail),
              HasSubstr(R"("x" is required)"));
  const Automaton open = schema_automaton(R"({"additionalProperties":true,"allOf":[{"$ref":"#/$defs/a"}],)" + tail);
  EXPECT_EQ(reading(open, R"({"x":1,"z":[2]})"), Reading::complete);
  EXPECT_EQ(reading(open, R"({"z":1})"), Reading::no);
  EXPECT_THAT(problem(R"({"allOf":[{"type":"object"},{"enum":[{}]}]})"), HasSubstr("#/allOf"));
  EXPECT_THAT(problem(R"({"type":"string","allOf":[{"$ref":"#/$defs/a"}],)" + tail), HasSubstr("plain objects"));
  const auto left = enforceable(parsed(R"({"type":"string","allOf":[{"enum":["u"]}]})"));
  EXPECT_EQ(boost::json::serialize(left), R"({"allOf":[{"enum":["u"]}]})");
}

}  // namespace
}  // namespace paceline::grammar
