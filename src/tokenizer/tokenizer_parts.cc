#include "tokenizer/tokenizer_parts.h"

#include <fmt/core.h>

#include "base/utf8.h"
#include "tokenizer/character_encoder.h"

namespace paceline {
namespace {

namespace json = boost::json;

// A post-processor that adds more than this is a mistake, and might multiply a small file into much memory.
constexpr size_t kMaxSurroundingTokens = 1024;
// One character is all that a strip removes, and no text needs it more often.
constexpr int64_t kMaxStrip = 1 << 20;

// {"String": " "}. A regular expression is refused.
Result<std::string> read_pattern(const TextJsonFields& part) {
  TRY_ASSIGN(const TextJsonFields pattern, part.fields("pattern"));
  TRY(pattern.only({"String"}));
  TRY_ASSIGN(const std::string_view text, pattern.string("String"));
  if (text.empty()) return pattern.expected("String", "a string that is not empty");
  return std::string(text);
}

Status read_normalizer(const TextJsonFields& part, std::string_view type, std::vector<NormalizerStep>& steps) {
  if (type == "Replace") {
    TRY(part.only({"type", "pattern", "content"}));
    TRY_ASSIGN(std::string pattern, read_pattern(part));
    TRY_ASSIGN(const std::string_view content, part.string("content"));
    steps.push_back({NormalizerStep::Kind::replace, std::move(pattern), std::string(content)});
    return Done{};
  }
  if (type == "Prepend") {
    TRY(part.only({"type", "prepend"}));
    TRY_ASSIGN(const std::string_view content, part.string("prepend"));
    steps.push_back({NormalizerStep::Kind::prepend, "", std::string(content)});
    return Done{};
  }
  return part.expected("type", "Replace, Prepend or Sequence");
}

Result<SplitStep::Behavior> read_behavior(const TextJsonFields& part) {
  using Behavior = SplitStep::Behavior;
  TRY_ASSIGN(const std::string_view name, part.string("behavior"));
  if (name == "Removed") return Behavior::removed;
  if (name == "Isolated") return Behavior::isolated;
  if (name == "MergedWithPrevious") return Behavior::merged_with_previous;
  if (name == "MergedWithNext") return Behavior::merged_with_next;
  if (name == "Contiguous") return Behavior::contiguous;
  return part.expected("behavior", "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

Status read_split(const TextJsonFields& part, std::string_view type, std::vector<SplitStep>& steps) {
  if (type != "Split") return part.expected("type", "Split or Sequence");
  TRY(part.only({"type", "pattern", "behavior", "invert"}));
  TRY_ASSIGN(std::string pattern, read_pattern(part));
  TRY_ASSIGN(const SplitStep::Behavior behavior, read_behavior(part));
  TRY_ASSIGN(const bool invert, part.boolean_or("invert", false));
  if (invert) return part.expected("invert", "false");
  steps.push_back({std::move(pattern), behavior});
  return Done{};
}

Status append_special_token(const TextJsonFields& processor, std::string_view name, Surroundings& around, bool behind) {
  TRY_ASSIGN(const TextJsonFields all, processor.fields("special_tokens"));
  TRY_ASSIGN(const TextJsonFields token, all.fields(name));
  TRY_ASSIGN(const json::array* ids, token.array("ids"));
  for (const json::value& id : *ids) {
    if (!id.is_int64() || id.get_int64() < 0 || id.get_int64() > kMaxTokenId) return token.expected("ids", "token ids");
    (behind ? around.behind : around.before).push_back(static_cast<TokenId>(id.get_int64()));
  }
  if (around.before.size() + around.behind.size() > kMaxSurroundingTokens) {
    return processor.expected("single", fmt::format("at most {} special tokens", kMaxSurroundingTokens));
  }
  return Done{};
}

Result<DecodeStep> read_decode_strip(const TextJsonFields& part) {
  TRY(part.only({"type", "content", "start", "stop"}));
  TRY_ASSIGN(const std::string_view content, part.string("content"));
  if (content.empty() || char_at(content, 0).bytes != content.size()) return part.expected("content", "one character");
  TRY_ASSIGN(const int64_t begin, part.integer("start", 0, kMaxStrip));
  TRY_ASSIGN(const int64_t end, part.integer("stop", 0, kMaxStrip));
  return DecodeStep{DecodeStep::Kind::strip, "", std::string(content), static_cast<size_t>(begin),
                    static_cast<size_t>(end)};
}

Status read_decoder(const TextJsonFields& part, std::string_view type, DecodePlan& plan, bool& is_fused) {
  if (type == "Fuse") {
    is_fused = true;
    return part.only({"type"});
  }
  if (type == "Strip") {
    TRY_ASSIGN(DecodeStep step, read_decode_strip(part));
    if (is_fused && step.strip_end != 0) return part.expected("stop", "0 behind Fuse");
    (is_fused ? plan.after_fuse : plan.steps).push_back(std::move(step));
    return Done{};
  }
  if (type != "Replace" && type != "ByteFallback")
    return part.expected("type", "Replace, ByteFallback, Fuse, Strip or Sequence");
  if (is_fused) return part.expected("type", "Strip or nothing behind Fuse");
  DecodeStep step{DecodeStep::Kind::byte_fallback, "", ""};
  if (type == "ByteFallback") {
    TRY(part.only({"type"}));
    for (const DecodeStep& earlier : plan.steps) {
      if (earlier.kind == step.kind) return part.expected("type", "ByteFallback at most once");
    }
  } else {
    TRY(part.only({"type", "pattern", "content"}));
    step.kind = DecodeStep::Kind::replace;
    TRY_ASSIGN(step.pattern, read_pattern(part));
    TRY_ASSIGN(const std::string_view content, part.string("content"));
    step.content = content;
  }
  plan.steps.push_back(std::move(step));
  return Done{};
}

}  // namespace

Result<std::vector<AddedToken>> read_added_tokens(const TextJsonFields& file) {
  std::vector<AddedToken> tokens;
  if (file.is_absent("added_tokens")) return tokens;
  TRY_ASSIGN(const json::array* list, file.array("added_tokens"));
  for (const json::value& entry : *list) {
    TRY_ASSIGN(const TextJsonFields fields, TextJsonFields::of(&entry, fmt::format("added_tokens[{}]", tokens.size())));
    TRY(fields.only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}));
    TRY_ASSIGN(const int64_t id, fields.integer("id", 0, kMaxTokenId));
    TRY_ASSIGN(const std::string_view content, fields.string("content"));
    if (content.empty()) return fields.expected("content", "a string that is not empty");
    AddedToken token{.id = static_cast<TokenId>(id), .content = std::string(content)};
    TRY_ASSIGN(token.special, fields.boolean_or("special", false));
    TRY_ASSIGN(token.single_word, fields.boolean_or("single_word", false));
    TRY_ASSIGN(token.lstrip, fields.boolean_or("lstrip", false));
    TRY_ASSIGN(token.rstrip, fields.boolean_or("rstrip", false));
    TRY_ASSIGN(token.normalized, fields.boolean_or("normalized", !token.special));
    tokens.push_back(std::move(token));
  }
  return tokens;
}

// Of "single" only: we never encode a pair.
Result<Surroundings> read_post_processor(const TextJsonFields& file) {
  Surroundings around;
  if (file.is_absent("post_processor")) return around;
  TRY_ASSIGN(const TextJsonFields processor, file.fields("post_processor"));
  TRY_ASSIGN(const std::string_view type, processor.string("type"));
  if (type != "TemplateProcessing") return processor.expected("type", "TemplateProcessing or none");
  TRY(processor.only({"type", "single", "pair", "special_tokens"}));
  TRY_ASSIGN(const json::array* items, processor.array("single"));
  bool behind = false;
  for (size_t i = 0; i < items->size(); ++i) {
    TRY_ASSIGN(const TextJsonFields item,
               TextJsonFields::of(&(*items)[i], fmt::format("{}.single[{}]", processor.place(), i)));
    TRY(item.only({"Sequence", "SpecialToken"}));
    if (item.find("SpecialToken") != nullptr) {
      TRY_ASSIGN(const TextJsonFields special, item.fields("SpecialToken"));
      TRY_ASSIGN(const std::string_view name, special.string("id"));
      TRY(append_special_token(processor, name, around, behind));
      continue;
    }
    TRY_ASSIGN(const TextJsonFields sequence, item.fields("Sequence"));
    TRY_ASSIGN(const std::string_view name, sequence.string("id"));
    if (name != "A" || behind) return sequence.expected("id", "sequence A, once");
    behind = true;
  }
  if (!behind) return processor.expected("single", "a template with sequence A");
  return around;
}

Result<BpeSettings> read_bpe_settings(const TextJsonFields& file) {
  TRY_ASSIGN(const TextJsonFields model, file.fields("model"));
  TRY_ASSIGN(const std::string_view type, model.string("type"));
  if (type != "BPE") return model.expected("type", "BPE");
  TRY(model.only({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                  "byte_fallback", "ignore_merges", "vocab", "merges"}));
  const json::value* dropout = model.find("dropout");
  if (!model.is_absent("dropout") && !(dropout->is_number() && dropout->to_number<double>() == 0)) {
    return model.expected("dropout", "none");
  }
  for (const std::string_view name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (model.is_absent(name)) continue;
    TRY_ASSIGN(const std::string_view affix, model.string(name));
    if (!affix.empty()) return model.expected(name, "none");
  }
  BpeSettings settings;
  if (!model.is_absent("unk_token")) {
    TRY_ASSIGN(const std::string_view unk, model.string("unk_token"));
    settings.unk_token = std::string(unk);
  }
  TRY_ASSIGN(settings.fuse_unk, model.boolean_or("fuse_unk", false));
  TRY_ASSIGN(settings.byte_fallback, model.boolean_or("byte_fallback", false));
  TRY_ASSIGN(settings.ignore_merges, model.boolean_or("ignore_merges", false));
  return settings;
}

Status check_tokenizer_file(const TokenizerFile& read) {
  TRY_ASSIGN(const TextJsonFields file, TextJsonFields::of(&read.settings, "tokenizer.json"));
  TRY(file.only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
                 "decoder", "model"}));
  for (const std::string_view name : {"truncation", "padding"}) {
    if (!file.is_absent(name)) return file.expected(name, "none");
  }
  TRY(read_bpe_settings(file));
  if (!read.has_vocab) return Error{"tokenizer.json: expected an object model.vocab, found none"};
  if (!read.has_merges) return Error{"tokenizer.json: expected an array model.merges, found none"};
  return Done{};
}

