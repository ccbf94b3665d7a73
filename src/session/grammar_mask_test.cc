// Bitmaps against trying every token by itself, and random walks through what is allowed.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include "grammar/grammar_for_tests.h"
#include "grammar/parts.h"
#include "session/output_dialect.h"
#include "session/token_vocabulary.h"
#include "tokenizer/tokenizers_for_tests.h"

namespace paceline::grammar {
namespace {

const char* const kSchemas[] = {
    "{}",
    R"({"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0,"maximum":150},)"
    R"("tags":{"type":"array","items":{"type":"string","maxLength":8},"minItems":1,"maxItems":4},"score":{"type":"number",)"
    R"("exclusiveMinimum":-1.5,"maximum":2.25},"kind":{"enum":["one","only","two",3,null]}},"required":["name","tags"]})",
    R"({"type":"array","minItems":2,"maxItems":5,"items":{"anyOf":[{"type":"boolean"},{"type":"string","minLength":3,)"
    R"("maxLength":12},{"type":"object","properties":{"a":{},"ab":{"type":"null"}},"additionalProperties":{"type":"integer"}}]}})",
    R"({"$ref":"#/$defs/tree","$defs":{"tree":{"type":"object","properties":{"value":{"type":["number","null"]},)"
    R"("children":{"type":"array","items":{"$ref":"#/$defs/tree"},"maxItems":3}},"required":["value","children"],)"
    R"("additionalProperties":false}}})",
    R"({"type":"string","minLength":100,"maxLength":300})",
    R"({"type":"array","items":{"type":"string"},"maxItems":200,"minItems":90})",
    R"({"oneOf":[{"const":"abc"},{"type":"string","maxLength":5},{"enum":["abd","x\"y"]}]})",
};

Tokenizer load_tokenizer(const std::string& path) {
  auto tokenizer = Tokenizer::load(read_or_fail(path));
  if (!tokenizer.ok()) std::abort();
  return std::move(tokenizer).value();
}

class GrammarMask : public testing::Test {
 protected:
  GrammarMask() : GrammarMask(load_tokenizer(PACELINE_SOURCE_DIR "/models/default/tokenizer.json")) {}
  explicit GrammarMask(Tokenizer tokenizer)
      : tokenizer_(std::move(tokenizer)), index_(make_token_index(tokenizer_).value()), end_(*tokenizer_.eos()) {}

  [[nodiscard]] std::string text_of(std::span<const TokenId> tokens) const { return tokenizer_.decode(tokens, false); }

  // One of the allowed tokens; short ones and the end more often than by chance, so that texts end.
  TokenId pick(std::span<const uint64_t> bits, size_t so_far) {
    const auto ids = ids_of(bits);
    EXPECT_FALSE(ids.empty());
    if (is_set(bits, end_) && random_() % 3 == 0) return end_;
    // Late in a text: what closes things.
    if (so_far > 40) {
      std::vector<TokenId> closing;
      for (const TokenId id : ids) {
        const auto bytes = index_->bytes_of(id);
        if (bytes.empty() || bytes == "]" || bytes == "}" || bytes == "\"" || bytes == "\"}" || bytes == "1") {
          closing.push_back(id);
        }
      }
      if (!closing.empty() && random_() % 8 != 0) return closing[random_() % closing.size()];
    }
    return ids[random_() % ids.size()];
  }

  std::vector<TokenId> walk(ConstraintCursor& cursor, size_t most) {
    std::vector<TokenId> tokens;
    while (tokens.size() < most) {
      const TokenId id = pick(cursor.allowed(tokens), tokens.size());
      if (id == end_) return tokens;
      tokens.push_back(id);
    }
    ADD_FAILURE() << "no end: " << text_of(tokens);
    return tokens;
  }

  Tokenizer tokenizer_;
  std::shared_ptr<const TokenIndex> index_;
  TokenId end_;
  std::mt19937 random_{7};
};

