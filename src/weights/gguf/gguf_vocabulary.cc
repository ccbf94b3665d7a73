#include "weights/gguf/gguf_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "base/utf8.h"

namespace paceline {
namespace {

namespace json = boost::json;

constexpr std::string_view kPrefix = "tokenizer.ggml.";
// GGUF's kinds of tokens: what stands in a text for itself and is looked for before anything else.
constexpr int64_t kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5;
// Gemma 4's, whatever kind a file gives them.
constexpr std::array<std::string_view, 24> kGemmaSpecial = {"<pad>",
                                                            "<eos>",
                                                            "<bos>",
                                                            "<unk>",
                                                            "<mask>",
                                                            "<|tool>",
                                                            "<tool|>",
                                                            "<|tool_call>",
                                                            "<tool_call|>",
                                                            "<|tool_response>",
                                                            "<tool_response|>",
                                                            "<|\"|>",
                                                            "<|think|>",
                                                            "<|channel>",
                                                            "<channel|>",
                                                            "<|turn>",
                                                            "<turn|>",
                                                            "<|image>",
                                                            "<|audio>",
                                                            "<|image|>",
                                                            "<|audio|>",
                                                            "<image|>",
                                                            "<audio|>",
                                                            "<|video|>"};

// For files that have no template of their own.
constexpr const char* kGemmaTemplate =
    "{{ bos_token }}{% for message in messages %}<|turn>{{ 'model' if message['role'] == 'assistant' else "
    "message['role'] }}\n{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in "
    "message['content'] %}{{ part['text'] if part['type'] == 'text' else '<|' ~ part['type'] ~ '|>' }}{% endfor %}{% "
    "endif %}<turn|>\n{% endfor %}{% if add_generation_prompt %}<|turn>model\n{% endif %}";

// Qwen3.5 takes marks for letters. (Without a word of this kind words are Qwen3's.)
constexpr const char* kQwen35Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

struct NamedToken {
  const char* key;   // after "tokenizer.ggml."
  const char* name;  // of tokenizer_config.json
};
constexpr std::array<NamedToken, 5> kNamedTokens = {NamedToken{"bos_token_id", "bos_token"},
                                                    {"eos_token_id", "eos_token"},
                                                    {"unknown_token_id", "unk_token"},
                                                    {"padding_token_id", "pad_token"},
                                                    {"mask_token_id", "mask_token"}};

std::string key_of(std::string_view name) { return fmt::format("{}{}", kPrefix, name); }

// A vocabulary is a million of them.
void append_json_string(std::string& to, std::string_view text) {
  to += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      to += '\\';
      to += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      to += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      to += c;
    }
  }
  to += '"';
}

std::string json_string(std::string_view text) {
  std::string written;
  append_json_string(written, text);
  return written;
}

// How long an array is; nothing where it is absent or no array.
std::optional<uint64_t> length_of(const GgufMetadata& metadata, const std::string& key) {
  const GgufValue* value = metadata.find(key);
  return value == nullptr || !value->is_array() ? std::nullopt : std::optional(value->count);
}

// "left right", split at the one space that is not of a piece.
Result<std::pair<std::string_view, std::string_view>> split_merge(std::string_view merge, uint64_t rank) {
  const size_t space = merge.find(' ');
  if (space == std::string_view::npos || space == 0 || space + 1 == merge.size() ||
      merge.find(' ', space + 1) != std::string_view::npos || !is_valid_utf8(merge)) {
    return Error{
        fmt::format("key \"tokenizer.ggml.merges\", entry {}: expected two pieces with a space between them, "
                    "found \"{}\"",
                    rank, with_invalid_utf8_replaced(merge.substr(0, 64)))};
  }
  return std::pair(merge.substr(0, space), merge.substr(space + 1));
}

}  // namespace

