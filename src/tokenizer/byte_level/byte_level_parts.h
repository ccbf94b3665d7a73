// tokenizer.json of the byte-level kind: NFC or nothing, words cut out by a regular expression, byte-pair encoding of
// their bytes.
#pragma once

#include <boost/json/value.hpp>

#include "base/result.h"
#include "tokenizer/tokenizer_file.h"
#include "tokenizer/tokenizer_parts.h"

namespace paceline {

// Its decoder says so.
bool is_byte_level(const boost::json::value& settings);

// What is not implemented is an error that names it.
Result<TokenizerParts> read_byte_level_parts(TokenizerFile& file);

}  // namespace paceline
