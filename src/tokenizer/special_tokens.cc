#include "tokenizer/special_tokens.h"

#include <fmt/core.h>

#include <boost/json/parse.hpp>
#include <exception>
#include <new>

#include "tokenizer/json_fields.h"

namespace paceline {
namespace {

namespace json = boost::json;

// "<bos>", or {"content": "<bos>", ...} as older files write it.
std::optional<std::string_view> token_text_in(const json::value& value) {
  if (value.is_string()) return std::string_view(value.get_string());
  if (!value.is_object()) return std::nullopt;
  const json::value* content = value.get_object().if_contains("content");
  if (content == nullptr || !content->is_string()) return std::nullopt;
  return std::string_view(content->get_string());
}

Status add_named(const Tokenizer& tokenizer, std::string_view name, const json::value& value, SpecialTokens& tokens) {
  if (value.is_null()) return Done{};
  const auto text = token_text_in(value);
  if (!text) {
    return Error{fmt::format("tokenizer_config.json.{}: expected a string or an object with content, found {}", name,
                             json_kind(&value))};
  }
  if (const auto id = tokenizer.id_of(*text)) {
    tokens.named.emplace(name, *id);
    return Done{};
  }
  if (name == "bos_token" || name == "eos_token" || name == "pad_token") {
    return Error{fmt::format("tokenizer_config.json.{}: expected a token of the tokenizer, found \"{}\"", name, *text)};
  }
  tokens.unresolved.push_back(fmt::format("{} = {}", name, *text));
  return Done{};
}

// A list of tokens, each under its own text; or an object of names and tokens.
Status add_extra(const Tokenizer& tokenizer, const json::value& extra, SpecialTokens& tokens) {
  if (extra.is_object()) {
    for (const auto& field : extra.get_object()) TRY(add_named(tokenizer, field.key(), field.value(), tokens));
    return Done{};
  }
  if (!extra.is_array()) return Done{};
  for (const json::value& value : extra.get_array()) {
    TRY(add_named(tokenizer, token_text_in(value).value_or("extra_special_tokens"), value, tokens));
  }
  return Done{};
}

}  // namespace

std::optional<TokenId> SpecialTokens::find(std::string_view name) const {
  const auto at = named.find(name);
  return at == named.end() ? std::nullopt : std::optional(at->second);
}

Result<SpecialTokens> read_special_tokens(const Tokenizer& tokenizer, std::string_view config_json) {
  json::value config;
  json::error_code ec;
  try {
    config = json::parse(config_json, ec);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& thrown) {
    return Error{fmt::format("tokenizer_config.json: could not be read: {}", thrown.what())};
  }
  if (ec) return Error{fmt::format("tokenizer_config.json: expected JSON, found {}", ec.message())};
  TRY_ASSIGN(const TextJsonFields fields, TextJsonFields::of(&config, "tokenizer_config.json"));
  SpecialTokens tokens;
  for (const auto& field : fields.object()) {
    const std::string_view name = field.key();
    // add_bos_token and its like are switches.
    if (name.ends_with("_token") && !field.value().is_bool()) TRY(add_named(tokenizer, name, field.value(), tokens));
    if (name == "extra_special_tokens" || name == "additional_special_tokens" ||
        name == "model_specific_special_tokens") {
      TRY(add_extra(tokenizer, field.value(), tokens));
    }
  }
  tokens.bos = tokens.find("bos_token");
  tokens.eos = tokens.find("eos_token");
  tokens.pad = tokens.find("pad_token");
  tokens.unk = tokens.find("unk_token");
  return tokens;
}

SpecialTokens default_special_tokens(const Tokenizer& tokenizer) {
  SpecialTokens tokens;
  const auto add = [&](std::string_view name, std::string_view piece) {
    const auto id = tokenizer.id_of(piece);
    if (!id || !tokenizer.is_special(*id)) return std::optional<TokenId>();
    tokens.named.emplace(name, *id);
    return id;
  };
  tokens.bos = add("bos_token", "<bos>");
  tokens.eos = add("eos_token", "<eos>");
  tokens.pad = add("pad_token", "<pad>");
  tokens.unk = add("unk_token", "<unk>");
  return tokens;
}

}  // namespace paceline
