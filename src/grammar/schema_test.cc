#include "grammar/schema.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "grammar/grammar_for_tests.h"

namespace paceline::grammar {
namespace {

using testing::HasSubstr;

struct Example {
  const char* schema;
  std::vector<const char*> complete, open, no;
};

void check(const Example& example) {
  const Automaton automaton = schema_automaton(example.schema);
  for (const char* text : example.complete) EXPECT_EQ(reading(automaton, text), Reading::complete) << text;
  for (const char* text : example.open) EXPECT_EQ(reading(automaton, text), Reading::open) << text;
  for (const char* text : example.no) EXPECT_EQ(reading(automaton, text), Reading::no) << text;
}

TEST(GrammarSchema, AnyValue) {
  check({"{}",
         {"1", "-1.5e-7", "null", "\"\"", "[]", "{}", R"({"a":[1, 2,{"b": null}]})"},
         {"t", "[1", "{\"a\":"},
         {"[1  ", "[1 ,", "tx", "]", R"({"a" )", " 1"}});
}

TEST(GrammarSchema, Strings) {
  check({R"({"type":"string"})",
         {R"("")", R"("a\n\"\\\/")", "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"", R"("\u00e9")", R"("\ud83D\uDe00")"},
         {"\"", "\"\xC3", "\"\xE2\x82", R"("\ud83d)", R"("\u)"},
         {"a", "\"\n", "\"\x80", "\"\xC0", "\"\xED\xA0", "\"\xF4\x90", "\"\xF5", R"("\x)", R"("\udc00)", R"("\ud83dx)",
          R"("\ud83d\u0041)", R"(""")"}});
  check({R"({"type":"string","minLength":2,"maxLength":3})",
         {R"("ab")", R"("abc")", "\"\xE2\x82\xAC\xE2\x82\xAC\"", R"("\ud83d\ude00\n")"},
         {R"("abc)", R"("a)"},
         {R"("a")", R"("abcd)", R"("abc\)"}});
  check({R"({"type":"string","maxLength":0})", {R"("")"}, {"\""}, {"\"a"}});
}

TEST(GrammarSchema, Numbers) {
  check({R"({"type":"integer"})",
         {"0", "-1", "10", "999999999999999999"},
         {"-"},
         {"-0", "01", "1.", "1e", "9999999999999999999", "+1"}});
  check({R"({"type":"number"})",
         {"0", "0.5", "-0.5", "1e9", "1E-99", "12.25e+7"},
         {"-", "-0", "-0.0", "1.", "1e", "1e-"},
         {"00", ".5", "1e100", "1.2."}});
  check({R"({"type":"integer","minimum":-12,"maximum":107})",
         {"-12", "-9", "0", "7", "99", "100", "107"},
         {"-"},
         {"-13", "-100", "108", "110", "1000", "200"}});
  check(
      {R"({"type":"integer","exclusiveMinimum":5,"exclusiveMaximum":20})", {"6", "19"}, {"1"}, {"5", "20", "4", "0"}});
  check({R"({"type":"integer","minimum":0.5,"maximum":2.5})", {"1", "2"}, {}, {"0", "3", "-"}});
  check({R"({"type":"number","minimum":0.25,"exclusiveMaximum":1.5})",
         {"0.25", "0.250", "0.3", "1", "1.4999", "1.0"},
         {"0", "0.2", "1."},
         {"0.24", "1.5", "2", "-", "1e"}});
}

TEST(GrammarSchema, Objects) {
  const char* schema =
      R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"},"c":{}},"required":["b"]})";
  check({schema,
         {R"({"a":1,"b":"x","c":[]})", R"({"b":""})", R"({ "b": "x" })", "{\n  \"a\": 1,\n  \"b\": \"\"\n}",
          R"({"b":"","c":null})"},
         {"{", "{\"", "{\"a\":1", "{\"a\":1,", "{\n                    "},
         {"{}", R"({"b":"","a")", R"({"c")", R"({"b":"",})", R"({"b" )", R"({"b":  )", "{\n\n", "{  ",
          "{\n                     ", R"({"b":"","d")", R"({"a":"x")"}});
  check({R"({"type":"object","properties":{}})", {"{}", "{ }"}, {}, {"{\"", "{}}"}});
  check(
      {R"({"type":"object","properties":{"a":true},"additionalProperties":false})", {"{}", "{\"a\":0}"}, {}, {"{\"b"}});
}

TEST(GrammarSchema, AdditionalProperties) {
  const char* schema =
      R"({"properties":{"ab":{"type":"integer"},"\u00e9\"":{"type":"null"}},"additionalProperties":{"type":"boolean"}})";
  check({schema,
         {R"({"ab":1,"x":true,"x":false})", R"({"":true})", R"({"a":true})", R"({"abc":true})", R"({"b\n":true})",
          "{\"\xC3\xA9\\\"\":null}", "{\"\xC3\xA9\":true}", "{\"\xC3\xA9x\":true}"},
         {"{\"\xC3", "{\"\xE2\x82\xAC"},
         {R"({"ab":true)", R"({"x":1)", R"({"x":true,"ab")", R"({"\u0061)", R"({"x":true,"ab":)"}});
}

TEST(GrammarSchema, Arrays) {
  check({R"({"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":3})",
         {"[1]", "[1,2]", "[1, 2,\n3\n]"},
         {"[", "[1,"},
         {"[]", "[1,2,3,", "[,", "[\"", "[1 ,"}});
  check({R"({"type":"array","items":{"type":"boolean"},"minItems":2})",
         {"[true,false]", "[true,true,true]"},
         {"[true"},
         {"[true]"}});
  check({R"({"type":"array","maxItems":0})", {"[]", "[ ]"}, {}, {"[1"}});
}

TEST(GrammarSchema, ConstantsAndAlternatives) {
  check({R"({"enum":["red","rest",1,null,{"a":[1.5,"x"]}]})",
         {R"("red")", R"("rest")", "1", "null", R"({"a":[1.5,"x"]})"},
         {R"("re)"},
         {R"("re")", "2", "{}"}});
  check({R"({"type":"string","enum":["a",1]})", {R"("a")"}, {}, {"1"}});
  check({R"({"const":"\u00e9\n"})", {"\"\xC3\xA9\\n\""}, {}, {"\"\\u"}});
  check({R"({"anyOf":[{"type":"integer"},{"type":"object","properties":{"a":{"type":"null"}}},{"type":"array"}]})",
         {"1", "{}", "{\"a\":null}", "[{}]"},
         {},
         {"\"", "true", "{\"b"}});
  check({R"({"oneOf":[{"enum":["ab"]},{"type":"string","maxLength":1}]})", {"\"ab\"", "\"x\"", "\"a\""}, {}, {"\"ax"}});
  check({R"({"type":["string","null"],"maxLength":1})", {"null", "\"a\""}, {}, {"\"aa", "1"}});
}

TEST(GrammarSchema, References) {
  const char* list = R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},)"
                     R"("next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["v","next"]}}})";
  check({list,
         {R"({"v":1,"next":null})", R"({"v":1,"next":{"v":2,"next":null}})"},
         {R"({"v":1,"next":{)"},
         {R"({"v":1})", R"({"v":1,"next":1)"}});
  check({R"({"properties":{"a":{"$ref":"#"}}})", {"{}", R"({"a":{"a":{}}})"}, {}, {R"({"a":1)"}});
  // Alternatives without end are never begun.
  check({R"({"anyOf":[{"$ref":"#"},{"type":"null"},{"type":"array","items":{"$ref":"#/$defs/x"},"minItems":1}],)"
         R"("$defs":{"x":{"properties":{"a":{"$ref":"#/$defs/x"}},"required":["a"]}}})",
         {"null"},
         {},
         {"["}});
}

TEST(GrammarSchema, DepthIsBoundedAndNeverStuck) {
  const Automaton any = json_object_grammar().value();
  std::string text = "{\"a\":";
  for (int i = 0; i < 63; ++i) text += '[';
  EXPECT_EQ(reading(any, text), Reading::open);
  EXPECT_NE(reading(any, text + "[[[["), Reading::open);
  text += "1";
  const std::string closed = text + std::string(63, ']') + "}";
  EXPECT_EQ(reading(any, closed), Reading::complete);
  EXPECT_EQ(reading(any, "[]"), Reading::no);
  EXPECT_EQ(reading(any, "{} "), Reading::no);
}

TEST(GrammarSchema, Errors) {
  const auto error = [](std::string_view schema) {
    const auto made = json_schema_grammar(parsed(schema));
    return made.ok() ? std::string("(none)") : made.error().message;
  };
  EXPECT_EQ(error(R"({"properties":{"a":{"type":"string","contains":"x"}}})"),
            R"(#/properties/a: the keyword "contains" is not supported)");
  EXPECT_THAT(error(R"({"items":{"not":{}}})"), HasSubstr(R"(#/items: the keyword "not")"));
  EXPECT_THAT(error(R"({"type":"string","anyOf":[{}]})"), HasSubstr(R"("type" is not supported beside "anyOf")"));
  EXPECT_THAT(error(R"({"allOf":[{},{}]})"), HasSubstr("#/allOf"));
  EXPECT_THAT(error(R"({"type":"text"})"), HasSubstr("#/type: expected one or several of object"));
  EXPECT_THAT(error(R"({"type":[]})"), HasSubstr("#/type"));
  EXPECT_THAT(error(R"({"$ref":"http://x"})"), HasSubstr("within the schema"));
  EXPECT_THAT(error(R"({"$ref":"#/$defs/x"})"), HasSubstr("there is no"));
  EXPECT_THAT(error(R"({"$ref":"#"})"), HasSubstr("no finite document"));
  EXPECT_THAT(error(R"({"properties":{"a":{"$ref":"#"}},"required":["a"]})"), HasSubstr("no finite document"));
  EXPECT_THAT(error("false"), HasSubstr("no finite document"));
  EXPECT_THAT(error("3"), HasSubstr("#: expected a schema"));
  EXPECT_THAT(error(R"({"minLength":-1})"), HasSubstr("#/minLength"));
  EXPECT_THAT(error(R"({"minLength":5,"maxLength":4})"), HasSubstr("above"));
  EXPECT_THAT(error(R"({"maxLength":100000000})"), HasSubstr("too large"));
  EXPECT_THAT(error(R"({"type":"number","minimum":2,"maximum":1})"), HasSubstr("above the maximum"));
  EXPECT_THAT(error(R"({"type":"number","minimum":"1"})"), HasSubstr("#/minimum: expected a number"));
  EXPECT_THAT(error(R"({"uniqueItems":true})"), HasSubstr("uniqueItems"));
  EXPECT_THAT(error(R"({"required":["a"],"additionalProperties":false})"), HasSubstr("neither listed nor allowed"));
  EXPECT_EQ(error(R"({"type":"string","title":"t","uniqueItems":false})"), "(none)");
}

// What is not enforced is named, wherever it stands; what only describes is not looked at.
TEST(GrammarSchema, NothingIsIgnoredInSilence) {
  for (const char* keyword : {"propertyNames",
                              "dependentRequired",
                              "dependentSchemas",
                              "dependencies",
                              "unevaluatedProperties",
                              "unevaluatedItems",
                              "contains",
                              "minContains",
                              "maxContains",
                              "additionalItems",
                              "not",
                              "if",
                              "then",
                              "else",
                              "contentEncoding",
                              "contentMediaType",
                              "contentSchema",
                              "$dynamicRef",
                              "$recursiveRef",
                              "$anchor",
                              "nullable",
                              "discriminator"}) {
    const std::string said = fmt::format(R"({{"properties":{{"a":{{"{}":1}}}}}})", keyword);
    const auto made = json_schema_grammar(parsed(said));
    ASSERT_FALSE(made.ok()) << keyword;
    EXPECT_EQ(made.error().message, fmt::format("#/properties/a: the keyword \"{}\" is not supported", keyword));
  }
  for (const char* word : {"title", "description", "default", "examples", "$schema", "$id", "$comment", "readOnly",
                           "writeOnly", "deprecated", "$defs", "definitions"}) {
    EXPECT_TRUE(json_schema_grammar(parsed(fmt::format(R"({{"type":"null","{}":1}})", word))).ok()) << word;
  }
}

TEST(GrammarSchema, HostileSizes) {
  std::string deep = "{}";
  for (int i = 0; i < 100; ++i) deep = R"({"items":)" + deep + "}";
  EXPECT_THAT(json_schema_grammar(parsed(deep)).error().message, HasSubstr("nested deeper"));

  std::string wide = R"({"properties":{)";
  for (int i = 0; i < 40; ++i) {
    wide += fmt::format(R"({}"p{}":{{"type":"string","minLength":{},"maxLength":20000}})", i ? "," : "", i, 10000 + i);
  }
  EXPECT_THAT(json_schema_grammar(parsed(wide + "}}")).error().message, HasSubstr("too large"));

  // A long chain of references is no recursion.
  std::string chain = R"({"$ref":"#/$defs/d0","$defs":{)";
  for (int i = 0; i < 5000; ++i) chain += fmt::format(R"("d{}":{{"$ref":"#/$defs/d{}"}},)", i, i + 1);
  EXPECT_EQ(reading(schema_automaton(chain + R"("d5000":{"type":"null"}}})"), "null"), Reading::complete);

  // Ambiguity without end is cut, not followed.
  const Automaton wild = schema_automaton(
      R"({"anyOf":[{"type":"array","items":{"$ref":"#"}},{"type":"array","items":{"anyOf":[{"$ref":"#"},{}]}},{}]})");
  EXPECT_EQ(reading(wild, std::string(40, '[') + std::string(40, ']')), Reading::complete);
}

// What is refused for its size is refused before it is worked on.
TEST(GrammarSchema, TooManyPropertiesAreCountedFirst) {
  std::string many = R"({"properties":{)", required;
  for (int i = 0; i < 2000; ++i) many += fmt::format(R"({}"p{}":{{"minLength":{}}})", i ? "," : "", i, i);
  for (int i = 0; i < 4096; ++i) required += fmt::format(R"({}"r{}")", i ? "," : "", i);
  const auto schema = parsed(many + R"(},"required":[)" + required + "]}");
  AutomatonBuilder builder;
  Parts parts(builder, {});
  const size_t before = builder.states();
  const auto made = SchemaCompiler(parts, schema).compile();
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message, "#/properties: 6096 of them; at most 512 are supported");
  EXPECT_LE(builder.states(), before + 1);
}

TEST(GrammarSchema, RequiredNamesThatRepeatAreOne) {
  check({R"({"properties":{"a":{"type":"null"}},"required":["a","b","a","b"]})",
         {R"({"a":null,"b":1})"},
         {R"({"a":null,"b":1)"},
         {R"({"a":null})", R"({"a":null,"b":1,)"}});
}

// A part is read once for each schema that it stands in, and so many times at most.
TEST(GrammarSchema, WorkIsBounded) {
  std::string nested = R"({"description":")" + std::string(2 << 20, 'x') + R"("})";
  for (int i = 0; i < 50; ++i) nested = R"({"items":)" + nested + "}";
  const auto made = json_schema_grammar(parsed(nested));
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, HasSubstr("too much work: more than 67108864 bytes"));
}

TEST(GrammarSchema, LongNames) {
  const std::string name(20'000, 'n');
  const Automaton automaton = schema_automaton(R"({"properties":{")" + name + R"(":{"type":"null"}},)" +
                                               R"("additionalProperties":{"type":"boolean"}})");
  EXPECT_EQ(reading(automaton, "{\"" + name + "\":null}"), Reading::complete);
  EXPECT_EQ(reading(automaton, "{\"" + name + "\":true}"), Reading::no);
  EXPECT_EQ(reading(automaton, "{\"" + name + "n\":true}"), Reading::complete);
  // Too long, and not said at length.
  const std::string longer(400'000, 'n');
  for (const char* rest : {"", R"(,"additionalProperties":true)"}) {
    const auto made = json_schema_grammar(parsed(R"({"properties":{")" + longer + R"(":{}})" + rest + "}"));
    ASSERT_FALSE(made.ok());
    EXPECT_THAT(made.error().message, HasSubstr("#/properties: the names are too large"));
  }
  const auto within = json_schema_grammar(parsed(R"({"properties":{")" + name + R"(":{"format":"other"}}})"));
  ASSERT_FALSE(within.ok());
  EXPECT_LT(within.error().message.size(), 200u);
}

// A state with many ways on is not looked at once for each of them.
TEST(GrammarSchema, ManyAlternativesAreFinishedOnce) {
  AutomatonBuilder builder;
  const StateId start = builder.add();
  constexpr int kMany = 5000;
  for (int i = 0; i < kMany; ++i) {
    const StateId one = builder.add();
    builder.go(start, one);
    builder.literal(one, fmt::format("{:05}", i), kAccept);
  }
  const auto made = std::move(builder).finish(start);
  ASSERT_TRUE(made.ok());
  EXPECT_LE(made->edges_seen, 20 * kMany);
}

TEST(GrammarSchema, PlacesWithManyAlternativesAreCounted) {
  std::string many = R"({"$defs":{)", items;
  for (int i = 0; i < 16; ++i) many += fmt::format(R"({}"{}":{{"const":{}}})", i ? "," : "", i, i);
  many += "},\"anyOf\":[";
  for (int i = 0; i < 5000; ++i) {
    items += fmt::format(R"({}{{"anyOf":[{{"const":{}}})", i ? "," : "", i + 100);
    for (int k = 0; k < 16; ++k) items += fmt::format(R"(,{{"$ref":"#/$defs/{}"}})", k);
    items += "]}";
  }
  const auto made = json_schema_grammar(parsed(many + items + "]}"));
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, HasSubstr("5001 places with many alternatives; at most 4096"));
}

}  // namespace
}  // namespace paceline::grammar
