#include "session/text_model.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <vector>

#include "base/utf8.h"
#include "session/chat_request.h"
#include "session/checkpoint_chat.h"
#include "session/prompt_checks.h"
#include "tokenizer/byte_level/vocab_and_merges.h"

namespace paceline {
namespace {

struct TextFiles {
  std::string tokenizer;                     // tokenizer.json
  std::optional<std::string> config;         // tokenizer_config.json
  std::optional<std::string> chat_template;  // chat_template.jinja
};

// tokenizer.json, or what older checkpoints have in its place.
Result<std::string> read_tokenizer_json(const Checkpoint& checkpoint, const std::optional<std::string>& config) {
  TRY_ASSIGN(std::optional<std::string> tokenizer, checkpoint.side_file("tokenizer.json"));
  if (tokenizer) return std::move(*tokenizer);
  TRY_ASSIGN(const std::optional<std::string> vocab, checkpoint.side_file("vocab.json"));
  TRY_ASSIGN(const std::optional<std::string> merges, checkpoint.side_file("merges.txt"));
  if (!vocab || !merges || !config) return Error{fmt::format("{}: no tokenizer.json", checkpoint.folder().string())};
  return tokenizer_json_of({*vocab, *merges, *config});
}

Result<TextFiles> read_text_files(const Checkpoint& checkpoint) {
  TextFiles files;
  TRY_ASSIGN(files.config, checkpoint.side_file("tokenizer_config.json"));
  TRY_ASSIGN(files.tokenizer, read_tokenizer_json(checkpoint, files.config));
  TRY_ASSIGN(files.chat_template, checkpoint.side_file("chat_template.jinja"));
  return files;
}

Result<SpecialTokens> special_tokens_of(const Tokenizer& tokenizer, const TextFiles& files) {
  if (!files.config) return default_special_tokens(tokenizer);
  return read_special_tokens(tokenizer, *files.config);
}

Result<std::unique_ptr<ChatTemplate>> make_chat(const TextFiles& files, TextModel& model) {
  TRY_ASSIGN(const auto templates, find_chat_templates(files.chat_template, files.config));
  if (!templates) return std::unique_ptr<ChatTemplate>();
  model.dialect = find_output_dialect(model.tokenizer, templates->with_tools.value_or(templates->main));
  TRY_ASSIGN(boost::json::object token_texts, read_token_texts(files.config));
  std::string bos;
  if (model.special_tokens.bos) bos = model.tokenizer.piece(*model.special_tokens.bos).value_or("");
  if (!token_texts.contains("bos_token")) token_texts["bos_token"] = bos;
  auto made = make_checkpoint_chat(*templates, std::move(token_texts));
  if (made.ok()) return made;
  // What the interpreter cannot read may still be a format that we know.
  auto known = make_chat_template(templates->main, std::move(bos));
  return known.ok() ? std::move(known) : std::move(made);
}

// A template that cannot be used is no reason to refuse the model: it can still continue text.
void add_chat(const TextFiles& files, TextModel& model) {
  auto made = make_chat(files, model);
  if (made.ok()) {
    model.chat = std::move(*made);
  } else {
    model.chat_problem = made.error().message;
  }
}

void add_ids(TextModel& model) {
  const ModelConfig& config = model.loaded.config;
  model.stop_ids = config.stop_ids;
  if (model.special_tokens.eos) model.stop_ids.push_back(*model.special_tokens.eos);
  // Files often name one of the two alone.
  for (const char* text : {"<|im_end|>", "<|endoftext|>"}) {
    if (const TokenId id = added_token(model.tokenizer, text); id >= 0 && id < config.vocab) {
      model.stop_ids.push_back(id);
    }
  }
  sort_unique(model.stop_ids);
  // A vocabulary's rows may be more than its tokens.
  std::vector<TokenId> never = placeholder_ids(config.ids);
  never.insert(never.end(), config.suppressed.begin(), config.suppressed.end());
  for (TokenId id = 0; id < config.vocab; ++id) {
    if (!model.tokenizer.piece(id)) never.push_back(id);
  }
  sort_unique(never);
  model.never_sampled = std::make_shared<const std::vector<TokenId>>(std::move(never));
}

// Templates write their own place for each.
Result<std::string> render_with_media(const ChatTemplate& chat, std::string_view system, const UserTurn& user) {
  ChatRequest request;
  if (!system.empty()) {
    request.messages.push_back({{"role", "system"}, {"content", with_invalid_utf8_replaced(system)}});
  }
  boost::json::array parts;
  for (const Medium& medium : user.before)
    parts.push_back(boost::json::object{{"type", is_clip(medium) ? "video" : "image"}});
  parts.push_back({{"type", "text"}, {"text", with_invalid_utf8_replaced(user.text)}});
  request.messages.push_back({{"role", "user"}, {"content", std::move(parts)}});
  return chat.render_request(request);
}

}  // namespace

TextModel make_text_model(LoadedModel loaded, Tokenizer tokenizer, SpecialTokens special_tokens) {
  TextModel model{.loaded = std::move(loaded),
                  .tokenizer = std::move(tokenizer),
                  .special_tokens = std::move(special_tokens),
                  .chat = nullptr,
                  .chat_problem = "",
                  .dialect = nullptr,
                  .stop_ids = {},
                  .never_sampled = nullptr};
  model.dialect = find_output_dialect(model.tokenizer, "");
  add_ids(model);
  return model;
}

Result<TextModel> make_text_model(LoadedModel loaded) {
  TRY_ASSIGN(const TextFiles files, read_text_files(*loaded.checkpoint));
  TRY_ASSIGN(Tokenizer tokenizer, Tokenizer::load(files.tokenizer));
  TRY_ASSIGN(SpecialTokens special_tokens, special_tokens_of(tokenizer, files));
  TextModel model = make_text_model(std::move(loaded), std::move(tokenizer), std::move(special_tokens));
  add_chat(files, model);
  return model;
}

Result<TextModel> load_text_model(const std::filesystem::path& folder, ThreadPool& pool, const Progress& progress) {
  TRY_ASSIGN(LoadedModel loaded, load_model(folder, pool, progress));
  return make_text_model(std::move(loaded));
}

Result<std::string> render_chat(const TextModel& model, std::string_view system, const UserTurn& user) {
  if (!model.has_chat()) return Error{model.why_no_chat() + "; --raw continues a text as it is"};
  if (!user.before.empty()) return render_with_media(*model.chat, system, user);
  std::vector<ChatMessage> messages;
  if (!system.empty()) messages.push_back({"system", with_invalid_utf8_replaced(system), ""});
  messages.push_back({"user", with_invalid_utf8_replaced(user.text), ""});
  return model.chat->render(messages, {});
}

}  // namespace paceline
