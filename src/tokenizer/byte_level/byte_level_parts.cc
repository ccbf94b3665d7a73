#include "tokenizer/byte_level/byte_level_parts.h"

#include <fmt/core.h>

#include <optional>
#include <utility>

#include "tokenizer/byte_level/byte_bpe.h"
#include "tokenizer/byte_level/nfc.h"
#include "tokenizer/byte_level/split_expression.h"
#include "tokenizer/json_fields.h"

namespace paceline {
namespace {

namespace json = boost::json;

class ByteLevelEncoder final : public TextEncoder {
 public:
  ByteLevelEncoder(bool composes, std::optional<SplitExpression> words, ByteBpe bpe)
      : composes_(composes), words_(std::move(words)), bpe_(std::move(bpe)) {}

  [[nodiscard]] const PieceTable& vocab() const override { return bpe_.vocab(); }
  [[nodiscard]] std::string normalize(std::string_view text) const override {
    return composes_ ? to_nfc(text) : std::string(text);
  }
  void encode(std::string_view normal, std::vector<TokenId>& ids) const override {
    ByteBpe::Writer writer(bpe_);
    if (!words_) return writer.encode(normal, ids);
    words_->for_each_word(normal, [&](std::string_view word) { writer.encode(word, ids); });
  }

 private:
  bool composes_;
  std::optional<SplitExpression> words_;
  ByteBpe bpe_;
};

Status read_nfc(const TextJsonFields& part, std::string_view type, bool& composes) {
  if (type != "NFC") return part.expected("type", "NFC or Sequence");
  composes = true;
  return part.only({"type"});
}

Status read_words(const TextJsonFields& part, std::optional<SplitExpression>& words) {
  TRY(part.only({"type", "pattern", "behavior", "invert"}));
  TRY_ASSIGN(const TextJsonFields pattern, part.fields("pattern"));
  TRY(pattern.only({"Regex"}));
  TRY_ASSIGN(const std::string_view expression, pattern.string("Regex"));
  TRY_ASSIGN(const std::string_view behavior, part.string("behavior"));
  if (behavior != "Isolated") return part.expected("behavior", "Isolated");
  TRY_ASSIGN(const bool invert, part.boolean_or("invert", false));
  if (invert) return part.expected("invert", "false");
  if (words) return part.expected("type", "Split at most once");
  auto read = SplitExpression::parse(expression);
  if (!read.ok()) return Error{fmt::format("{}.Regex: {}", pattern.place(), read.error().message)};
  words = std::move(*read);
  return Done{};
}

// In all three places where the file names the kind.
Status check_byte_level(const TextJsonFields& part) {
  TRY(part.only({"type", "add_prefix_space", "trim_offsets", "use_regex"}));
  return Done{};
}

Status read_pre_tokenizer(const TextJsonFields& part, std::string_view type, std::optional<SplitExpression>& words,
                          bool& has_bytes) {
  if (has_bytes) return part.expected("type", "ByteLevel as the last");
  if (type == "Split") return read_words(part, words);
  if (type != "ByteLevel") return part.expected("type", "Split, ByteLevel or Sequence");
  TRY(check_byte_level(part));
  TRY_ASSIGN(const bool prefix, part.boolean_or("add_prefix_space", true));
  if (prefix) return part.expected("add_prefix_space", "false");
  TRY_ASSIGN(const bool cuts, part.boolean_or("use_regex", true));
  if (cuts) return part.expected("use_regex", "false");
  has_bytes = true;
  return Done{};
}

// None of its own, or ByteLevel, which adds nothing.
Result<Surroundings> read_surroundings(const TextJsonFields& file) {
  if (file.is_absent("post_processor")) return Surroundings{};
  TRY_ASSIGN(const TextJsonFields processor, file.fields("post_processor"));
  TRY_ASSIGN(const std::string_view type, processor.string("type"));
  if (type != "ByteLevel") return read_post_processor(file);
  TRY(check_byte_level(processor));
  return Surroundings{};
}

}  // namespace

bool is_byte_level(const json::value& settings) {
  const auto* file = settings.if_object();
  const json::value* decoder = file != nullptr ? file->if_contains("decoder") : nullptr;
  if (decoder == nullptr || !decoder->is_object()) return false;
  const json::value* type = decoder->get_object().if_contains("type");
  return type != nullptr && type->is_string() && type->get_string() == "ByteLevel";
}

Result<TokenizerParts> read_byte_level_parts(TokenizerFile& file) {
  TRY_ASSIGN(const TextJsonFields fields, TextJsonFields::of(&file.settings, "tokenizer.json"));
  TRY_ASSIGN(const BpeSettings settings, read_bpe_settings(fields));
  TokenizerParts parts;
  TRY_ASSIGN(parts.added, read_added_tokens(fields));
  bool composes = false, has_bytes = false;
  std::optional<SplitExpression> words;
  TRY(read_sequence(fields.find("normalizer"), "normalizer", "normalizers",
                    [&](const auto& part, auto type) { return read_nfc(part, type, composes); }));
  TRY(read_sequence(fields.find("pre_tokenizer"), "pre_tokenizer", "pretokenizers",
                    [&](const auto& part, auto type) { return read_pre_tokenizer(part, type, words, has_bytes); }));
  if (!has_bytes) return fields.expected("pre_tokenizer", "ByteLevel, as the decoder is");
  TRY_ASSIGN(parts.surroundings, read_surroundings(fields));
  TRY_ASSIGN(const TextJsonFields decoder, fields.fields("decoder"));
  TRY(check_byte_level(decoder));
  parts.decoder.steps.push_back({.kind = DecodeStep::Kind::byte_level, .pattern = "", .content = ""});
  if (settings.byte_fallback) return Error{"model.byte_fallback: expected false where pieces are bytes, found true"};
  TRY_ASSIGN(ByteBpe bpe, ByteBpe::make(std::move(file.vocab), file.merges, settings.ignore_merges));
  parts.encoder = std::make_unique<ByteLevelEncoder>(composes, std::move(words), std::move(bpe));
  return parts;
}

}  // namespace paceline
