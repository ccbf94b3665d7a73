// Gemma 4's chat format, for conversations of text without tools.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "session/chat.h"

namespace paceline {

// E2B and E4B; 12B, 26B-A4B and 31B. With thinking off, the large ones are shown an empty thought to begin with.
enum class GemmaSize { small, large };

// Which of the two a template's text is; none for any other text.
std::optional<GemmaSize> gemma_size_of_template(std::string_view template_text);

class GemmaChatTemplate : public ChatTemplate {
 public:
  GemmaChatTemplate(GemmaSize size, std::string bos_token) : size_(size), bos_token_(std::move(bos_token)) {}

  [[nodiscard]] Result<std::string> render(std::span<const ChatMessage> messages,
                                           const ChatOptions& options) const override;

 private:
  GemmaSize size_;
  std::string bos_token_;
};

}  // namespace paceline