TEST_F(GrammarMask, EqualsTryingEveryToken) {
  for (const char* schema : kSchemas) {
    SCOPED_TRACE(schema);
    const Automaton automaton = schema_automaton(schema);
    const auto constraint = constraint_of(automaton, index_, end_);
    for (int i = 0; i < 2; ++i) {
      const auto tokens = walk(*constraint->start(), 3000);
      const auto cursor = constraint->start();
      expect_brute_force_masks(automaton, *index_, *cursor,
                               std::span(tokens).first(std::min<size_t>(tokens.size(), 60)), end_);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(GrammarMask, WalksGiveDocumentsOfTheSchema) {
  for (const char* schema : kSchemas) {
    SCOPED_TRACE(schema);
    const auto constraint = constraint_of(schema_automaton(schema), index_, end_);
    for (int i = 0; i < 10; ++i) {
      const auto text = text_of(walk(*constraint->start(), 3000));
      const auto value = parsed(text);
      ASSERT_TRUE(satisfies(value, parsed(schema), parsed(schema))) << text;
    }
  }
  const auto object = constraint_of(json_object_grammar().value(), index_, end_);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(parsed(text_of(walk(*object->start(), 3000))).is_object());
}

TEST_F(GrammarMask, ByteTokensAloneSpellWholeCharacters) {
  const Tokenizer bytes = load_golden_tokenizer();
  const auto index = make_token_index(bytes).value();
  const auto constraint = constraint_of(schema_automaton(R"({"type":"string","maxLength":20})"), index, *bytes.eos());
  for (int i = 0; i < 200; ++i) {
    const auto cursor = constraint->start();
    std::vector<TokenId> tokens;
    for (;;) {
      const auto ids = ids_of(cursor->allowed(tokens));
      ASSERT_FALSE(ids.empty());
      const TokenId id = ids[random_() % ids.size()];
      if (id == *bytes.eos()) break;
      tokens.push_back(id);
      ASSERT_LT(tokens.size(), 400u);
    }
    ASSERT_TRUE(parsed(bytes.decode(tokens, false)).is_string());
  }
}

TEST_F(GrammarMask, DependsOnTheTokensAlone) {
  const auto constraint = constraint_of(schema_automaton(kSchemas[1]), index_, end_);
  const auto tokens = walk(*constraint->start(), 3000), others = walk(*constraint->start(), 3000);
  const auto wandering = constraint->start();
  for (int i = 0; i < 200; ++i) {
    const auto& text = random_() % 2 ? tokens : others;
    const auto before = std::span(text).first(random_() % (text.size() + 1));
    const auto fresh = constraint->start();
    const auto expected = ids_of(fresh->allowed(before));
    ASSERT_EQ(ids_of(wandering->allowed(before)), expected);
  }
}

TEST_F(GrammarMask, WhatIsNotAllowedEndsTheText) {
  const auto constraint = constraint_of(schema_automaton(R"({"type":"null"})"), index_, end_);
  const auto wrong = tokenizer_.encode("x", false);
  EXPECT_EQ(ids_of(constraint->start()->allowed(wrong)), Ids{end_});
  EXPECT_EQ(ids_of(constraint->start()->allowed(tokenizer_.encode("null", false))), Ids{end_});
  EXPECT_FALSE(GrammarConstraint::make(schema_automaton("{}"), index_, {}).ok());
}

TEST_F(GrammarMask, PositionsAreForgottenAndFoundAgain) {
  const auto constraint =
      constraint_of(schema_automaton(R"({"type":"string","minLength":20000,"maxLength":30000})"), index_, end_);
  const auto cursor = constraint->start();
  Ids tokens = tokenizer_.encode("\"", false);
  const TokenId letter = *tokenizer_.id_of("a");
  while (tokens.size() < 20000) {
    tokens.push_back(letter);
    if (tokens.size() % 100 != 0) continue;
    ASSERT_FALSE(is_set(cursor->allowed(tokens), *tokenizer_.id_of("\"")));
  }
  ASSERT_FALSE(is_set(cursor->allowed(tokens), *tokenizer_.id_of("\"")));
  tokens.push_back(letter);
  EXPECT_TRUE(is_set(cursor->allowed(tokens), *tokenizer_.id_of("\"")));
}

// ---- tool calls

// Gemma's call as JSON, read by hand: the arguments of the first call of `name`.
std::string arguments_as_json(std::string text, const std::string& name) {
  const std::string head = "<|tool_call>call:" + name;
  EXPECT_TRUE(text.starts_with(head)) << text;
  const size_t end = text.find("<tool_call|>");
  text = text.substr(head.size(), end - head.size());
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const std::string_view rest = std::string_view(text).substr(i);
    if (rest.starts_with("<|\"|>")) {
      const size_t close = text.find("<|\"|>", i + 5);
      out += boost::json::serialize(boost::json::value(text.substr(i + 5, close - i - 5)));
      i = close + 5;
    } else if ((text[i] == '{' || text[i] == ',') && text[i + 1] != '}') {
      out += text[i++];
      const size_t colon = text.find(':', i);
      const std::string key = text.substr(i, colon - i);
      // Behind a comma of an array there is no key.
      if (colon != std::string::npos && !key.empty() && key.find_first_of("<,{}[]") == std::string::npos) {
        out += json_quoted(key) + ":";
        i = colon + 1;
      }
    } else {
      out += text[i++];
    }
  }
  return out;
}

TEST_F(GrammarMask, ToolCalls) {
  const char* weather =
      R"({"type":"object","properties":{"city":{"type":"string","maxLength":30},"Days":{"type":"integer","minimum":1,)"
      R"("maximum":14},"units":{"type":"string","enum":["celsius","fahrenheit"]},"at":{"type":"object","properties":)"
      R"({"lat":{"type":"number"},"note":{"type":"string"}},"required":["lat"]}},"required":["city","units"]})";
  const std::vector<ToolSchema> tools{{"weather", parsed(weather)}, {"now", nullptr}};
  const auto automaton = tool_call_grammar(TokenVocabulary(tokenizer_), tools).value();
  const auto constraint = constraint_of(automaton, index_, end_);
  const auto follow = [&](std::string_view text) {
    const auto tokens = tokenizer_.encode(text, false);
    const auto cursor = constraint->start();
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (!is_set(cursor->allowed(std::span(tokens).first(i)), tokens[i])) return std::string("no");
    }
    return std::string(is_set(cursor->allowed(tokens), end_) ? "complete" : "open");
  };
  EXPECT_EQ(follow("<|tool_call>call:now{}<tool_call|>"), "complete");
  EXPECT_EQ(
      follow(
          R"(<|tool_call>call:weather{at:{lat:1.5},city:<|"|>S"x < {y}<|"|>,Days:3,units:<|"|>celsius<|"|>}<tool_call|>)"),
      "complete");
  EXPECT_EQ(follow(R"(<|tool_call>call:weather{city:<|"|>)"), "open");
  EXPECT_EQ(follow(R"(<|tool_call>call:weather{units:)"), "no");
  EXPECT_EQ(follow(R"(<|tool_call>call:other)"), "no");
  EXPECT_EQ(follow(R"(<|tool_call>call:now{}<tool_call|><|tool_call>)"), "no");
  EXPECT_EQ(follow("now"), "no");
  int weathers = 0;
  for (int i = 0; i < 30; ++i) {
    const auto tokens = walk(*constraint->start(), 3000);
    const auto text = text_of(tokens);
    if (text == "<|tool_call>call:now{}<tool_call|>") continue;
    ++weathers;
    const auto value = parsed(arguments_as_json(text, "weather"));
    ASSERT_TRUE(satisfies(value, parsed(weather), parsed(weather))) << text;
    expect_brute_force_masks(automaton, *index_, *constraint->start(),
                             std::span(tokens).first(std::min<size_t>(tokens.size(), 12)), end_);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(weathers, 5);
}

TEST_F(GrammarMask, SeveralCallsBehindAThought) {
  const std::vector<ToolSchema> tools{{"f", nullptr}};
  const auto thought = find_output_dialect(tokenizer_, "")->thought_form(false);
  ASSERT_TRUE(thought);
  const auto constraint =
      constraint_of(tool_call_grammar(TokenVocabulary(tokenizer_), tools, {.max_calls = 2, .thought = thought}).value(),
                    index_, end_);
  const auto tokens = tokenizer_.encode(
      "<|channel>thought\nHm, \"x\" <b>.\n<channel|><|tool_call>call:f{}<tool_call|><|tool_call>call:f{}<tool_call|>",
      false);
  const auto cursor = constraint->start();
  for (size_t i = 0; i < tokens.size(); ++i)
    ASSERT_TRUE(is_set(cursor->allowed(std::span(tokens).first(i)), tokens[i])) << i;
  EXPECT_EQ(ids_of(cursor->allowed(tokens)), Ids{end_});
}

TEST_F(GrammarMask, ToolErrors) {
  const auto error = [&](std::vector<ToolSchema> tools) {
    const auto made = tool_call_grammar(TokenVocabulary(tokenizer_), tools);
    return made.ok() ? std::string() : made.error().message;
  };
  EXPECT_EQ(error({}), "there is no tool to call");
  EXPECT_EQ(error({{"f{", nullptr}}), "the tool name \"f{\" must be letters, digits, '_', '-' and '.'");
  EXPECT_EQ(error({{"f", parsed(R"({"type":"string"})")}}), "tool f: #: expected the schema of an object");
  EXPECT_EQ(error({{"f", parsed(R"({"properties":{"a":{"contains":"x"}}})")}}),
            "tool f: #/properties/a: the keyword \"contains\" is not supported");
  EXPECT_EQ(error({{"f", parsed(R"({"properties":{"a:b":{}}})")}}),
            "tool f: #/properties/a:b: the name \"a:b\" cannot be written in a tool call");
  const std::vector<ToolSchema> tools{{"f", nullptr}};
  const Tokenizer without = load_golden_tokenizer();
  EXPECT_EQ(tool_call_grammar(TokenVocabulary(without), tools).error().message,
            "tool calls need the special token <|\"|>, which the tokenizer lacks");
}

// ---- the real tokenizer: 262,144 tokens

class RealGrammarMask : public GrammarMask {
 protected:
  static Tokenizer load() {
    const std::string folder = shared_folder();
    return load_tokenizer(folder.empty() ? PACELINE_SOURCE_DIR "/models/default/tokenizer.json"
                                         : folder + "/tokenizer/gemma-4-it.tokenizer.json.xz");
  }
  RealGrammarMask() : GrammarMask(load()) {}
};

TEST_F(RealGrammarMask, EqualsTryingEveryTokenAndTimes) {
  using Clock = std::chrono::steady_clock;
  const auto us = [](Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); };
  const auto build_begin = Clock::now();
  const auto again = make_token_index(tokenizer_).value();
  fmt::print("{} ids: index built in {:.0f} ms, {:.1f} MiB, {} nodes\n", index_->words() * 64,
             us(Clock::now() - build_begin) / 1000, static_cast<double>(index_->memory_bytes()) / (1 << 20),
             index_->all().nodes());
  const std::vector<ToolSchema> tools{{"weather", parsed(kSchemas[1])}};
  std::vector<Automaton> grammars;
  for (const char* schema : kSchemas) grammars.push_back(schema_automaton(schema));
  grammars.push_back(json_object_grammar().value());
  grammars.push_back(tool_call_grammar(TokenVocabulary(tokenizer_), tools).value());
  for (const Automaton& automaton : grammars) {
    const auto constraint = constraint_of(automaton, index_, end_);
    std::vector<double> first, later;
    for (int i = 0; i < 3; ++i) {
      const auto tokens = walk(*constraint->start(), 3000);
      for (std::vector<double>* times : {&first, &later}) {
        static std::unique_ptr<ConstraintCursor> cursor;
        if (times == &first) cursor = constraint->start();
        for (size_t at = 0; at <= tokens.size(); ++at) {
          const auto begin = Clock::now();
          (void)cursor->allowed(std::span(tokens).first(at));
          times->push_back(us(Clock::now() - begin));
        }
      }
      if (i == 0) {
        expect_brute_force_masks(automaton, *index_, *constraint->start(),
                                 std::span(tokens).first(std::min<size_t>(tokens.size(), 4)), end_);
        if (HasFatalFailure()) return;
      }
    }
    const MaskStats stats = std::static_pointer_cast<const GrammarConstraint>(constraint)->stats();
    EXPECT_EQ(stats.cut, 0);
    fmt::print("{} masks made, of up to {} units\n", stats.made, stats.most_work);
    for (auto* times : {&first, &later}) {
      std::sort(times->begin(), times->end());
      double sum = 0;
      for (const double t : *times) sum += t;
      fmt::print("{} {:6} masks: mean {:7.1f} us, median {:6.1f}, p99 {:7.1f}, most {:7.1f}\n",
                 times == &first ? "new text:" : "again:   ", times->size(), sum / static_cast<double>(times->size()),
                 (*times)[times->size() / 2], (*times)[times->size() * 99 / 100], times->back());
    }
  }
}

}  // namespace
}  // namespace paceline::grammar
