// Lines of a chat: which belong together, which are commands, and what is said about mistakes.
#include "cli/chat_entry.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace paceline {
namespace {

// Texts that the lines make; quoted ones in angle brackets.
std::vector<std::string> texts_of(std::initializer_list<const char*> lines) {
  TypedLines typed;
  std::vector<std::string> texts;
  const auto add = [&](const std::optional<TypedText>& text) {
    if (text) texts.push_back(text->is_quoted ? "<" + text->text + ">" : text->text);
  };
  for (const char* line : lines) add(typed.push(line));
  add(typed.finish());
  return texts;
}

using Texts = std::vector<std::string>;

TEST(TypedLines, EachByItself) {
  EXPECT_EQ(texts_of({"a", "", " b "}), (Texts{"a", "", " b "}));
  EXPECT_EQ(texts_of({}), Texts{});
}

TEST(TypedLines, ABackslashJoinsTheNext) {
  EXPECT_EQ(texts_of({"a\\", "b\\", "", "c"}), (Texts{"a\nb\n", "c"}));
  EXPECT_EQ(texts_of({"a\\\\", "b"}), (Texts{"a\\\\", "b"})) << "two of them are text";
  EXPECT_EQ(texts_of({"\\", "b"}), (Texts{"\nb"}));
  EXPECT_EQ(texts_of({"a\\"}), (Texts{"a"})) << "the end of all input ends it";
}

TEST(TypedLines, QuotesHoldAnyLines) {
  EXPECT_EQ(texts_of({"\"\"\"", "a\\", "", "/quit", "\"\"\"", "b"}), (Texts{"<a\\\n\n/quit>", "b"}));
  EXPECT_EQ(texts_of({"\"\"\"a", "b\"\"\" "}), (Texts{"<a\nb>"}));
  EXPECT_EQ(texts_of({"  \"\"\"one\"\"\""}), (Texts{"<one>"}));
  EXPECT_EQ(texts_of({"\"\"\"a", "b"}), (Texts{"<a\nb>"}));
  EXPECT_EQ(texts_of({"say \"\"\"", "b"}), (Texts{"say \"\"\"", "b"})) << "they begin a line";
}

TEST(TypedLines, WhatWasBegunCanBeDropped) {
  TypedLines typed;
  EXPECT_FALSE(typed.push("\"\"\"a"));
  EXPECT_TRUE(typed.is_open());
  typed.drop();
  EXPECT_FALSE(typed.is_open());
  EXPECT_EQ(typed.push("b")->text, "b");
}

ChatEntry entry_of(const std::string& text) {
  const auto entry = read_chat_entry({text, false});
  EXPECT_TRUE(entry.ok()) << text;
  return entry.ok() ? *entry : ChatEntry();
}

TEST(ChatEntry, CommandsAndWhatStandsBehindThem) {
  EXPECT_EQ(entry_of("/seed 7").verb, ChatVerb::seed);
  EXPECT_EQ(entry_of("/seed 7").text, "7");
  EXPECT_EQ(entry_of("  /seed").text, "");
  EXPECT_EQ(entry_of("/image  my cat.png ").text, "my cat.png");
  EXPECT_EQ(entry_of("/system Be\nbrief.").text, "Be\nbrief.");
  EXPECT_EQ(entry_of("/quit").verb, ChatVerb::quit);
  EXPECT_EQ(entry_of("/exit").verb, ChatVerb::quit);
  for (const std::string& name : chat_command_names()) {
    EXPECT_TRUE(read_chat_entry({name, false}).ok() || read_chat_entry({name + " x", false}).ok()) << name;
  }
}

TEST(ChatEntry, EverythingElseIsSaid) {
  EXPECT_EQ(entry_of(" what / who? ").verb, ChatVerb::say);
  EXPECT_EQ(entry_of(" what / who? ").text, " what / who? ");
  EXPECT_EQ(entry_of("//seed 7").verb, ChatVerb::say);
  EXPECT_EQ(entry_of("//seed 7").text, "/seed 7");
  const auto quoted = read_chat_entry({"/quit", true});
  ASSERT_TRUE(quoted.ok());
  EXPECT_EQ(quoted->verb, ChatVerb::say);
}

TEST(ChatEntry, MistakesAreNamed) {
  const auto problem = [](const char* text) {
    const auto entry = read_chat_entry({text, false});
    return entry.ok() ? "none" : entry.error().message;
  };
  EXPECT_NE(problem("/sed 7").find("did you mean /seed?"), std::string::npos) << problem("/sed 7");
  EXPECT_NE(problem("/").find("/help"), std::string::npos) << problem("/");
  EXPECT_NE(problem("/save").find("/save FILE"), std::string::npos) << problem("/save");
  EXPECT_NE(problem("/quit now").find("now"), std::string::npos) << problem("/quit now");
}

TEST(ChatEntry, HelpNamesEveryCommand) {
  for (const std::string& name : chat_command_names()) {
    EXPECT_NE(chat_help().find(name), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace paceline
