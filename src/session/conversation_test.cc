// A conversation grows, is taken back, and is the same after it was written and read.
#include "session/conversation.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace paceline {
namespace {

MediaFile picture(std::string bytes) {
  MediaFile file;
  file.bytes = std::move(bytes);
  return file;
}

Conversation a_talk() {
  Conversation talk;
  talk.set_system("Be brief.");
  talk.ask("What is \"this\"?\nAnd that?", {picture("\x89PNG\r\n\x1a\n-1"), picture(std::string("\xFF\xD8\0x", 4))});
  talk.add_answer("A cat – 猫.", "They want to know.");
  talk.ask("And now?");
  talk.add_answer("A dog.", "");
  return talk;
}

TEST(Conversation, IsTheSameWhenWrittenAndRead) {
  const SavedConversation saved{a_talk(), 18446744073709551615u};
  const auto read = read_conversation(written(saved));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->conversation, saved.conversation);
  EXPECT_EQ(read->seed, saved.seed);
  EXPECT_EQ(written(*read), written(saved));
}

TEST(Conversation, OneThatHasNotBegunCanBeSavedToo) {
  const auto read = read_conversation(written({}));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->conversation, Conversation());
  EXPECT_FALSE(read->seed);
}

TEST(Conversation, PartsHavePicturesInTheirPlaces) {
  const auto parts = a_talk().parts(true);
  ASSERT_TRUE(parts.ok()) << parts.error().message;
  ASSERT_EQ(parts->media.size(), 2u);
  EXPECT_EQ(parts->media[0].bytes, "\x89PNG\r\n\x1a\n-1");
  EXPECT_EQ(parts->media[1].bytes, std::string("\xFF\xD8\0x", 4));
  ASSERT_EQ(parts->chat.messages.size(), 5u);
  const auto& content = parts->chat.messages[1].at("content").as_array();
  EXPECT_EQ(content[0].at("type"), "image");
  EXPECT_EQ(content[1].at("type"), "image");
  EXPECT_EQ(content[2].at("text"), "What is \"this\"?\nAnd that?");
  EXPECT_EQ(parts->chat.messages[2].at("reasoning"), "They want to know.");
  EXPECT_EQ(parts->thinks, true);
}

TEST(Conversation, IsTakenBackFromItsEnd) {
  Conversation talk = a_talk();
  EXPECT_EQ(talk.questions(), 2u);
  EXPECT_FALSE(talk.take_back_question()) << "it has been answered";
  EXPECT_TRUE(talk.take_back_answer());
  EXPECT_FALSE(talk.take_back_answer());
  EXPECT_TRUE(talk.take_back_question());
  EXPECT_EQ(talk.questions(), 1u);
  EXPECT_EQ(talk.messages().size(), 3u);
}

TEST(Conversation, WhatTheModelIsToldStaysFirst) {
  Conversation talk = a_talk();
  talk.set_system("Be kind.");
  EXPECT_EQ(talk.system(), "Be kind.");
  EXPECT_EQ(talk.messages().size(), 5u);
  talk.clear();
  EXPECT_EQ(talk.system(), "Be kind.");
  EXPECT_EQ(talk.messages().size(), 1u);
  talk.set_system("");
  EXPECT_EQ(talk.system(), "");
  EXPECT_TRUE(talk.messages().empty());
}

TEST(Conversation, MistakesInAFileAreNamed) {
  const auto problem = [](std::string_view text) {
    const auto read = read_conversation(text);
    return read.ok() ? "none" : read.error().message;
  };
  EXPECT_NE(problem("{").find("JSON"), std::string::npos) << problem("{");
  EXPECT_NE(problem("[]").find("object"), std::string::npos);
  EXPECT_NE(problem("{}").find("messages"), std::string::npos);
  EXPECT_NE(problem(R"({"messages": [{"role": "king", "content": "x"}]})").find("messages[0].role"), std::string::npos);
  EXPECT_NE(problem(R"({"messages": [{"role": "user", "content": 7}]})").find("messages[0].content"),
            std::string::npos);
  EXPECT_NE(problem(R"({"messages": [], "seed": -1})").find("-1"), std::string::npos);
  EXPECT_NE(problem(R"({"messages": [], "seed": "x"})").find("seed"), std::string::npos);
  EXPECT_EQ(problem(R"({"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": true})"), "none");
}

TEST(Conversation, MessagesAreSpoken) {
  const Conversation talk = a_talk();
  const SpokenMessage first = spoken(talk.messages()[1]);
  EXPECT_EQ(first.role, "user");
  EXPECT_EQ(first.text, "What is \"this\"?\nAnd that?");
  EXPECT_EQ(first.media, 2);
  EXPECT_EQ(spoken(talk.messages()[4]).text, "A dog.");
}

}  // namespace
}  // namespace paceline
