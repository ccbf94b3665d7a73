// What tokens may follow where a call of Qwen's is demanded.
#include <gmock/gmock.h>

#include "grammar/grammar_for_tests.h"
#include "grammar/json_calls.h"
#include "grammar/tagged_calls.h"
#include "session/qwen/json_call.h"
#include "session/qwen/qwen_for_tests.h"
#include "session/qwen/tagged_call.h"
#include "session/token_vocabulary.h"

namespace paceline::grammar {
namespace {

using testing::HasSubstr;

constexpr const char* kWeather =
    R"({"type": "object", "$defs": {"unit": {"enum": ["celsius", "fahrenheit"]}}, "properties": {
      "city": {"type": "string"}, "code": {"type": "string", "minLength": 2, "maxLength": 4},
      "days": {"type": "integer", "minimum": 1, "maximum": 14}, "unit": {"$ref": "#/$defs/unit"},
      "at": {"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]},
      "note": {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "null"}]}, "exact": {"type": ["boolean", "null"]}},
     "required": ["city", "days"]})";

class QwenGrammar : public testing::Test {
 protected:
  Automaton automaton(bool tagged, const ToolCallOptions& options = {}) {
    const CallTokens around{*tokenizer_.id_of("<tool_call>"), *tokenizer_.id_of("</tool_call>")};
    auto made = tagged ? tagged_call_grammar(around, tools_, options) : json_call_grammar(around, tools_, options);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return std::move(made).value();
  }

  std::string follow(const Automaton& grammar, std::string_view text) {
    const auto constraint = constraint_of(grammar, index_, end_);
    const auto tokens = tokenizer_.encode(text, false);
    const auto cursor = constraint->start();
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (!is_set(cursor->allowed(std::span(tokens).first(i)), tokens[i])) {
        return "no, at " + tokenizer_.decode(std::span(tokens).subspan(i), false);
      }
    }
    return is_set(cursor->allowed(tokens), end_) ? "complete" : "open";
  }

  // The byte that goes on towards the end of a value.
  static TokenId towards_the_end(std::string_view text, std::string_view end) {
    size_t read = std::min(end.size() - 1, text.size());
    while (!text.ends_with(end.substr(0, read))) --read;
    return static_cast<unsigned char>(end[read]);
  }

  // At random, with what closes things rather late in a text.
  std::vector<TokenId> walk(ConstraintCursor& cursor, std::string_view value_end) {
    std::vector<TokenId> tokens;
    while (tokens.size() < 4000) {
      const auto allowed = cursor.allowed(tokens);
      const auto ids = ids_of(allowed);
      if (is_set(allowed, end_)) return tokens;
      const TokenId closing = towards_the_end(tokenizer_.decode(tokens, false), value_end);
      const bool closes = tokens.size() > 60 && is_set(allowed, closing);
      tokens.push_back(closes ? closing : ids[random_() % ids.size()]);
    }
    ADD_FAILURE() << "no end: " << tokenizer_.decode(tokens, false);
    return tokens;
  }

  const Tokenizer tokenizer_ = small_qwen_tokenizer();
  const std::shared_ptr<const TokenIndex> index_ = make_token_index(tokenizer_).value();
  const TokenId end_ = *tokenizer_.id_of("<|im_end|>");
  const std::vector<ToolSchema> tools_{{"weather", parsed(kWeather)}, {"now", nullptr}, {"free", parsed("{}")}};
  std::mt19937 random_{7};
};

