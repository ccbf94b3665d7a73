// Qwen's two ways to write a tool call, read.
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "session/qwen/json_call.h"
#include "session/qwen/tagged_call.h"

namespace paceline {
namespace {

const CallableTools& offered() {
  static const CallableTools kTools = [] {
    const char* schema = R"({"type": "object", "$defs": {"size": {"type": "integer"}}, "properties": {
      "city": {"type": "string"}, "days": {"type": "integer"}, "exact": {"type": "boolean"},
      "at": {"type": "object"}, "tags": {"type": "array"}, "note": {"type": ["string", "null"]},
      "size": {"$ref": "#/$defs/size"}, "mixed": {"anyOf": [{"type": "number"}, {"type": "null"}]},
      "unit": {"enum": ["c", "f"]}, "any": {}}})";
    return CallableTools{callable_tool({"f", boost::json::parse(schema)}), callable_tool({"now", nullptr})};
  }();
  return kTools;
}

std::string shown_call(const std::optional<ToolCall>& call) { return call ? call->name + call->arguments : "none"; }
std::string json_call(std::string_view text) { return shown_call(read_json_call(text, offered())); }
std::string tagged_call(std::string_view text) { return shown_call(read_tagged_call(text, offered())); }

TEST(QwenJsonCall, ArgumentsStayAsTheyAreWritten) {
  EXPECT_EQ(json_call("\n{\"name\": \"f\", \"arguments\": {\"city\": \"Paris\", \"n\": 1.50}}\n"),
            R"(f{"city": "Paris", "n": 1.50})");
  EXPECT_EQ(json_call(R"({"arguments": { "a": "}, \"b\": {" , "arguments": {"x": [1]} } , "name": "f"})"),
            R"(f{ "a": "}, \"b\": {" , "arguments": {"x": [1]} })");
  EXPECT_EQ(json_call(R"({"name": "now", "arguments": {}})"), "now{}");
  EXPECT_EQ(json_call(R"({"name": "now"})"), "now{}");
  EXPECT_EQ(json_call(R"({"name": "now", "arguments": null})"), "now{}");
  EXPECT_EQ(json_call(R"({"name": "f", "arguments": "{\"city\": \"é\"}"})"), R"(f{"city": "é"})");
  EXPECT_EQ(json_call(R"({"name": "f", "arguments": {"big": 12345678901234567890123}})"),
            R"(f{"big": 12345678901234567890123})");
}

TEST(QwenJsonCall, WhatIsNoCallIsNone) {
  for (const char* text :
       {"", "f", "[]", "{}", R"({"name": "f", "arguments": {})", R"({"name": "g", "arguments": {}})",
        R"({"name": 1, "arguments": {}})", R"({"name": "f", "arguments": [1]})", R"({"name": "f", "arguments": "x"})",
        R"({"name": "f", "arguments": {}} and more)", "{\"name\": \"f\", \"arguments\": {\"a\": \"\xFF\"}}"}) {
    EXPECT_EQ(json_call(text), "none") << text;
  }
}

TEST(QwenTaggedCall, TheSchemaSaysWhatAValueIs) {
  const auto one = [](std::string_view key, std::string_view value) {
    return tagged_call("\n<function=f>\n<parameter=" + std::string(key) + ">\n" + std::string(value) +
                       "\n</parameter>\n</function>\n");
  };
  EXPECT_EQ(one("city", "Paris"), R"(f{"city": "Paris"})");
  EXPECT_EQ(one("city", "42"), R"(f{"city": "42"})");
  EXPECT_EQ(one("city", "null"), R"(f{"city": "null"})");
  EXPECT_EQ(one("city", "two\nlines \"and\" <b>more</b>\n"), R"(f{"city": "two\nlines \"and\" <b>more</b>\n"})");
  EXPECT_EQ(one("city", ""), R"(f{"city": ""})");
  EXPECT_EQ(one("days", "3"), R"(f{"days": 3})");
  EXPECT_EQ(one("days", " 3 "), R"(f{"days": 3})");
  EXPECT_EQ(one("days", "many"), R"(f{"days": "many"})") << "nothing that was written is lost";
  EXPECT_EQ(one("exact", "True"), R"(f{"exact": true})");
  EXPECT_EQ(one("exact", "false"), R"(f{"exact": false})");
  EXPECT_EQ(one("at", R"({"x": 1.0, "y": [2]})"), R"(f{"at": {"x": 1.0, "y": [2]}})");
  EXPECT_EQ(one("tags", "[1,\n 2]"), "f{\"tags\": [1,\n 2]}");
  EXPECT_EQ(one("tags", "[1, 2"), R"(f{"tags": "[1, 2"})");
  EXPECT_EQ(one("note", "null"), R"(f{"note": null})");
  EXPECT_EQ(one("note", "nulls"), R"(f{"note": "nulls"})");
  EXPECT_EQ(one("size", "7"), R"(f{"size": 7})");
  EXPECT_EQ(one("mixed", "-1.5e3"), R"(f{"mixed": -1.5e3})");
  EXPECT_EQ(one("mixed", "None"), R"(f{"mixed": null})");
  EXPECT_EQ(one("unit", "c"), R"(f{"unit": "c"})");
  EXPECT_EQ(one("any", "5"), R"(f{"any": "5"})");
  EXPECT_EQ(one("unknown", "5"), R"(f{"unknown": "5"})");
}

TEST(QwenTaggedCall, ReadsSeveralAndNone) {
  EXPECT_EQ(tagged_call("<function=now></function>"), "now{}");
  EXPECT_EQ(tagged_call("\n<function=f>\n<parameter=city>\nA\n</parameter>\n<parameter=days>\n2\n</parameter>\n"
                        "</function>\n"),
            R"(f{"city": "A", "days": 2})");
  for (const char* text :
       {"", "<function=f>", "<function=g>\n</function>", "<function=f>\n<parameter=city>\nA\n</function>",
        "<function=f>\n<parameter=city\nA\n", "<function=f>\n</function> and more", "<function=f>\ntext\n</function>",
        "<function=f>\n<parameter=city>\nA\xFF\n</parameter>\n</function>", "{\"name\": \"f\"}"}) {
    EXPECT_EQ(tagged_call(text), "none") << text;
  }
}

TEST(CallableTools, ReferencesThatLeadToThemselvesSayNothing) {
  const auto tool = callable_tool(
      {"f", boost::json::parse(R"({"properties": {"a": {"$ref": "#/properties/a"}, "b": {"$ref": "#/nowhere"},
        "c": true, "d": {"type": "wrong"}}})")});
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_EQ(tool.types_of(name), kStringType) << name;
}

}  // namespace
}  // namespace paceline