Result<GgufVocabulary> GgufVocabulary::read(const GgufMetadata& metadata, int64_t rows) {
  GgufVocabulary vocabulary;
  vocabulary.metadata_ = &metadata;
  TRY_ASSIGN(const std::string model, metadata.text(key_of("model")));
  TRY_ASSIGN(const std::string pre, metadata.text_or(key_of("pre"), ""));
  vocabulary.byte_level_ = model == "gpt2";
  if (!vocabulary.byte_level_ && model != "gemma4" && !(model == "llama" && pre == "gemma4"))
    return metadata.wrong(key_of("model"), "gemma4, llama with the pre-tokenizer gemma4, or gpt2");
  uint64_t count = 0;
  TRY_ASSIGN(GgufStrings pieces, metadata.strings(key_of("tokens"), &count));
  if (count < 1 || count > static_cast<uint64_t>(rows))
    return metadata.wrong(key_of("tokens"), fmt::format("1 to {} tokens, as many as the embedding has rows", rows));
  vocabulary.pieces_.reserve(static_cast<size_t>(count));
  while (pieces.more()) vocabulary.pieces_.push_back(pieces.next());
  TRY(vocabulary.check_pieces());
  TRY(vocabulary.read_kinds());
  for (const NamedToken& token : kNamedTokens)
    TRY(metadata.integer_or(key_of(token.key), 0, 0, static_cast<int64_t>(count) - 1));
  return vocabulary;
}

Status GgufVocabulary::check_pieces() const {
  for (size_t id = 0; id < pieces_.size(); ++id) {
    if (!pieces_[id].empty() && is_valid_utf8(pieces_[id])) continue;
    return Error{fmt::format("key \"tokenizer.ggml.tokens\", token {}: expected a text in UTF-8, found \"{}\"", id,
                             with_invalid_utf8_replaced(pieces_[id].substr(0, 64)))};
  }
  const auto scores = length_of(*metadata_, key_of("scores"));
  if (scores && *scores != pieces_.size())
    return metadata_->wrong(key_of("scores"), fmt::format("an array of {}, one for each token", pieces_.size()));
  return Done{};
}

Status GgufVocabulary::read_kinds() {
  kinds_.assign(pieces_.size(), Kind::normal);
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const std::string key = key_of("token_type");
  TRY_ASSIGN(const std::vector<int64_t> types, metadata_->integer_list(key, -kMost, kMost));
  if (metadata_->has(key) && types.size() != pieces_.size())
    return metadata_->wrong(key, fmt::format("an array of {}, one for each token", pieces_.size()));
  for (size_t id = 0; id < types.size(); ++id)
    if (types[id] == kUnknown || types[id] == kControl || types[id] == kUserDefined) kinds_[id] = Kind::special;
  if (byte_level_) {
    for (size_t id = 0; id < types.size(); ++id) {
      if (types[id] == kUserDefined) kinds_[id] = Kind::shown;
      if (types[id] == kUnused) kinds_[id] = Kind::absent;
    }
    return Done{};
  }
  for (size_t id = 0; id < pieces_.size(); ++id)
    if (std::find(kGemmaSpecial.begin(), kGemmaSpecial.end(), pieces_[id]) != kGemmaSpecial.end())
      kinds_[id] = Kind::special;
  return Done{};
}

int64_t GgufVocabulary::id_of(std::string_view piece) const {
  const auto at = std::find(pieces_.begin(), pieces_.end(), piece);
  return at == pieces_.end() ? -1 : at - pieces_.begin();
}

int64_t GgufVocabulary::named_id(std::string_view key) const {
  const auto id = metadata_->integer_or(key_of(key), -1, 0, static_cast<int64_t>(pieces_.size()) - 1);
  return id.ok() ? *id : -1;
}

Result<std::string> GgufVocabulary::vocab_json() const {
  std::string text = "{";
  for (size_t id = 0; id < pieces_.size(); ++id) {
    if (byte_level_ && kinds_[id] != Kind::normal) continue;
    if (text.size() > 1) text += ',';
    append_json_string(text, pieces_[id]);
    text += fmt::format(":{}", id);
  }
  return text + "}";
}

Result<std::string> GgufVocabulary::merges_txt() const {
  uint64_t count = 0;
  TRY_ASSIGN(GgufStrings merges, metadata_->strings(key_of("merges"), &count));
  std::string text;
  for (uint64_t rank = 0; merges.more(); ++rank) {
    const std::string_view merge = merges.next();
    TRY(split_merge(merge, rank));
    if (merge.find('\n') != std::string_view::npos)
      return metadata_->wrong(key_of("merges"), "merges without an end of line in them");
    text += merge;
    text += '\n';
  }
  return text;
}

