#include "tokenizer/byte_level/vocab_and_merges.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <exception>
#include <new>

#include "base/utf8.h"
#include "tokenizer/json_fields.h"

namespace paceline {
namespace {

namespace json = boost::json;

// What the class cuts words with where its config names no expression.
constexpr std::string_view kWords =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kBytes =
    R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false})";

std::string quoted_json(std::string_view text) { return json::serialize(json::value(text)); }

Result<json::value> read_config(std::string_view text) {
  try {
    json::error_code ec;
    json::value config = json::parse(text, ec);
    if (ec) return Error{fmt::format("tokenizer_config.json: expected JSON, found {}", ec.message())};
    return config;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& thrown) {
    return Error{fmt::format("tokenizer_config.json: could not be read: {}", thrown.what())};
  }
}

// {"151643": {"content": "<|endoftext|>", …}, …} as a list of objects with their ids.
Result<std::string> added_tokens_of(const TextJsonFields& config) {
  json::array list;
  if (!config.is_absent("added_tokens_decoder")) {
    TRY_ASSIGN(const TextJsonFields tokens, config.fields("added_tokens_decoder"));
    for (const auto& field : tokens.object()) {
      const std::string_view written = field.key();
      int32_t id = -1;
      const auto end = std::from_chars(written.data(), written.data() + written.size(), id).ptr;
      if (end != written.data() + written.size() || !field.value().is_object()) {
        return tokens.expected(written, "an id's token");
      }
      json::object token = field.value().get_object();
      token["id"] = id;
      list.push_back(std::move(token));
    }
  }
  return json::serialize(list);
}

// A line for each, "left right"; the first may say which version they are of.
Result<std::string> merges_of(std::string_view text) {
  if (!is_valid_utf8(text)) return Error{"merges.txt: expected UTF-8, found other bytes"};
  std::string list = "[";
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
    if (std::count(line.begin(), line.end(), ' ') != 1) {
      return Error{fmt::format("merges.txt, line {}: expected two pieces, found \"{}\"", number, line.substr(0, 64))};
    }
    if (list.size() > 1) list += ',';
    list += quoted_json(line);
  }
  return list + "]";
}

}  // namespace

Result<std::string> tokenizer_json_of(const VocabAndMerges& files) {
  TRY_ASSIGN(const json::value read, read_config(files.config_json));
  TRY_ASSIGN(const TextJsonFields config, TextJsonFields::of(&read, "tokenizer_config.json"));
  TRY_ASSIGN(const std::string_view kind, config.string("tokenizer_class"));
  if (kind != "Qwen2Tokenizer" && kind != "Qwen2TokenizerFast") {
    return config.expected("tokenizer_class", "Qwen2Tokenizer beside vocab.json and merges.txt");
  }
  std::string_view words = kWords;
  if (!config.is_absent("pretokenize_regex")) {
    TRY_ASSIGN(words, config.string("pretokenize_regex"));
  }
  TRY_ASSIGN(const std::string added, added_tokens_of(config));
  TRY_ASSIGN(const std::string merges, merges_of(files.merges_txt));
  return fmt::format(
      R"({{"added_tokens": {}, "normalizer": {{"type": "NFC"}}, "pre_tokenizer": {{"type": "Sequence", "pretokenizers": [)"
      R"({{"type": "Split", "pattern": {{"Regex": {}}}, "behavior": "Isolated", "invert": false}}, {}]}}, )"
      R"("decoder": {}, "model": {{"type": "BPE", "vocab": {}, "merges": {}}}}})",
      added, quoted_json(words), kBytes, kBytes, files.vocab_json, merges);
}

}  // namespace paceline
