// Conversations to the text that a model is prompted with.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace paceline {

struct ChatMessage {
  std::string role;       // system, developer, user, assistant
  std::string content;    // valid UTF-8
  std::string reasoning;  // what the assistant thought before; empty: nothing
};

struct ChatOptions {
  bool add_generation_prompt = true;  // end with the head of the model's turn
  bool enable_thinking = false;
  bool continue_final_message = false;  // leave the last message open; without a generation prompt
};

struct ChatRequest;  // chat_request.h: as clients send it, with tools and parts

class ChatTemplate {
 public:
  virtual ~ChatTemplate() = default;
  [[nodiscard]] virtual Result<std::string> render(std::span<const ChatMessage> messages,
                                                   const ChatOptions& options) const = 0;
  // An error where the format is for text alone.
  [[nodiscard]] virtual Result<std::string> render_request(const ChatRequest& request) const;
};

// The template whose text a checkpoint ships (chat_template.jinja, or chat_template in tokenizer_config.json).
// Known are Gemma 4's two; another is an error.
Result<std::unique_ptr<ChatTemplate>> make_chat_template(std::string_view template_text,
                                                         std::string bos_token = "<bos>");

}  // namespace paceline
