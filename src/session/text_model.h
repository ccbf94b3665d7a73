// A loaded checkpoint with what turns its tokens into text: weights, tokenizer, chat template. Immutable and shared.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/load.h"
#include "session/chat.h"
#include "session/medium.h"
#include "session/output_dialect.h"
#include "tokenizer/special_tokens.h"
#include "tokenizer/tokenizer.h"

namespace paceline {

struct TextModel {
  LoadedModel loaded;
  Tokenizer tokenizer;
  SpecialTokens special_tokens;
  std::unique_ptr<ChatTemplate> chat;  // none: the model continues text
  std::string chat_problem;            // why there is none, where the checkpoint ships one
  std::shared_ptr<const OutputDialect> dialect;
  std::vector<TokenId> stop_ids;                              // of the model's files and its tokenizer; sorted
  std::shared_ptr<const std::vector<TokenId>> never_sampled;  // places of media, and ids that stand for nothing

  [[nodiscard]] bool has_chat() const { return chat != nullptr; }
  // Of one that has none.
  [[nodiscard]] std::string why_no_chat() const {
    return chat_problem.empty() ? "this model has no chat template" : chat_problem;
  }
};

// Without a chat template.
TextModel make_text_model(LoadedModel loaded, Tokenizer tokenizer, SpecialTokens special_tokens);

// With what lies in its checkpoint's folder beside the weights.
Result<TextModel> make_text_model(LoadedModel loaded);
Result<TextModel> load_text_model(const std::filesystem::path& folder, ThreadPool& pool, const Progress& progress = {});

// What a user says: pictures and clips, and then the text (which may have places for others in it).
struct UserTurn {
  std::string_view text;
  std::span<const Medium> before = {};
};

// One user's turn, and what the model was told before (empty: nothing), ready for the model's answer.
Result<std::string> render_chat(const TextModel& model, std::string_view system, const UserTurn& user);

}  // namespace paceline
