// Patterns and formats, against what std::regex says of what random walks write.
#include "grammar/string_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "grammar/enforceable.h"
#include "grammar/grammar_for_tests.h"

namespace paceline::grammar {
namespace {

std::string schema_with(std::string_view pattern) {
  return boost::json::serialize(boost::json::object{{"type", "string"}, {"pattern", pattern}});
}

TEST(StringPattern, WhatIsWrittenMatches) {
  std::mt19937 random(1);
  for (const char* pattern :
       {"^a+$", "^[A-Z][a-z]{2,5}$", "^(foo|ba[rz])?x$", "^\\d{3}-\\w*$", "^[^a-y]+$", "^(a|b)*c{2}$", "^$", "^x|y$",
        "^\"\\\\$", "^[\\-_.]{1,3}$", "b", "^(?:a{0,3}b){2}$", "^.{2}$", "^\\u0041\\x42$", "^a*?b$"}) {
    const Automaton automaton = schema_automaton(schema_with(pattern));
    const std::regex expected(pattern);
    int found = 0;
    for (int i = 0; i < 40; ++i) {
      const std::string text = random_text(automaton, random);
      if (text.empty()) continue;
      ++found;
      const auto value = parsed(text);
      // std::regex reads bytes: what is beyond ASCII counts as several.
      const std::string said(value.as_string());
      const bool is_ascii =
          std::all_of(said.begin(), said.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
      if (is_ascii) {
        EXPECT_TRUE(std::regex_search(said, expected)) << pattern << " " << text;
      }
    }
    EXPECT_GT(found, 0) << pattern;
  }
}

TEST(StringPattern, CharactersBeyondAscii) {
  const Automaton greek = schema_automaton(schema_with("^[α-ω€😀]+$"));
  EXPECT_EQ(reading(greek, "\"αωλ€😀\""), Reading::complete);
  for (const char* text : {"\"a", "\"Ω", "\"€\xF0\x9F\x98\x81", "\"\""})
    EXPECT_EQ(reading(greek, text), Reading::no) << text;
  const Automaton others = schema_automaton(schema_with("^[^a-z]$"));
  for (const char* text : {"\"é\"", "\"\xEF\xBF\xBD\"", "\"\xF4\x8F\xBF\xBF\"", "\"A\"", R"("\"")"})
    EXPECT_EQ(reading(others, text), Reading::complete) << text;
  EXPECT_EQ(reading(others, "\"q"), Reading::no);
  EXPECT_EQ(reading(others, "\"\xED\xA0"), Reading::no) << "surrogates";
}

TEST(StringPattern, Formats) {
  const struct {
    const char* format;
    std::vector<const char*> good, bad;
  } cases[] = {
      {"date",
       {"2024-02-28", "1999-12-31", "2024-02-29", "2000-02-29", "1904-02-29", "1996-02-29"},
       {"2024-02-30", "2024-13-01", "24-01-01", "2023-02-29", "1900-02-29", "2022-02-29"}},
      {"time", {"23:59:59Z", "00:00:00.5+01:00"}, {"24:00:00Z", "12:00Z"}},
      {"date-time", {"2024-02-28T12:00:00Z"}, {"2024-02-28 12:00:00Z"}},
      {"email", {"anna.b@mail.example.com"}, {"anna", "a@b", ".a@b.com", "a..b@c.de"}},
      {"uuid", {"123e4567-e89b-12d3-a456-426614174000"}, {"123e4567"}},
      {"ipv4", {"192.168.0.255", "1.2.3.4"}, {"256.1.1.1", "1.2.3"}},
      {"ipv6", {"2001:db8:0:0:0:0:0:1"}, {"1:2"}},
      {"uri", {"https://example.com/a/b?c=d"}, {"example.com", "http:/x"}},
  };
  for (const auto& c : cases) {
    const Automaton automaton = schema_automaton(fmt::format(R"({{"type":"string","format":"{}"}})", c.format));
    for (const char* text : c.good)
      EXPECT_EQ(reading(automaton, fmt::format("\"{}\"", text)), Reading::complete) << text;
    for (const char* text : c.bad)
      EXPECT_NE(reading(automaton, fmt::format("\"{}\"", text)), Reading::complete) << text;
  }
}

std::string schema_of_both(std::string_view format, std::string_view pattern) {
  return boost::json::serialize(boost::json::object{{"type", "string"}, {"format", format}, {"pattern", pattern}});
}

TEST(StringPattern, APatternBesideAFormat) {
  const Automaton year = schema_automaton(schema_of_both("date", "^2024-"));
  EXPECT_EQ(reading(year, "\"2024-02-28\""), Reading::complete);
  for (const char* text : {"\"1991", "\"2024-13", "\"2024-02-30"}) EXPECT_EQ(reading(year, text), Reading::no) << text;
  std::mt19937 random(1);
  for (int i = 0; i < 40; ++i) {
    const std::string text = random_text(year, random);
    EXPECT_TRUE(text.starts_with("\"2024-")) << text;
  }
  const Automaton inside = schema_automaton(schema_of_both("email", "@example\\.(com|org)$"));
  EXPECT_EQ(reading(inside, "\"anna.b@example.org\""), Reading::complete);
  EXPECT_NE(reading(inside, "\"anna.b@other.org\""), Reading::complete);
}

// What a library for schemas adds of its own to a format says no more than the format.
TEST(StringPattern, LooksAheadThatAFormatKeepsAnyway) {
  const Automaton mail = schema_automaton(
      schema_of_both("email", "^(?!\\.)(?!.*\\.\\.)([a-z0-9_+.-]*)[a-z0-9_+-]@([a-z0-9][a-z0-9-]*\\.)+[a-z]{2,}$"));
  EXPECT_EQ(reading(mail, "\"anna.b@mail.example.com\""), Reading::complete);
  EXPECT_EQ(reading(mail, "\"A"), Reading::no) << "of both";
  EXPECT_EQ(reading(mail, "\"a..b"), Reading::no);
  const Automaton uuid = schema_automaton(schema_of_both(
      "uuid", "^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|0{8}-0)$"));
  EXPECT_EQ(reading(uuid, "\"123e4567-e89b-12d3-a456-426614174000\""), Reading::complete);
}

TEST(StringPattern, APatternThatCannotBeFollowedBesideAFormatIsNamed) {
  const auto problem = [](std::string_view pattern) {
    const auto made = json_schema_grammar(parsed(schema_of_both("date", pattern)));
    return made.ok() ? std::string() : made.error().message;
  };
  EXPECT_NE(problem("^(?!2024)").find("(?!"), std::string::npos) << problem("^(?!2024)");
  EXPECT_NE(problem("(?<=a)b").find("(?<"), std::string::npos);
  EXPECT_NE(problem("^x").find("no text"), std::string::npos) << problem("^x");
  const auto left = enforceable(parsed(schema_of_both("date", "^x")));
  EXPECT_EQ(boost::json::serialize(left), R"({"type":"string","format":"date"})");
}

TEST(StringPattern, WhatCannotBeFollowedIsNamed) {
  const auto problem = [](std::string_view pattern) {
    const auto made = json_schema_grammar(parsed(schema_with(pattern)));
    return made.ok() ? std::string() : made.error().message;
  };
  const std::pair<const char*, const char*> cases[] = {
      {"(?=a)b", "(?="}, {"(?!a)b", "(?!"}, {"(?<n>a)", "(?<"},  {"\\bx", "\\b"}, {"(a)\\1", "\\1"},
      {"a{2,1}", "{}"},  {"[b-a]", "[]"},   {"(a", "("},         {"a)", ")"},     {"a^b", "^"},
      {"*a", "*"},       {"\\p{L}", "\\p"}, {"a{9999}", "times"}};
  for (const auto& [pattern, word] : cases)
    EXPECT_NE(problem(pattern).find(word), std::string::npos) << pattern << ": " << problem(pattern);
  // A tool that is not strict goes without it, and without one whose characters are not written.
  for (const char* unwritten : {R"(^a\\tb$)", R"(^[\\r\\n]$)", R"(^(x|\\t)$)"}) {
    const auto schema = parsed(fmt::format(R"({{"type":"string","pattern":"{}","minLength":2}})", unwritten));
    EXPECT_FALSE(json_schema_grammar(schema).ok()) << unwritten;
    EXPECT_EQ(boost::json::serialize(enforceable(schema)), R"({"type":"string","minLength":2})") << unwritten;
  }
  const auto tabs = parsed(R"({"type":"string","pattern":"^[a\\t]$"})");
  EXPECT_EQ(enforceable(tabs), tabs) << "one of them is";
  const auto left = enforceable(parsed(R"({"type":"string","pattern":"(?=a)b","format":"binary","minLength":2})"));
  EXPECT_EQ(boost::json::serialize(left), R"({"type":"string","minLength":2})");
}

TEST(GrammarSchema, TuplesMultiplesAndAllOfObjects) {
  const Automaton pair = schema_automaton(R"({"prefixItems":[{"type":"integer"},{"type":"boolean"}]})");
  EXPECT_EQ(reading(pair, "[1, true]"), Reading::complete);
  for (const char* text : {"[1]", "[true", "[1,true,"}) EXPECT_EQ(reading(pair, text), Reading::no) << text;
  const Automaton sevens = schema_automaton(R"({"type":"integer","multipleOf":7})");
  for (int i = -1000; i <= 1000; ++i)
    EXPECT_EQ(reading(sevens, std::to_string(i)) == Reading::complete, i % 7 == 0) << i;
  EXPECT_EQ(reading(sevens, "014"), Reading::no);
  const Automaton both = schema_automaton(
      R"({"allOf":[{"$ref":"#/$defs/a"},{"type":"object","properties":{"y":{"type":"integer"}},"required":["y"]}],)"
      R"("$defs":{"a":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}}})");
  EXPECT_EQ(reading(both, R"({"x":1,"y":2})"), Reading::complete);
  EXPECT_EQ(reading(both, R"({"x":1})"), Reading::no);
  EXPECT_FALSE(json_schema_grammar(parsed(R"({"allOf":[{"type":"string"},{"type":"object"}]})")).ok());
}

}  // namespace
}  // namespace paceline::grammar