TEST_F(QwenGrammar, CallsAsJson) {
  const Automaton grammar = automaton(false);
  EXPECT_EQ(follow(grammar, "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>"), "complete");
  EXPECT_EQ(follow(grammar,
                   "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"the\", \"days\": 3}}\n"
                   "</tool_call>"),
            "complete");
  EXPECT_EQ(follow(grammar, "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"days"), "no, at days");
  EXPECT_THAT(follow(grammar, "<tool_call>\n{\"name\": \"other"), HasSubstr("no"));
  EXPECT_THAT(follow(grammar, "the"), HasSubstr("no"));
  EXPECT_THAT(follow(grammar, "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>\n"), HasSubstr("no"))
      << "one call";
  const Automaton two = automaton(false, {.max_calls = 2});
  const std::string now = "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";
  EXPECT_EQ(follow(two, now + "\n" + now), "complete");
  // A mark within a string is no text.
  EXPECT_THAT(follow(grammar, "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"<think>"),
              "no, at <think>");
}

TEST_F(QwenGrammar, CallsInTags) {
  const Automaton grammar = automaton(true);
  const auto call = [](std::string_view name, std::string_view parameters) {
    return "<tool_call>\n<function=" + std::string(name) + ">\n" + std::string(parameters) +
           "</function>\n</tool_call>";
  };
  const auto value = [](std::string_view key, std::string_view text) {
    return "<parameter=" + std::string(key) + ">\n" + std::string(text) + "\n</parameter>\n";
  };
  EXPECT_EQ(follow(grammar, call("now", "")), "complete");
  EXPECT_EQ(follow(grammar, call("free", value("any_thing", "the\n") + value("b", ""))), "complete");
  const std::string city = value("city", "<p>A</p>\n</param\n</pa</paramete"), days = value("days", "12");
  EXPECT_EQ(follow(grammar, call("weather", city + days)), "complete");
  EXPECT_EQ(follow(grammar,
                   call("weather", city + value("code", "ab<d") + days + value("unit", "celsius") +
                                       value("at", "{\"lat\": 1.5}") + value("note", "null") + value("exact", "true"))),
            "complete");
  EXPECT_THAT(follow(grammar, call("weather", days)), HasSubstr("no, at")) << "the city is required";
  EXPECT_THAT(follow(grammar, call("weather", city + value("days", "15"))), HasSubstr("no, at"));
  EXPECT_THAT(follow(grammar, call("weather", city + value("code", "abcde"))), HasSubstr("no, at"));
  EXPECT_THAT(follow(grammar, call("weather", city + value("code", "a"))), HasSubstr("no, at"));
  EXPECT_THAT(follow(grammar, call("weather", city + days + value("unit", "kelvin"))), HasSubstr("no, at"));
  EXPECT_THAT(follow(grammar, call("now", value("a", "b"))), HasSubstr("no, at"));
  EXPECT_THAT(follow(grammar, "<tool_call>\n<function=weather>\n<parameter=city>\nA</parameter>\n"), HasSubstr("no"))
      << "the tag stands on a line of its own";
}

TEST_F(QwenGrammar, WalksAreCallsThatSatisfyTheSchema) {
  CallableTools callable;
  for (const ToolSchema& tool : tools_) callable.push_back(callable_tool(tool));
  for (const bool tagged : {false, true}) {
    const Automaton grammar = automaton(tagged);
    const auto constraint = constraint_of(grammar, index_, end_);
    int weathers = 0;
    for (int i = 0; i < 40; ++i) {
      const auto tokens = walk(*constraint->start(), tagged ? "\n</parameter>" : "\"}");
      std::string text = tokenizer_.decode(tokens, false);
      expect_brute_force_masks(grammar, *index_, *constraint->start(),
                               std::span(tokens).first(std::min<size_t>(tokens.size(), 150)), end_);
      if (HasFatalFailure()) return;
      text = text.substr(strlen("<tool_call>"), text.size() - strlen("<tool_call></tool_call>"));
      const auto call = tagged ? read_tagged_call(text, callable) : read_json_call(text, callable);
      ASSERT_TRUE(call) << text;
      if (call->name != "weather") continue;
      ++weathers;
      ASSERT_TRUE(satisfies(parsed(call->arguments), parsed(kWeather), parsed(kWeather))) << call->arguments;
    }
    EXPECT_GT(weathers, 5);
  }
}

TEST_F(QwenGrammar, ThoughtsBefore) {
  const auto dialect = find_output_dialect(tokenizer_, "");
  const std::string now = "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";
  const Automaton may = automaton(false, {.max_calls = 1, .thought = dialect->thought_form(false)});
  EXPECT_EQ(follow(may, now), "complete");
  EXPECT_EQ(follow(may, "<think>\nthe <b>\n</think>\n\n" + now), "complete");
  EXPECT_THAT(follow(may, "the"), HasSubstr("no"));
  const Automaton begun = automaton(false, {.max_calls = 1, .thought = dialect->thought_form(true)});
  EXPECT_EQ(follow(begun, "the thing\n</think>\n\n" + now), "complete");
  EXPECT_THAT(follow(begun, "the " + now), HasSubstr("no"));
  const Automaton object = json_object_grammar(dialect->thought_form(true)).value();
  EXPECT_EQ(follow(object, "the\n</think>\n\n{}"), "complete");
}

TEST_F(QwenGrammar, NamesWhatCannotBeDemanded) {
  const auto error = [&](bool tagged, std::vector<ToolSchema> tools) {
    const auto made = tagged ? tagged_call_grammar({303, 304}, tools) : json_call_grammar({303, 304}, tools);
    return made.ok() ? "no error" : made.error().message;
  };
  for (const bool tagged : {false, true}) {
    EXPECT_EQ(error(tagged, {}), "there is no tool to call");
    EXPECT_THAT(error(tagged, {{"f{", nullptr}}), HasSubstr("the tool name"));
    EXPECT_EQ(error(tagged, {{"f", parsed(R"({"type":"string"})")}}), "tool f: #: expected the schema of an object");
    EXPECT_EQ(error(tagged, {{"f", parsed(R"({"properties":{"a":{"contains":"x"}}})")}}),
              "tool f: #/properties/a: the keyword \"contains\" is not supported");
    // One that can be called beside it does not help a strict one that cannot.
    const auto endless = parsed(R"({"properties":{"a":{"$ref":"#"}},"required":["a"]})");
    const auto none = parsed(R"({"properties":{"a":{"type":"string","enum":[1]}},"required":["a"]})");
    for (const auto& schema : tagged ? std::vector{none} : std::vector{none, endless}) {
      EXPECT_EQ(error(tagged, {{"f", nullptr}, {"g", schema, true}}), "tool g: the schema allows no finite document");
      EXPECT_EQ(error(tagged, {{"f", nullptr}, {"g", schema, false}}), "no error");
    }
  }
  EXPECT_THAT(error(true, {{"f", parsed(R"({"properties":{"a>b":{}}})")}}), HasSubstr("cannot be written"));
  EXPECT_THAT(error(true, {{"f", parsed(R"({"properties":{"a":{"enum":["</parameter>"]}}})")}}),
              HasSubstr("a constant cannot be written"));
  EXPECT_THAT(error(true, {{"f", parsed(R"({"properties":{"a":{"$ref":"#/properties/a"}}})")}}),
              HasSubstr("nested deeper"));
  EXPECT_THAT(error(true, {{"f", parsed(R"({"properties":{"a":{"type":"string","maxLength":200000}}})")}}),
              HasSubstr("too large"));
}

}  // namespace
}  // namespace paceline::grammar
