#include "session/gemma/gemma_chat.h"

#include <fmt/core.h>

#include "base/utf8.h"

namespace paceline {
namespace {

bool is_system(const ChatMessage& message) { return message.role == "system" || message.role == "developer"; }

// The answer without its thoughts: of each stretch that <channel|> ends, what stands before <|channel>.
std::string without_thoughts(std::string_view text) {
  constexpr std::string_view kBegin = "<|channel>", kEnd = "<channel|>";
  std::string answer;
  while (true) {
    const size_t end = text.find(kEnd);
    const std::string_view stretch = text.substr(0, end);
    answer += stretch.substr(0, stretch.find(kBegin));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + kEnd.size());
  }
  return std::string(strip_like_python(answer));
}

// Thoughts are shown only behind the last question.
size_t first_shown_thought(std::span<const ChatMessage> messages) {
  for (size_t i = messages.size(); i > 0; --i) {
    if (messages[i - 1].role == "user") return i;
  }
  return 0;
}

Status check_message(const ChatMessage& message, size_t number) {
  if (message.role == "tool") {
    return Error{
        fmt::format("message {}: expected system, developer, user or assistant, found a tool's answer, which this "
                    "template does not render",
                    number)};
  }
  if (message.role.empty()) return Error{fmt::format("message {}: expected a role, found none", number)};
  if (!is_valid_utf8(message.role) || !is_valid_utf8(message.content) || !is_valid_utf8(message.reasoning)) {
    return Error{fmt::format("message {}: expected UTF-8, found other bytes", number)};
  }
  return Done{};
}

Status check_request(std::span<const ChatMessage> messages, const ChatOptions& options) {
  if (options.continue_final_message && (messages.empty() || options.add_generation_prompt)) {
    return Error{"continue_final_message: expected a last message and no generation prompt, found otherwise"};
  }
  for (size_t i = 0; i < messages.size(); ++i) TRY(check_message(messages[i], i));
  return Done{};
}

// The text up to where the final message may go on. As Hugging Face does with templates that trim contents, white space
// before that place goes as well.
void open_final_turn(std::string& text) {
  constexpr std::string_view kTurnEnd = "<turn|>\n";
  text.resize(text.size() - kTurnEnd.size());
  const std::string_view stripped = strip_like_python(text);
  text.resize(static_cast<size_t>(stripped.data() + stripped.size() - text.data()));
}

void append_system_turn(std::span<const ChatMessage>& messages, const ChatOptions& options, std::string& text) {
  const bool has_system = !messages.empty() && is_system(messages[0]);
  if (!has_system && !options.enable_thinking) return;
  text += "<|turn>system\n";
  if (options.enable_thinking) text += "<|think|>\n";
  if (has_system) {
    text += strip_like_python(messages[0].content);
    messages = messages.subspan(1);
  }
  text += "<turn|>\n";
}

}  // namespace

std::optional<GemmaSize> gemma_size_of_template(std::string_view template_text) {
  const auto has = [&](std::string_view part) { return template_text.find(part) != std::string_view::npos; };
  // What the two have in common and no earlier template of Gemma 4 has: a turn that goes on into the next message, and
  // the guard that keeps thoughts out of earlier turns.
  const bool is_canonical = has("{{- '<|turn>' + role + '\\n' }}") && has("{%- set continues_into_next = (") &&
                            has("loop.index0 > ns_turn.last_user_idx") && has("captured_content | trim | length > 0");
  if (!is_canonical) return std::nullopt;
  // All in which they differ: the empty thought behind the head of the model's turn.
  return has("{{- '<|channel>thought\\n<channel|>' -}}") ? GemmaSize::large : GemmaSize::small;
}

Result<std::string> GemmaChatTemplate::render(std::span<const ChatMessage> messages, const ChatOptions& options) const {
  TRY(check_request(messages, options));
  std::string text = bos_token_;
  append_system_turn(messages, options, text);
  const size_t shown_from = first_shown_thought(messages);
  for (size_t i = 0; i < messages.size(); ++i) {
    const ChatMessage& message = messages[i];
    const bool is_model = message.role == "assistant";
    const bool follows_model = i > 0 && messages[i - 1].role == "assistant";
    const bool goes_on = i + 1 < messages.size() && messages[i + 1].role == "assistant";
    const bool says_model = is_model || message.role == "model";
    if (!(says_model && follows_model)) text += "<|turn>" + (is_model ? "model" : message.role) + "\n";
    if (!message.reasoning.empty() && i >= shown_from)
      text += "<|channel>thought\n" + message.reasoning + "\n<channel|>";
    text += says_model ? without_thoughts(message.content) : std::string(strip_like_python(message.content));
    if (!(says_model && goes_on)) text += "<turn|>\n";
  }
  if (options.continue_final_message) open_final_turn(text);
  if (options.add_generation_prompt) {
    text += "<|turn>model\n";
    if (size_ == GemmaSize::large && !options.enable_thinking) text += "<|channel>thought\n<channel|>";
  }
  return text;
}

}  // namespace paceline
