// Text to token ids and back, as Hugging Face's tokenizers do it with the same tokenizer.json. Immutable once loaded.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"

namespace paceline {

struct DecodePlan;

class Tokenizer {
 public:
  // From the bytes of a tokenizer.json. What the file asks for and we do not implement is an error that names it.
  static Result<Tokenizer> load(std::string_view tokenizer_json);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Special tokens written in the text are recognised. add_special: what the post-processor adds (<bos>, mostly).
  // Bytes that are not UTF-8 are read as U+FFFD, one per maximal invalid subpart. check_size() has been asked.
  [[nodiscard]] std::vector<TokenId> encode(std::string_view text, bool add_special) const;

  // Whether a text of so many bytes can be encoded: places in it have 32 bits, and each byte may become three of them.
  static Status check_size(size_t bytes);

  // Ids that stand for nothing are skipped.
  [[nodiscard]] std::string decode(std::span<const TokenId> ids, bool skip_special) const;

  // As it stands in the vocabulary: "▁the", "<0x0A>".
  [[nodiscard]] std::optional<std::string_view> piece(TokenId id) const;
  [[nodiscard]] std::optional<TokenId> id_of(std::string_view piece) const;

  // Number of pieces and added tokens; and the highest id, plus one.
  [[nodiscard]] size_t size() const;
  [[nodiscard]] TokenId id_end() const;

  // Left out when decoding without special tokens.
  [[nodiscard]] bool is_special(TokenId id) const;
  // Recognised as a whole before anything else; special or not, it is no piece that other text is made of.
  [[nodiscard]] bool is_added(TokenId id) const;

  // What the pieces <bos> and <eos> are, where they are special. tokenizer_config.json knows better: special_tokens.h.
  [[nodiscard]] std::optional<TokenId> bos() const;
  [[nodiscard]] std::optional<TokenId> eos() const;

  // How pieces become text, for StreamDecoder. Lives as long as the tokenizer.
  [[nodiscard]] const DecodePlan& decode_plan() const;

 private:
  struct Parts;
  explicit Tokenizer(std::unique_ptr<const Parts> parts);

  std::unique_ptr<const Parts> parts_;
};

}  // namespace paceline
