// Qwen's tokens to text, thoughts and calls.
#include "session/qwen/qwen_output.h"

#include "session/output_parser.h"
#include "session/qwen/qwen_for_tests.h"

namespace paceline {
namespace {

class QwenOutputTest : public testing::TestWithParam<size_t> {
 protected:
  // Content as it is, thoughts in (), calls in []; looked at every so many tokens.
  std::string parse(std::string_view text, const OutputSettings& settings, const char* chat_template = "") {
    const auto dialect = find_output_dialect(tokenizer_, chat_template);
    OutputParser parser(tokenizer_, *dialect, settings);
    std::vector<OutputDelta> deltas;
    std::string shown;
    size_t count = 0;
    const auto look = [&] {
      for (const OutputDelta& delta : deltas) {
        if (delta.kind == OutputDelta::Kind::reasoning) shown += "(" + delta.text + ")";
        if (delta.kind == OutputDelta::Kind::call) shown += "[";
        if (delta.kind != OutputDelta::Kind::reasoning) shown += delta.text;
        if (delta.kind == OutputDelta::Kind::call_end) shown += "]";
      }
      deltas.clear();
    };
    bool goes_on = true;
    for (const TokenId id : tokenizer_.encode(text, false)) {
      goes_on = parser.push({id, TokenOrigin::plain, {}}, deltas);
      if (++count % GetParam() == 0) look();
      if (!goes_on) break;
    }
    if (goes_on) parser.finish(deltas);
    look();
    for (size_t at; (at = shown.find(")(")) != std::string::npos;) shown.erase(at, 2);
    return shown;
  }

