#include "session/text_model.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <vector>

#include "base/utf8.h"
#include "session/chat_request.h"
#include "session/checkpoint_chat.h"

namespace paceline {
namespace {

struct TextFiles {
  std::string tokenizer;                     // tokenizer.json
  std::optional<std::string> config;         // tokenizer_config.json
  std::optional<std::string> chat_template;  // chat_template.jinja
};

Result<TextFiles> read_text_files(const Checkpoint& checkpoint) {
  TRY_ASSIGN(std::optional<std::string> tokenizer, checkpoint.side_file("tokenizer.json"));
  if (!tokenizer) return Error{fmt::format("{}: no tokenizer.json", checkpoint.folder().string())};
  TextFiles files;
  files.tokenizer = std::move(*tokenizer);
  TRY_ASSIGN(files.config, checkpoint.side_file("tokenizer_config.json"));
  TRY_ASSIGN(files.chat_template, checkpoint.side_file("chat_template.jinja"));
  return files;
}

Result<SpecialTokens> special_tokens_of(const Tokenizer& tokenizer, const TextFiles& files) {
  if (!files.config) return default_special_tokens(tokenizer);
  return read_special_tokens(tokenizer, *files.config);
}

Result<std::unique_ptr<ChatTemplate>> make_chat(const TextFiles& files, const TextModel& model) {
  TRY_ASSIGN(const auto templates, find_chat_templates(files.chat_template, files.config));
  if (!templates) return std::unique_ptr<ChatTemplate>();
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

Result<TextModel> load_text_model(const std::filesystem::path& folder, ThreadPool& pool, const Progress& progress) {
  TRY_ASSIGN(LoadedModel loaded, load_model(folder, pool, progress));
  TRY_ASSIGN(const TextFiles files, read_text_files(*loaded.checkpoint));
  TRY_ASSIGN(Tokenizer tokenizer, Tokenizer::load(files.tokenizer));
  TRY_ASSIGN(SpecialTokens special_tokens, special_tokens_of(tokenizer, files));
  TextModel model{std::move(loaded), std::move(tokenizer), std::move(special_tokens), nullptr, ""};
  add_chat(files, model);
  return model;
}

Result<std::string> render_chat(const TextModel& model, std::string_view system, const UserTurn& user) {
  if (!model.has_chat()) {
    const std::string why = model.chat_problem.empty() ? "this model has no chat template" : model.chat_problem;
    return Error{why + "; --raw continues a text as it is"};
  }
  if (!user.before.empty()) return render_with_media(*model.chat, system, user);
  std::vector<ChatMessage> messages;
  if (!system.empty()) messages.push_back({"system", with_invalid_utf8_replaced(system), ""});
  messages.push_back({"user", with_invalid_utf8_replaced(user.text), ""});
  return model.chat->render(messages, {});
}

}  // namespace paceline
