// A small tokenizer with Qwen's marks.
#pragma once

#include "session/output_dialect.h"
#include "tokenizer/tokenizers_for_tests.h"

namespace paceline {

inline ByteTokenizerText small_qwen_text() {
  ByteTokenizerText text;
  text.merges = {{"t", "h"}, {"th", "e"}, {"Ċ", "Ċ"}, {"\"", ":"},  {"}", "}"}, {"}}", "Ċ"},
                 {"<", "/"}, {"Ċ", "</"}, {"p", "a"}, {"</", "pa"}, {">", "Ċ"}};
  boost::json::array added;
  for (const char* token :
       {"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>", "<think>", "</think>"}) {
    added.push_back({{"id", 300 + static_cast<TokenId>(added.size())},
                     {"content", token},
                     {"special", token[1] == '|'},
                     {"normalized", false}});
  }
  text.added_tokens = boost::json::serialize(added);
  return text;
}

inline Tokenizer small_qwen_tokenizer() { return small_qwen_text().load(); }

// What in a template makes calls to be written in tags.
inline constexpr const char* kTaggedTemplate = "<tool_call>\\n<function=' + name + '>\\n";

}  // namespace paceline
