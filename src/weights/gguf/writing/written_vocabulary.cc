#include "weights/gguf/writing/written_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "weights/json_fields.h"

namespace paceline {
namespace {

namespace json = boost::json;

enum Kind : int32_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
// Special, but shown in the output by those who read the format.
constexpr std::array<std::string_view, 7> kShown = {
    "<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>", "<|tool_response>", "<tool_response|>", "<|\"|>"};
constexpr float kPlaceholderScore = -1000;

struct Pieces {
  std::vector<std::string> texts;
  std::vector<int32_t> kinds;

  [[nodiscard]] int64_t id_of(std::string_view text) const {
    const auto at = std::find(texts.begin(), texts.end(), text);
    return at == texts.end() ? -1 : at - texts.begin();
  }
};

bool is_byte_piece(std::string_view piece) {
  return piece.size() == 6 && piece.starts_with("<0x") && piece.ends_with('>');
}

Status put(Pieces* pieces, int64_t id, std::string_view text, int32_t kind) {
  if (id < 0 || id >= static_cast<int64_t>(pieces->texts.size())) {
    return Error{fmt::format("tokenizer.json: expected ids below {}, the rows of the embedding; found {} for \"{}\"",
                             pieces->texts.size(), id, text)};
  }
  pieces->texts[static_cast<size_t>(id)] = text;
  pieces->kinds[static_cast<size_t>(id)] = kind;
  return Done{};
}

Status add_special(const json::object& tokenizer, Pieces* pieces) {
  const json::value* added = tokenizer.if_contains("added_tokens");
  if (added == nullptr || !added->is_array()) return Done{};
  for (const json::value& entry : added->get_array()) {
    if (!entry.is_object()) return Error{"tokenizer.json: expected objects in added_tokens"};
    const JsonFields fields(entry.get_object(), "added_tokens[]");
    TRY_ASSIGN(const int64_t id, fields.integer("id", 0, std::numeric_limits<int32_t>::max()));
    TRY_ASSIGN(const std::string text, fields.text("content"));
    TRY_ASSIGN(const bool special, fields.boolean_or("special", true));
    const bool shown = !special || std::find(kShown.begin(), kShown.end(), text) != kShown.end();
    TRY(put(pieces, id, text, text == "<unk>" ? unknown : shown ? user_defined : control));
  }
  return Done{};
}

Result<Pieces> read_pieces(const json::object& tokenizer, const json::object& model, int64_t rows) {
  const json::value* vocabulary = model.if_contains("vocab");
  if (vocabulary == nullptr || !vocabulary->is_object())
    return Error{"tokenizer.json: expected an object model.vocab, found none"};
  Pieces pieces{std::vector<std::string>(static_cast<size_t>(rows)),
                std::vector<int32_t>(static_cast<size_t>(rows), unused)};
  for (const auto& [text, number] : vocabulary->get_object()) {
    const auto id = json_integer(number);
    if (!id) return Error{fmt::format("tokenizer.json: expected an id for \"{}\"", std::string_view(text))};
    TRY(put(&pieces, *id, text, is_byte_piece(text) ? byte : normal));
  }
  TRY(add_special(tokenizer, &pieces));
  for (size_t id = 0; id < pieces.texts.size(); ++id)
    if (pieces.texts[id].empty()) pieces.texts[id] = fmt::format("[PAD{}]", id);
  return pieces;
}

// "left right", or ["left", "right"].
Result<std::vector<std::string>> read_merges(const json::object& model) {
  std::vector<std::string> merges;
  const json::value* list = model.if_contains("merges");
  if (list == nullptr || !list->is_array()) return Error{"tokenizer.json: expected an array model.merges, found none"};
  for (const json::value& entry : list->get_array()) {
    if (entry.is_string()) {
      merges.emplace_back(entry.get_string());
    } else if (entry.is_array() && entry.get_array().size() == 2 && entry.get_array()[0].is_string() &&
               entry.get_array()[1].is_string()) {
      merges.push_back(fmt::format("{} {}", std::string_view(entry.get_array()[0].get_string()),
                                   std::string_view(entry.get_array()[1].get_string())));
    } else {
      return Error{fmt::format("tokenizer.json, merge {}: expected two pieces", merges.size())};
    }
    if (std::count(merges.back().begin(), merges.back().end(), ' ') != 1)
      return Error{fmt::format("tokenizer.json, merge {}: expected pieces without a space", merges.size() - 1)};
  }
  return merges;
}

// A name in tokenizer_config.json is a text, or an object with one.
std::string named_piece(const json::object& config, const char* name) {
  const json::value* value = config.if_contains(name);
  if (value == nullptr) return {};
  if (value->is_string()) return std::string(value->get_string());
  if (!value->is_object()) return {};
  const json::value* content = value->get_object().if_contains("content");
  return content != nullptr && content->is_string() ? std::string(content->get_string()) : std::string();
}

Status add_named_ids(const json::object& config, const Pieces& pieces, GgufKeys* keys) {
  struct Named {
    const char *key, *name, *family;
  };
  constexpr std::array<Named, 6> kNamed = {
      Named{"bos_token_id", "bos_token", "<bos>"}, {"eos_token_id", "eos_token", "<eos>"},
      {"unknown_token_id", "unk_token", "<unk>"},  {"padding_token_id", "pad_token", "<pad>"},
      {"mask_token_id", "mask_token", "<mask>"},   {"eot_token_id", "eot_token", "<turn|>"}};
  for (const Named& named : kNamed) {
    std::string piece = named_piece(config, named.name);
    if (piece.empty()) piece = named.family;
    if (const int64_t id = pieces.id_of(piece); id >= 0)
      keys->unsigned_integer(fmt::format("tokenizer.ggml.{}", named.key), static_cast<uint32_t>(id));
  }
  return Done{};
}

Result<json::object> side_object(const Checkpoint& checkpoint, const char* name) {
  TRY_ASSIGN(const auto text, checkpoint.side_file(name));
  if (!text) return json::object();
  return parse_json_object(*text, name);
}

Status add_template(const Checkpoint& checkpoint, const json::object& config, GgufKeys* keys) {
  TRY_ASSIGN(const auto apart, checkpoint.side_file("chat_template.jinja"));
  const json::value* within = config.if_contains("chat_template");
  if (apart) {
    keys->text("tokenizer.chat_template", *apart);
  } else if (within != nullptr && within->is_string()) {
    keys->text("tokenizer.chat_template", std::string_view(within->get_string()));
  }
  return Done{};
}

// Files of the format say "Gemma 4's", and readers then take what that one does with spaces for granted.
Status check_normalizer(const json::object& tokenizer) {
  static const json::value kExpected = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}};
  const json::value* found = tokenizer.if_contains("normalizer");
  if (found != nullptr && *found == kExpected) return Done{};
  return Error{fmt::format("tokenizer.json: expected Gemma's, whose normalizer is {}; found {}",
                           json::serialize(kExpected), found == nullptr ? "none" : json::serialize(*found))};
}

