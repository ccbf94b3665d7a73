// The older files of byte-level tokenizers, vocab.json and merges.txt, whose other parts a program had to know.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace paceline {

struct VocabAndMerges {
  std::string_view vocab_json, merges_txt;
  std::string_view config_json;  // tokenizer_config.json, which has the class and the added tokens
};

// The tokenizer.json that says the same. Known is Qwen2Tokenizer, as all of Qwen's checkpoints name it.
Result<std::string> tokenizer_json_of(const VocabAndMerges& files);

}  // namespace paceline