Result<std::string> GgufVocabulary::tokenizer_json() const {
  std::string added;
  for (size_t id = 0; id < pieces_.size(); ++id) {
    if (kinds_[id] != Kind::special) continue;
    added += fmt::format(R"({}{{"id":{},"content":{},"single_word":false,"lstrip":false,"rstrip":false,)"
                         R"("normalized":false,"special":true}})",
                         added.empty() ? "" : ",", id, json_string(pieces_[id]));
  }
  std::string merges = "[";
  uint64_t count = 0;
  TRY_ASSIGN(GgufStrings list, metadata_->strings(key_of("merges"), &count));
  for (uint64_t rank = 0; list.more(); ++rank) {
    TRY_ASSIGN(const auto pair, split_merge(list.next(), rank));
    if (rank > 0) merges += ',';
    merges += '[';
    append_json_string(merges, pair.first);
    merges += ',';
    append_json_string(merges, pair.second);
    merges += ']';
  }
  TRY_ASSIGN(const std::string vocab, vocab_json());
  // Files may say that no <bos> is added, but without it the family writes nonsense; templates write their own.
  std::string before, special = "{}";
  if (const int64_t bos = named_id("bos_token_id"); bos >= 0) {
    const std::string piece = json_string(pieces_[static_cast<size_t>(bos)]);
    before = fmt::format(R"({{"SpecialToken":{{"id":{},"type_id":0}}}},)", piece);
    special = fmt::format(R"({{{}:{{"id":{},"ids":[{}],"tokens":[{}]}}}})", piece, piece, bos, piece);
  }
  const int64_t unknown = named_id("unknown_token_id");
  return fmt::format(
      R"({{"added_tokens":[{}],"normalizer":{{"type":"Replace","pattern":{{"String":" "}},"content":"▁"}},)"
      R"("pre_tokenizer":{{"type":"Split","pattern":{{"String":" "}},"behavior":"MergedWithPrevious","invert":false}},)"
      R"("post_processor":{{"type":"TemplateProcessing","single":[{}{{"Sequence":{{"id":"A","type_id":0}}}}],)"
      R"("special_tokens":{}}},)"
      R"("decoder":{{"type":"Sequence","decoders":[{{"type":"Replace","pattern":{{"String":"▁"}},"content":" "}},)"
      R"({{"type":"ByteFallback"}},{{"type":"Fuse"}}]}},"model":{{"type":"BPE","unk_token":{},"fuse_unk":true,)"
      R"("byte_fallback":true,"ignore_merges":false,"vocab":{},"merges":{}]}}}})",
      added, before, special, unknown < 0 ? "null" : json_string(pieces_[static_cast<size_t>(unknown)]), vocab, merges);
}

Result<std::string> GgufVocabulary::tokenizer_config_json() const {
  json::object config;
  for (const NamedToken& token : kNamedTokens)
    if (const int64_t id = named_id(token.key); id >= 0) config[token.name] = pieces_[static_cast<size_t>(id)];
  if (byte_level_) {
    config["tokenizer_class"] = "Qwen2Tokenizer";
    TRY_ASSIGN(const std::string pre, metadata_->text_or(key_of("pre"), ""));
    if (pre == "qwen35") config["pretokenize_regex"] = kQwen35Words;
    json::object added;
    for (size_t id = 0; id < pieces_.size(); ++id) {
      if (kinds_[id] != Kind::special && kinds_[id] != Kind::shown) continue;
      const bool special = kinds_[id] == Kind::special;
      added[std::to_string(id)] = json::object{{"content", pieces_[id]}, {"normalized", false}, {"special", special}};
    }
    config["added_tokens_decoder"] = std::move(added);
  }
  TRY_ASSIGN(const auto main, chat_template());
  if (main && metadata_->has("tokenizer.chat_template.tool_use")) {
    TRY_ASSIGN(const std::string with_tools, metadata_->text("tokenizer.chat_template.tool_use"));
    config["chat_template"] = json::array{json::object{{"name", "default"}, {"template", *main}},
                                          json::object{{"name", "tool_use"}, {"template", with_tools}}};
  }
  return json::serialize(config);
}

Result<std::optional<std::string>> GgufVocabulary::chat_template() const {
  constexpr std::string_view kKey = "tokenizer.chat_template";
  if (!metadata_->has(kKey)) {
    const bool has_turns = !byte_level_ && id_of("<|turn>") >= 0;
    return has_turns ? std::optional<std::string>(kGemmaTemplate) : std::nullopt;
  }
  TRY_ASSIGN(std::string text, metadata_->text(kKey));
  return std::optional(std::move(text));
}

}  // namespace paceline
