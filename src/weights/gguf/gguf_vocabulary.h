// What a GGUF file says of its tokens: pieces by id, what kind each is, merges, ids with a name; and the files that a
// Hugging Face folder has for the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "weights/gguf/gguf_metadata.h"

namespace paceline {

class GgufVocabulary {
 public:
  // Checked: arrays of one length, ids inside it. The file outlives it. rows: of the model's embedding.
  static Result<GgufVocabulary> read(const GgufMetadata& metadata, int64_t rows);

  [[nodiscard]] size_t size() const { return pieces_.size(); }
  // -1 where there is none.
  [[nodiscard]] int64_t id_of(std::string_view piece) const;
  // "bos_token_id" and its like, after "tokenizer.ggml."; -1 where there is none.
  [[nodiscard]] int64_t named_id(std::string_view key) const;
  // Byte-level BPE, as Qwen has it; else Gemma's, of characters.
  [[nodiscard]] bool byte_level() const { return byte_level_; }

  // Of characters: tokenizer.json. An error names a piece or merge that is none.
  [[nodiscard]] Result<std::string> tokenizer_json() const;
  // Byte-level: vocab.json and merges.txt.
  [[nodiscard]] Result<std::string> vocab_json() const;
  [[nodiscard]] Result<std::string> merges_txt() const;
  [[nodiscard]] Result<std::string> tokenizer_config_json() const;
  // The file's own, or the family's where it has none.
  [[nodiscard]] Result<std::optional<std::string>> chat_template() const;

 private:
  // shown: looked for like a special one, but not left out of what is shown. absent: a row without a token.
  enum class Kind : uint8_t { normal, special, shown, absent };
  [[nodiscard]] Status check_pieces() const;
  Status read_kinds();

  const GgufMetadata* metadata_ = nullptr;
  std::vector<std::string_view> pieces_;
  std::vector<Kind> kinds_;
  bool byte_level_ = false;
};

}  // namespace paceline
