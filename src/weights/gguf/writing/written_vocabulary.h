// A Hugging Face folder's tokenizer as the keys of a GGUF file.
#pragma once

#include "base/result.h"
#include "weights/checkpoint.h"
#include "weights/gguf/writing/gguf_keys.h"

namespace paceline {

// Gemma's kind: characters, with bytes to fall back on. rows: of the embedding; ids without a piece are unused ones.
Status add_vocabulary_keys(const Checkpoint& checkpoint, int64_t rows, GgufKeys* keys);
// Qwen's: bytes, merged.
Status add_byte_vocabulary_keys(const Checkpoint& checkpoint, int64_t rows, GgufKeys* keys);

}  // namespace paceline
