#include "session/chat.h"

#include <fmt/core.h>

#include "session/gemma/gemma_chat.h"

namespace paceline {

Result<std::string> ChatTemplate::render_request(const ChatRequest&) const {
  return Error{"chat template: expected messages of text, found a request that may have more"};
}

Result<std::unique_ptr<ChatTemplate>> make_chat_template(std::string_view template_text, std::string bos_token) {
  if (const auto size = gemma_size_of_template(template_text)) {
    return std::unique_ptr<ChatTemplate>(std::make_unique<GemmaChatTemplate>(*size, std::move(bos_token)));
  }
  return Error{
      fmt::format("chat template: expected one of Gemma 4's two (small or large), found another text of {} bytes",
                  template_text.size())};
}

}  // namespace paceline
