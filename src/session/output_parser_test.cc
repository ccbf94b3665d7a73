#include "session/output_parser.h"

#include <gtest/gtest.h>

#include "tokenizer/packed_file.h"

namespace paceline {
namespace {

NewToken token(TokenId id) { return {id, TokenOrigin::plain, {}}; }

// What came out, as one text: content as it is, thoughts in (), calls in [].
std::string shown(const std::vector<OutputDelta>& deltas) {
  std::string text;
  OutputDelta::Kind last = OutputDelta::Kind::content;
  for (const OutputDelta& delta : deltas) {
    if (last == OutputDelta::Kind::reasoning && delta.kind != last) text += ")";
    if (delta.kind == OutputDelta::Kind::reasoning && last != delta.kind) text += "(";
    if (delta.kind == OutputDelta::Kind::call) text += "[";
    text += delta.text;
    if (delta.kind == OutputDelta::Kind::call_end) text += "]";
    last = delta.kind;
  }
  return last == OutputDelta::Kind::reasoning ? text + ")" : text;
}

std::shared_ptr<const CallableTools> tools(std::vector<std::string> names) {
  CallableTools made;
  for (std::string& name : names) made.push_back({std::move(name)});
  return std::make_shared<const CallableTools>(std::move(made));
}

std::shared_ptr<const StopAutomaton> stops(const std::vector<std::string>& of) {
  return std::make_shared<const StopAutomaton>(of);
}

class OutputParserTest : public testing::Test {
 protected:
  OutputParserTest()
      : tokenizer_(*Tokenizer::load(*read_packed_file(PACELINE_SOURCE_DIR "/models/default/tokenizer.json"))),
        dialect_(find_output_dialect(tokenizer_, "")) {}

  // Where the caller looks at the deltas (every `group` tokens) must make no difference.
  std::string parse(std::string_view text, const OutputSettings& settings) {
    std::string first;
    for (const size_t group : {1, 2, 3, 1000}) {
      OutputParser parser(tokenizer_, *dialect_, settings);
      std::vector<OutputDelta> all, deltas;
      const auto look = [&] {
        for (auto& delta : deltas) all.push_back(std::move(delta));
        deltas.clear();
      };
      size_t count = 0;
      bool goes_on = true;
      for (const TokenId id : tokenizer_.encode(text, false)) {
        goes_on = parser.push(token(id), deltas);
        if (++count % group == 0) look();
        if (!goes_on) break;
      }
      if (goes_on) parser.finish(deltas);
      look();
      std::string joined = shown(all);
      for (const char* seam : {")("}) {
        for (size_t at; (at = joined.find(seam)) != std::string::npos;) joined.erase(at, 2);
      }
      if (group == 1) first = joined;
      EXPECT_EQ(joined, first) << group;
    }
    return first;
  }