Status read_sequence(const json::value* value, std::string place, std::string_view list_name, const ReadPart& read) {
  if (value == nullptr || value->is_null()) return Done{};
  TRY_ASSIGN(const TextJsonFields part, TextJsonFields::of(value, std::move(place)));
  TRY_ASSIGN(const std::string_view type, part.string("type"));
  if (type != "Sequence") return read(part, type);
  TRY(part.only({"type", list_name}));
  TRY_ASSIGN(const json::array* list, part.array(list_name));
  for (size_t i = 0; i < list->size(); ++i) {
    TRY(read_sequence(&(*list)[i], fmt::format("{}.{}[{}]", part.place(), list_name, i), list_name, read));
  }
  return Done{};
}

Result<TokenizerParts> read_character_parts(TokenizerFile& read) {
  TRY_ASSIGN(const TextJsonFields file, TextJsonFields::of(&read.settings, "tokenizer.json"));
  TokenizerParts parts;
  std::vector<NormalizerStep> normalizer;
  std::vector<SplitStep> splits;
  TRY_ASSIGN(parts.added, read_added_tokens(file));
  TRY(read_sequence(file.find("normalizer"), "normalizer", "normalizers",
                    [&](const auto& part, auto type) { return read_normalizer(part, type, normalizer); }));
  TRY(read_sequence(file.find("pre_tokenizer"), "pre_tokenizer", "pretokenizers",
                    [&](const auto& part, auto type) { return read_split(part, type, splits); }));
  TRY_ASSIGN(parts.surroundings, read_post_processor(file));
  bool is_fused = false;
  parts.decoder.joins_with_space = file.is_absent("decoder");
  TRY(read_sequence(file.find("decoder"), "decoder", "decoders",
                    [&](const auto& part, auto type) { return read_decoder(part, type, parts.decoder, is_fused); }));
  TRY_ASSIGN(BpeSettings settings, read_bpe_settings(file));
  TRY_ASSIGN(Bpe bpe, Bpe::make(std::move(settings), std::move(read.vocab), read.merges));
  parts.encoder = std::make_unique<CharacterEncoder>(std::move(normalizer), std::move(splits), std::move(bpe));
  return parts;
}

}  // namespace paceline
