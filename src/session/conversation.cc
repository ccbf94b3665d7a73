#include "session/conversation.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <limits>

#include "session/data_uri.h"

namespace paceline {
namespace {

namespace json = boost::json;

constexpr int32_t kNoLimit = std::numeric_limits<int32_t>::max();

std::string_view picture_type(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG")) return "image/png";
  if (bytes.starts_with("\xFF\xD8")) return "image/jpeg";
  if (bytes.starts_with("GIF8")) return "image/gif";
  if (bytes.starts_with("RIFF")) return "image/webp";
  if (bytes.starts_with("BM")) return "image/bmp";
  return "application/octet-stream";
}

json::object part_of(const MediaFile& file) {
  const char* name = file.is_video ? "video_url" : "image_url";
  const std::string_view type = file.is_video ? "video/mp4" : picture_type(file.bytes);
  return {{"type", name}, {name, {{"url", write_data_uri(type, file.bytes)}}}};
}

std::string_view role_of(const json::value& message) {
  const json::value* role = message.is_object() ? message.get_object().if_contains("role") : nullptr;
  return role != nullptr && role->is_string() ? std::string_view(role->get_string()) : std::string_view();
}

}  // namespace

size_t Conversation::questions() const {
  size_t count = 0;
  for (const json::value& message : messages_) count += role_of(message) == "user" ? 1 : 0;
  return count;
}

std::string Conversation::system() const {
  if (messages_.empty() || role_of(messages_.front()) != "system") return "";
  return spoken(messages_.front()).text;
}

void Conversation::set_system(std::string_view text) {
  if (!messages_.empty() && role_of(messages_.front()) == "system") messages_.erase(messages_.begin());
  if (!text.empty()) messages_.insert(messages_.begin(), json::object{{"role", "system"}, {"content", text}});
}

void Conversation::ask(std::string_view text, const std::vector<MediaFile>& shown) {
  if (shown.empty()) {
    messages_.push_back({{"role", "user"}, {"content", text}});
    return;
  }
  json::array parts;
  for (const MediaFile& file : shown) parts.push_back(part_of(file));
  parts.push_back({{"type", "text"}, {"text", text}});
  messages_.push_back({{"role", "user"}, {"content", std::move(parts)}});
}

void Conversation::add_answer(std::string_view text, std::string_view thoughts) {
  json::object message{{"role", "assistant"}, {"content", text}};
  if (!thoughts.empty()) message["reasoning"] = thoughts;
  messages_.push_back(std::move(message));
}

bool Conversation::ends_with(std::string_view role) const {
  return !messages_.empty() && role_of(messages_.back()) == role;
}

bool Conversation::take_back_question() {
  if (!ends_with("user")) return false;
  messages_.pop_back();
  return true;
}

bool Conversation::take_back_answer() {
  if (!ends_with("assistant")) return false;
  messages_.pop_back();
  return true;
}

void Conversation::clear() {
  const std::string told = system();
  messages_.clear();
  set_system(told);
}

Result<ChatParts> Conversation::parts(std::optional<bool> thinks) const {
  const json::object body{{"messages", messages_}};
  FieldProblem problem;
  AskFields fields(body, "", problem);
  const ChatTerms terms{kNoLimit, {kNoLimit, kNoLimit}};
  ChatParts parts = read_chat_parts(fields, terms);
  if (!problem.none()) return Error{problem.first()->message};
  if (thinks) parts.set_thinking(*thinks);
  return parts;
}

std::string written(const SavedConversation& saved) {
  std::string text = "{\n";
  if (saved.seed) text += fmt::format("  \"seed\": {},\n", *saved.seed);
  text += "  \"messages\": [";
  const char* between = "\n    ";
  for (const json::value& message : saved.conversation.messages()) {
    text += between + json::serialize(message);
    between = ",\n    ";
  }
  return text + "\n  ]\n}\n";
}

Result<SavedConversation> read_conversation(std::string_view text) {
  FieldProblem problem;
  const auto body = parse_json(text, "the conversation", problem);
  if (!body) return Error{problem.first()->message};
  if (!body->is_object()) return Error{"expected a JSON object with messages, found another value"};
  SavedConversation saved;
  const json::value* messages = body->get_object().if_contains("messages");
  if (messages == nullptr || !messages->is_array()) return Error{"expected a list of messages, found none"};
  saved.conversation.messages_ = messages->get_array();
  // A conversation that was saved before anybody said something.
  if (!saved.conversation.messages_.empty()) {
    TRY(saved.conversation.parts(std::nullopt));
  }
  if (const json::value* seed = body->get_object().if_contains("seed"); seed != nullptr && !seed->is_null()) {
    boost::system::error_code wrong;
    const auto number = seed->to_number<uint64_t>(wrong);
    if (wrong) return Error{"seed: expected a whole number from 0 on, found " + json::serialize(*seed)};
    saved.seed = number;
  }
  return saved;
}

SpokenMessage spoken(const json::value& message) {
  SpokenMessage made{std::string(role_of(message)), "", 0};
  const json::value* content = message.is_object() ? message.get_object().if_contains("content") : nullptr;
  if (content == nullptr) return made;
  if (content->is_string()) made.text = content->get_string();
  if (!content->is_array()) return made;
  for (const json::value& part : content->get_array()) {
    const json::value* text = part.is_object() ? part.get_object().if_contains("text") : nullptr;
    if (text != nullptr && text->is_string()) {
      made.text += text->get_string();
    } else {
      ++made.media;
    }
  }
  return made;
}

}  // namespace paceline