// How Qwen cuts words, by the names that the format has for it; nothing where it is another.
std::string_view byte_words(const json::object& tokenizer) {
  const json::value* before = tokenizer.if_contains("pre_tokenizer");
  if (before == nullptr) return {};
  const std::string text = json::serialize(*before);
  if (text.find("ByteLevel") == std::string::npos) return {};
  const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
  // As serialised: a backslash is two.
  if (has(R"(?[\\p{L}\\p{M}]+|)")) return "qwen35";
  return has(R"(?\\p{L}+|\\p{N}|)") ? "qwen2" : "";
}

struct Words {
  json::object tokenizer, config;
  Pieces pieces;
  std::vector<std::string> merges;
};

Result<Words> read_words(const Checkpoint& checkpoint, int64_t rows) {
  Words words;
  TRY_ASSIGN(words.tokenizer, side_object(checkpoint, "tokenizer.json"));
  TRY_ASSIGN(words.config, side_object(checkpoint, "tokenizer_config.json"));
  const json::value* model = words.tokenizer.if_contains("model");
  if (model == nullptr || !model->is_object())
    return Error{fmt::format("{}: expected a tokenizer.json with a model in it", checkpoint.folder().string())};
  TRY_ASSIGN(words.pieces, read_pieces(words.tokenizer, model->get_object(), rows));
  TRY_ASSIGN(words.merges, read_merges(model->get_object()));
  return words;
}

void add_pieces(const Words& words, GgufKeys* keys) {
  keys->texts("tokenizer.ggml.tokens", words.pieces.texts);
  keys->integers("tokenizer.ggml.token_type", words.pieces.kinds);
  keys->texts("tokenizer.ggml.merges", words.merges);
}

}  // namespace

Status add_vocabulary_keys(const Checkpoint& checkpoint, int64_t rows, GgufKeys* keys) {
  TRY_ASSIGN(const Words words, read_words(checkpoint, rows));
  TRY(check_normalizer(words.tokenizer));
  keys->text("tokenizer.ggml.model", "gemma4");
  add_pieces(words, keys);
  keys->numbers("tokenizer.ggml.scores", std::vector<float>(words.pieces.texts.size(), kPlaceholderScore));
  keys->boolean("tokenizer.ggml.add_space_prefix", false);
  keys->boolean("tokenizer.ggml.add_bos_token", true);
  TRY(add_named_ids(words.config, words.pieces, keys));
  return add_template(checkpoint, words.config, keys);
}

Status add_byte_vocabulary_keys(const Checkpoint& checkpoint, int64_t rows, GgufKeys* keys) {
  TRY_ASSIGN(const Words words, read_words(checkpoint, rows));
  const std::string_view cut = byte_words(words.tokenizer);
  if (cut.empty())
    return Error{"tokenizer.json: expected one of Qwen's, which cuts words by its expression and then takes bytes"};
  keys->text("tokenizer.ggml.model", "gpt2");
  keys->text("tokenizer.ggml.pre", cut);
  add_pieces(words, keys);
  keys->boolean("tokenizer.ggml.add_bos_token", false);
  TRY(add_named_ids(words.config, words.pieces, keys));
  return add_template(checkpoint, words.config, keys);
}

}  // namespace paceline
