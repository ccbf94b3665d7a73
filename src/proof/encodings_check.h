// Does our tokenizer agree with a table of encodings by Hugging Face's? For `paceline check --tokenizer`.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "tokenizer/tokenizer.h"

namespace paceline {

struct EncodingsReport {
  size_t encode_rows = 0, encode_equal = 0;
  size_t decode_rows = 0, decode_equal = 0;                                  // with special tokens
  size_t decode_without_special_rows = 0, decode_without_special_equal = 0;  // rows that say how
  std::vector<std::string> first_mismatches;                                 // a line each: row, expected, found

  [[nodiscard]] bool all_equal() const {
    return encode_equal == encode_rows && decode_equal == decode_rows &&
           decode_without_special_equal == decode_without_special_rows;
  }
};

// `encodings_json`: {"encode": [{"text", "ids"}], "decode": [{"ids", "text", "text_without_special"}]}. No special
// tokens are added.
Result<EncodingsReport> check_encodings(const Tokenizer& tokenizer, std::string_view encodings_json);

// Both files may be packed with xz.
Result<EncodingsReport> check_encodings_files(const std::string& tokenizer_path, const std::string& encodings_path);

}  // namespace paceline
