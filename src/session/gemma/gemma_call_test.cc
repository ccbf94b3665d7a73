#include "session/gemma/gemma_call.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace paceline {
namespace {

// Written with ~ for the quote token.
std::optional<ToolCall> read(std::string text) {
  for (char& c : text) {
    if (c == '~') c = kQuoteMark;
  }
  return read_gemma_call(text);
}

TEST(GemmaCall, ArgumentsBecomeJson) {
  const struct {
    const char *text, *name, *arguments;
  } cases[] = {
      {"call:now{}", "now", "{}"},
      {"call:weather{city:~Paris~,days:3}", "weather", R"({"city":"Paris","days":3})"},
      {"call:f{a:true,b:false,c:null,d:-1.5e3}", "f", R"({"a":true,"b":false,"c":null,"d":-1.5e3})"},
      {"call:f{x:{y:[1,~two~,{z:[]}]}}", "f", R"({"x":{"y":[1,"two",{"z":[]}]}})"},
      {"call:f{t:~say \"hi\"\n{a:1},[b]~}", "f", R"({"t":"say \"hi\"\n{a:1},[b]"})"},
      {"call:f{~a key~:~é😀~}", "f", R"({"a key":"é😀"})"},
      {"call:f{ a : 1 , b : ~x~ }", "f", R"({"a":1,"b":"x"})"},
      {"call:f{t:~~}", "f", R"({"t":""})"},
      {"call:ns.tool-2{big:12345678901234567890}", "ns.tool-2", R"({"big":12345678901234567890})"},
  };
  for (const auto& c : cases) {
    const auto call = read(c.text);
    ASSERT_TRUE(call) << c.text;
    EXPECT_EQ(call->name, c.name);
    EXPECT_EQ(call->arguments, c.arguments);
    boost::json::error_code failed;
    boost::json::parse(call->arguments, failed);
    EXPECT_FALSE(failed) << call->arguments;
  }
}

TEST(GemmaCall, WhatIsNoCallIsSeen) {
  for (const char* text : {"",
                           "call",
                           "call:",
                           "call:f",
                           "call:{}",
                           "call:f{",
                           "call:f{a}",
                           "call:f{a:}",
                           "call:f{a:1",
                           "call:f{a:1,}",
                           "call:f{,a:1}",
                           "call:f{a:~x}",
                           "call:f{a:word}",
                           "call:f{a:1}x",
                           "call:f{a:01}",
                           "call:f{a:[1,]}",
                           "call:f{a:[1}",
                           "call:two words{a:1}",
                           "calls:f{}",
                           "call:f{a:\"x\"}",
                           "call:f{a:1 2}"}) {
    EXPECT_FALSE(read(text)) << text;
  }
  EXPECT_FALSE(read("call:f{a:" + std::string(100'000, '[')));
  EXPECT_FALSE(read("call:f" + std::string(100'000, '{')));
}

}  // namespace
}  // namespace paceline
