#include "session/chat.h"

#include <boost/json/parse.hpp>

#include "session/gemma/gemma_chat.h"
#include "tokenizer/tokenizers_for_tests.h"

namespace paceline {
namespace {

namespace json = boost::json;

std::string rendered(GemmaSize size, const std::vector<ChatMessage>& messages, const ChatOptions& options = {}) {
  const auto text = GemmaChatTemplate(size, "<bos>").render(messages, options);
  return text.ok() ? *text : "error: " + text.error().message;
}

TEST(Chat, RendersTurns) {
  const std::vector<ChatMessage> messages = {
      {"system", " Be brief. ", ""}, {"user", "Hi\n", ""}, {"assistant", "Hello!", ""}, {"user", "Again", ""}};
  const std::string turns =
      "<bos><|turn>system\nBe "
      "brief.<turn|>\n<|turn>user\nHi<turn|>\n<|turn>model\nHello!<turn|>\n<|turn>user\nAgain<turn|>\n";
  EXPECT_EQ(rendered(GemmaSize::small, messages), turns + "<|turn>model\n");
  EXPECT_EQ(rendered(GemmaSize::large, messages), turns + "<|turn>model\n<|channel>thought\n<channel|>");
  EXPECT_EQ(rendered(GemmaSize::large, messages, {.add_generation_prompt = false}), turns);
}

TEST(Chat, TurnsThinkingOn) {
  EXPECT_EQ(rendered(GemmaSize::large, {{"user", "x", ""}}, {.enable_thinking = true}),
            "<bos><|turn>system\n<|think|>\n<turn|>\n<|turn>user\nx<turn|>\n<|turn>model\n");
  EXPECT_EQ(rendered(GemmaSize::small, {{"developer", "D", ""}, {"user", "x", ""}}, {.enable_thinking = true}),
            "<bos><|turn>system\n<|think|>\nD<turn|>\n<|turn>user\nx<turn|>\n<|turn>model\n");
}

TEST(Chat, ShowsThoughtsOnlyBehindTheLastQuestion) {
  const ChatOptions options = {.add_generation_prompt = false};
  EXPECT_EQ(
      rendered(GemmaSize::small,
               {{"user", "a", ""}, {"assistant", "b", "old"}, {"user", "c", ""}, {"assistant", "d", "new"}}, options),
      "<bos><|turn>user\na<turn|>\n<|turn>model\nb<turn|>\n<|turn>user\nc<turn|>\n"
      "<|turn>model\n<|channel>thought\nnew\n<channel|>d<turn|>\n");
  EXPECT_EQ(
      rendered(GemmaSize::small, {{"assistant", " x <|channel>thought\nq<channel|> y <|channel>open", ""}}, options),
      "<bos><|turn>model\nx  y<turn|>\n");
  EXPECT_EQ(rendered(GemmaSize::small, {{"assistant", "one", ""}, {"assistant", "two", ""}}, options),
            "<bos><|turn>model\nonetwo<turn|>\n");
}

TEST(Chat, RefusesWhatItCannotRender) {
  EXPECT_TRUE(rendered(GemmaSize::small, {{"tool", "42", ""}}).starts_with("error: message 0"));
  EXPECT_TRUE(rendered(GemmaSize::small, {{"user", "\xFF", ""}}).starts_with("error: message 0"));
  EXPECT_TRUE(rendered(GemmaSize::small, {{"user", "x", ""}}, {.continue_final_message = true}).starts_with("error: "));
  EXPECT_FALSE(make_chat_template("{{ messages }}").ok());
}

// A conversation of renderings.json, where it is text alone.
std::optional<std::vector<ChatMessage>> read_messages(const json::array& list) {
  std::vector<ChatMessage> messages;
  for (const json::value& entry : list) {
    const json::object& message = entry.as_object();
    if (message.contains("tool_calls") || message.at("role").as_string() == "tool" ||
        !message.at("content").is_string())
      return std::nullopt;
    messages.push_back(
        {std::string(message.at("role").as_string()), std::string(message.at("content").as_string()), ""});
    if (const json::value* reasoning = message.if_contains("reasoning"))
      messages.back().reasoning = std::string(reasoning->as_string());
  }
  return messages;
}

std::optional<ChatOptions> read_options(const json::object& fields) {
  ChatOptions options;
  for (const auto& field : fields) {
    if (field.key() == "add_generation_prompt") {
      options.add_generation_prompt = field.value().as_bool();
    } else if (field.key() == "enable_thinking") {
      options.enable_thinking = field.value().as_bool();
    } else if (field.key() == "continue_final_message") {
      options.continue_final_message = field.value().as_bool();
    } else {
      return std::nullopt;
    }
  }
  return options;
}

TEST(Chat, EqualsTheTemplatesOfTheCheckpoints) {
  const std::string shared = shared_folder();
  SKIP_WITHOUT_SHARED(shared);
  const json::value table = json::parse(read_or_fail(shared + "/templates/renderings.json"));
  size_t compared = 0;
  for (const std::string name : {"gemma-4-small-it.jinja", "gemma-4-large-it.jinja"}) {
    const auto chat = make_chat_template(read_or_fail(shared + "/templates/" + name));
    ASSERT_TRUE(chat.ok()) << chat.error().message;
    for (const auto& conversation : table.at("conversations").as_object()) {
      const auto messages = read_messages(conversation.value().at("messages").as_array());
      const auto options = read_options(conversation.value().at("options").as_object());
      const json::value& expected = table.at("renderings").at(name).at(conversation.key());
      if (!messages || !options || !expected.as_object().contains("text")) continue;
      const auto text = (*chat)->render(*messages, *options);
      ASSERT_TRUE(text.ok()) << text.error().message;
      EXPECT_EQ(*text, std::string(expected.at("text").as_string())) << name << ", " << std::string(conversation.key());
      ++compared;
    }
  }
  EXPECT_EQ(compared, 20u) << "ten conversations of text, two templates";
}

TEST(Chat, TellsTheTwoTemplatesFromAllOthers) {
  const std::string shared = shared_folder();
  SKIP_WITHOUT_SHARED(shared);
  size_t known = 0, others = 0;
  for (const auto& file : std::filesystem::directory_iterator(shared + "/templates")) {
    if (file.path().extension() != ".jinja") continue;
    const auto size = gemma_size_of_template(read_or_fail(file.path().string()));
    ++(size ? known : others);
    if (!size) continue;
    EXPECT_EQ(file.path().stem(), *size == GemmaSize::large ? "gemma-4-large-it" : "gemma-4-small-it");
  }
  EXPECT_EQ(known, 2u);
  EXPECT_GT(others, 10u);
}

}  // namespace
}  // namespace paceline