  Tokenizer tokenizer_;
  std::shared_ptr<const OutputDialect> dialect_;
  const OutputSettings all_{.reads_thoughts = true, .reads_calls = true, .tools = tools({"f", "g"})};
};

TEST_F(OutputParserTest, MarksAreFound) {
  EXPECT_GE(dialect_->marks().thought_begin, 0);
  EXPECT_GE(dialect_->marks().thought_end, 0);
  EXPECT_GE(dialect_->marks().call_begin, 0);
  EXPECT_GE(dialect_->marks().call_end, 0);
  EXPECT_GE(dialect_->marks().quote, 0);
}

TEST_F(OutputParserTest, TextThoughtsAndCallsComeApart) {
  EXPECT_EQ(parse("Hello, wörld 😀!", all_), "Hello, wörld 😀!");
  EXPECT_EQ(parse("<|channel>thought\nHm.\nYes.\n<channel|>Answer", all_), "(Hm.\nYes.)Answer");
  EXPECT_EQ(parse("<|channel>thought\n<channel|>Answer", all_), "Answer");
  EXPECT_EQ(parse("<|channel>thought\nnever ends\n", all_), "(never ends\n)");
  EXPECT_EQ(parse("<|tool_call>call:f{a:<|\"|>x\ny<|\"|>,n:4}<tool_call|>", all_), R"([f{"a":"x\ny","n":4}])");
  EXPECT_EQ(
      parse("<|channel>thought\nI ask.\n<channel|>Wait.<|tool_call>call:f{}<tool_call|><|tool_call>call:g{b:[1,2]}"
            "<tool_call|>",
            all_),
      R"((I ask.)Wait.[f{}][g{"b":[1,2]}])");
}

TEST_F(OutputParserTest, NothingIsLost) {
  EXPECT_EQ(parse("<|tool_call>call:f{a:oops<tool_call|> so", all_), "<|tool_call>call:f{a:oops<tool_call|> so");
  EXPECT_EQ(parse("<|tool_call>call:f{a:<|\"|>cut", all_), "<|tool_call>call:f{a:<|\"|>cut");
  EXPECT_EQ(parse("<|tool_call>call:f{<|tool_call>call:g{}<tool_call|>", all_), "<|tool_call>call:f{[g{}]");
  EXPECT_EQ(parse("<|channel>other\nwords<channel|> more", all_), "other\nwords more");
  EXPECT_EQ(parse("<|channel>thought\nno end<|tool_call>call:f{}<tool_call|>", all_), "(no end)[f{}]");
}

TEST_F(OutputParserTest, CallsWhileTheyAreWritten) {
  OutputSettings streams = all_;
  streams.streams_calls = true;
  for (const char* text : {"<|tool_call>call:f{a:<|\"|>x\ny \"é\"<|\"|>,n:4,o:{l:[1,true,<|\"|><|\"|>]}}<tool_call|>",
                           "So.<|tool_call>call:f{}<tool_call|><|tool_call>call:g{b:[1,2]}<tool_call|>"}) {
    EXPECT_EQ(parse(text, streams), parse(text, all_));
  }
  EXPECT_EQ(parse("<|tool_call>call:f{a:<|\"|>cut", streams), R"([f{"a":"cut)");
  for (const char* cut : {"<|tool_call>", "<|tool_call>call:", "<|tool_call>call:f"}) {
    EXPECT_EQ(parse("So." + std::string(cut), streams), "So.") << "what is cut before it can be told leaves no marks";
  }

  OutputParser parser(tokenizer_, *dialect_, streams);
  std::vector<OutputDelta> deltas;
  for (const TokenId id : tokenizer_.encode("<|tool_call>call:f{text:<|\"|>Once upon", false))
    parser.push(token(id), deltas);
  EXPECT_EQ(shown(deltas), R"([f{"text":"Once upon)") << "nothing is held back";
  EXPECT_EQ(parser.calls(), 0);
}

// The model may write what it likes; nobody is told to call what they do not have.
TEST_F(OutputParserTest, ACallOfAToolThatWasNotOfferedIsText) {
  EXPECT_EQ(parse("<|tool_call>call:h{a:1}<tool_call|> so", all_), "<|tool_call>call:h{a:1}<tool_call|> so");
  EXPECT_EQ(parse("<|tool_call>call:F{}<tool_call|>", all_), "<|tool_call>call:F{}<tool_call|>");
  EXPECT_EQ(parse("<|tool_call>call:ff{}<tool_call|><|tool_call>call:g{}<tool_call|>", all_),
            "<|tool_call>call:ff{}<tool_call|>[g{}]");
  OutputParser parser(tokenizer_, *dialect_, all_);
  std::vector<OutputDelta> deltas;
  for (const TokenId id : tokenizer_.encode("<|tool_call>call:h{}<tool_call|>", false)) parser.push(token(id), deltas);
  EXPECT_EQ(parser.calls(), 0);
}

TEST_F(OutputParserTest, WhatIsNotReadIsText) {
  EXPECT_EQ(parse("<|channel>thought\nHm.<channel|>A", {}), "thought\nHm.A");
  EXPECT_EQ(parse("<|tool_call>call:f{}<tool_call|>", {.reads_thoughts = true}), "call:f{}");
  // Letters that spell a mark, token by token.
  OutputParser parser(tokenizer_, *dialect_, all_);
  std::vector<OutputDelta> deltas;
  for (const char c : std::string("<|tool_call>")) {
    for (const TokenId id : tokenizer_.encode(std::string(1, c), false)) parser.push(token(id), deltas);
  }
  parser.finish(deltas);
  EXPECT_EQ(shown(deltas), "<|tool_call>");
}

TEST_F(OutputParserTest, StopStringsCutTheContentAlone) {
  OutputSettings settings = all_;
  settings.stops = stops({"STOP", "\n\n"});
  EXPECT_EQ(parse("one two STOP three", settings), "one two ");
  EXPECT_EQ(parse("one STO", settings), "one STO");
  EXPECT_EQ(parse("<|channel>thought\nSTOP\n\nhm\n<channel|>a STOP b", settings), "(STOP\n\nhm)a ");
  EXPECT_EQ(parse("ST<|tool_call>call:f{}<tool_call|>OP", settings), "ST[f{}]OP");
  EXPECT_EQ(parse("<|tool_call>call:f{STOP", settings), "<|tool_call>call:f{");
}

// A request may have many choices, and many requests may wait.
TEST_F(OutputParserTest, ChoicesShareWhatIsLarge) {
  OutputSettings settings = all_;
  settings.stops = stops({"STOP"});
  settings.tools = tools({"f"});
  std::vector<OutputParser> parsers;
  for (int i = 0; i < 16; ++i) parsers.emplace_back(tokenizer_, *dialect_, settings);
  EXPECT_EQ(settings.stops.use_count(), 17);
  EXPECT_EQ(settings.tools.use_count(), 17);
}

TEST_F(OutputParserTest, BeginsWhereThePromptEnded) {
  const auto ids = [&](std::string_view text) { return tokenizer_.encode(text, false); };
  EXPECT_TRUE(ends_in_thought(tokenizer_, dialect_->marks(), ids("a<|channel>thought\n")));
  EXPECT_FALSE(ends_in_thought(tokenizer_, dialect_->marks(), ids("a<|channel>thought\n<channel|>")));
  EXPECT_FALSE(ends_in_thought(tokenizer_, dialect_->marks(), ids("abc")));
  OutputSettings settings = all_;
  settings.begins_in_thought = true;
  EXPECT_EQ(parse("hm\n<channel|>so", settings), "(hm)so");
}

TEST_F(OutputParserTest, TokensComeWithTheirText) {
  OutputSettings settings = all_;
  settings.keeps_tokens = true;
  settings.stops = stops({"three"});
  for (const std::string text : {"one two é😀 three four", "one two"}) {
    OutputParser parser(tokenizer_, *dialect_, settings);
    std::vector<OutputDelta> deltas;
    bool goes_on = true;
    for (const TokenId id : tokenizer_.encode("<|channel>thought\nx\n<channel|>" + text, false)) {
      if (!(goes_on = parser.push(token(id), deltas))) break;
    }
    if (goes_on) parser.finish(deltas);
    std::vector<TokenId> ids;
    for (const auto& delta : deltas) {
      for (const auto& token : delta.tokens) ids.push_back(token.id);
    }
    const std::string content = deltas.back().text;
    EXPECT_EQ(content, text.substr(0, text.find("three")));
    // The token that the stop string begins in may have text before it.
    EXPECT_TRUE(tokenizer_.decode(ids, true).starts_with(content)) << content;
    EXPECT_LE(tokenizer_.decode(ids, true).size(), content.size() + 5);
  }
  EXPECT_EQ(OutputParser(tokenizer_, *dialect_, settings).thought_tokens(), 0);
}

}  // namespace
}  // namespace paceline