  const Tokenizer tokenizer_ = small_qwen_tokenizer();
  const OutputSettings all_{.reads_thoughts = true,
                            .reads_calls = true,
                            .tools = std::make_shared<const CallableTools>(CallableTools{
                                {"f", {{"n", kNumberType}}},
                                {"g"},
                            })};
};

TEST_P(QwenOutputTest, ThoughtsAndWhatStandsAroundThem) {
  EXPECT_EQ(parse("Hello, w\u00F6rld", all_), "Hello, w\u00F6rld");
  EXPECT_EQ(parse("<think>\nHm.\n\nYes.\n</think>\n\nAnswer", all_), "(Hm.\n\nYes.)Answer");
  EXPECT_EQ(parse("<think>\n\n</think>\n\nAnswer", all_), "Answer");
  EXPECT_EQ(parse("<think>at once</think>Answer", all_), "(at once)Answer");
  EXPECT_EQ(parse("<think>\nHm.\n</think>\n\n\nAnswer", all_), "(Hm.)\nAnswer") << "two lines are the mark's";
  EXPECT_EQ(parse("<think>\nno end\n", all_), "(no end\n)");
  EXPECT_EQ(parse("no <b>mark</think> here", {.reads_thoughts = true}), "no <b>mark</think> here");
  OutputSettings begun = all_;
  begun.begins_in_thought = true;
  EXPECT_EQ(parse("Hm.\n</think>\n\nAnswer\n", begun), "(Hm.)Answer\n");
}

TEST_P(QwenOutputTest, CallsAsJson) {
  EXPECT_EQ(parse("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"n\": 1}}\n</tool_call>", all_), "[f{\"n\": 1}]");
  EXPECT_EQ(parse("<think>\nI ask.\n</think>\n\nWait.\n\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n"
                  "</tool_call>\n<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>",
                  all_),
            "(I ask.)Wait.[f{}][g{}]");
  EXPECT_EQ(parse("\n\n<tool_call>\n{\"name\": \"g\"}\n</tool_call>\n\n so\n", all_), "[g{}] so\n");
  EXPECT_EQ(parse("a\nb\n\n\nc\n\n", all_), "a\nb\n\n\nc\n\n") << "without a call all lines stay";
}

TEST_P(QwenOutputTest, CallsInTags) {
  EXPECT_EQ(parse("Wait.\n\n<tool_call>\n<function=f>\n<parameter=n>\n7\n</parameter>\n<parameter=s>\na\nb\n"
                  "</parameter>\n</function>\n</tool_call>",
                  all_, kTaggedTemplate),
            "Wait.[f{\"n\": 7, \"s\": \"a\\nb\"}]");
}

TEST_P(QwenOutputTest, NothingIsLost) {
  const std::string unknown = "a\n<tool_call>\n{\"name\": \"h\", \"arguments\": {}}\n</tool_call>\nb";
  EXPECT_EQ(parse(unknown, all_), unknown);
  EXPECT_EQ(parse("a\n\n<tool_call>\n{\"na", all_), "a\n\n<tool_call>\n{\"na");
  EXPECT_EQ(parse("<tool_call>\n{\"name\": \"f\", \"arg", all_), "<tool_call>\n{\"name\": \"f\", \"arg");
  EXPECT_EQ(parse(unknown, {.reads_thoughts = true}), unknown) << "nobody asked for calls";
  OutputSettings stops = all_;
  stops.stops = std::make_shared<const StopAutomaton>(std::vector<std::string>{"\n\n"});
  EXPECT_EQ(parse("one\ntwo\n\nthree", stops), "one\ntwo");
}

INSTANTIATE_TEST_SUITE_P(Groups, QwenOutputTest, testing::Values(1, 2, 3, 1000));

TEST(QwenOutput, APromptMayEndInAThought) {
  const Tokenizer tokenizer = small_qwen_tokenizer();
  const auto marks = find_output_dialect(tokenizer, "")->marks();
  const auto ends = [&](std::string_view prompt) {
    return ends_in_thought(tokenizer, marks, tokenizer.encode(prompt, false));
  };
  EXPECT_TRUE(ends("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n"));
  EXPECT_TRUE(ends("<|im_start|>assistant\n<think>\nSo far"));
  EXPECT_FALSE(ends("<|im_start|>assistant\n<think>\n\n</think>\n\n"));
  EXPECT_FALSE(ends("<|im_start|>user\nWhat is <think>?<|im_end|>\n<|im_start|>assistant\n"));
  EXPECT_FALSE(ends(""));
}

TEST(QwenOutput, TokensOfLinesBeforeACallAreNotTheContents) {
  const Tokenizer tokenizer = small_qwen_tokenizer();
  const auto dialect = find_output_dialect(tokenizer, "");
  OutputSettings settings{.reads_thoughts = true, .reads_calls = true, .keeps_tokens = true};
  settings.tools = std::make_shared<const CallableTools>(CallableTools{{"g"}});
  OutputParser parser(tokenizer, *dialect, settings);
  std::vector<OutputDelta> deltas;
  for (const TokenId id : tokenizer.encode("the\n\n<tool_call>\n{\"name\": \"g\"}\n</tool_call>", false)) {
    parser.push({id, TokenOrigin::plain, {}}, deltas);
  }
  parser.finish(deltas);
  ASSERT_EQ(deltas.size(), 4u);
  EXPECT_EQ(deltas[0].text, "the");
  ASSERT_EQ(deltas[0].tokens.size(), 1u);
  EXPECT_EQ(tokenizer.piece(deltas[0].tokens[0].id), "the");
  EXPECT_EQ(deltas[1].text, "g");
  EXPECT_EQ(parser.calls(), 1);
}

// Told while they are written, they are the same; and one that is cut off stays as far as it came.
TEST_P(QwenOutputTest, CallsWhileTheyAreWritten) {
  OutputSettings streams = all_;
  streams.streams_calls = true;
  const std::string json =
      "Wait.\n\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"n\": [1, \"}\\\"\"]}}\n</tool_call>";
  EXPECT_EQ(parse(json, streams), parse(json, all_));
  EXPECT_EQ(parse(json, streams), "Wait.[f{\"n\": [1, \"}\\\"\"]}]");
  EXPECT_EQ(parse("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"n\": 1", streams), "[f{\"n\": 1");
  EXPECT_EQ(parse("Wait.\n\n<tool_call>\n{\"name\":", streams), "Wait.");
  const std::string tagged =
      "<tool_call>\n<function=f>\n<parameter=n>\n7\n</parameter>\n<parameter=s>\na é \"quoted\"\n\n and so on, for "
      "long\n</parameter>\n</function>\n</tool_call>";
  EXPECT_EQ(parse(tagged, streams, kTaggedTemplate), parse(tagged, all_, kTaggedTemplate));
  EXPECT_EQ(
      parse("<tool_call>\n<function=f>\n<parameter=s>\nand so on, for long", streams, kTaggedTemplate).substr(0, 16),
      "[f{\"s\": \"and so ");
}

}  // namespace
}  // namespace paceline
