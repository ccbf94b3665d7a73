#include "session/checkpoint_chat.h"

#include <boost/json/parse.hpp>

#include "session/chat_request.h"
#include "tokenizer/tokenizers_for_tests.h"

namespace paceline {
namespace {

namespace json = boost::json;

TEST(CheckpointChat, TheFileGoesBeforeTheField) {
  const std::string config = R"({"chat_template": "field"})";
  EXPECT_EQ((*find_chat_templates("file", config))->main, "file");
  EXPECT_EQ((*find_chat_templates(std::nullopt, config))->main, "field");
  EXPECT_FALSE(find_chat_templates(std::nullopt, "{}")->has_value());
  EXPECT_FALSE(find_chat_templates(std::nullopt, std::nullopt)->has_value());
  EXPECT_FALSE(find_chat_templates(std::nullopt, R"({"chat_template": 5})").ok());
  EXPECT_FALSE(find_chat_templates(std::nullopt, R"({"chat_template": [{"name": "x", "template": ""}]})").ok());
}

TEST(CheckpointChat, NamedTemplatesAreChosenByTools) {
  const auto found =
      find_chat_templates(std::nullopt, R"({"chat_template": [{"name": "default", "template": "plain {{ bos_token }}"},
                                          {"name": "tool_use", "template": "tools {{ tools|length }}"}]})");
  ASSERT_TRUE(found.ok() && found->has_value());
  const auto texts =
      read_token_texts(R"({"bos_token": {"content": "<s>"}, "eos_token": "</s>", "add_bos_token": true})");
  ASSERT_TRUE(texts.ok());
  EXPECT_EQ(texts->size(), 2u);
  const auto chat = make_checkpoint_chat(**found, *texts);
  ASSERT_TRUE(chat.ok()) << chat.error().message;
  ChatRequest request;
  EXPECT_EQ(*(*chat)->render_request(request), "plain <s>");
  request.tools = json::parse(R"([{"type": "function"}])");
  EXPECT_EQ(*(*chat)->render_request(request), "tools 1");
}

TEST(CheckpointChat, RendersMessagesOfText) {
  const auto chat =
      make_checkpoint_chat({"{% for m in messages %}{{ m.role }}:{{ m.content|trim }}/{{ m.reasoning }};{% endfor %}"
                            "{{ enable_thinking is defined }}{{ add_generation_prompt }}{{ tools }}",
                            std::nullopt},
                           {});
  ASSERT_TRUE(chat.ok());
  const std::vector<ChatMessage> messages = {{"user", " a ", ""}, {"assistant", "b c ", "r"}};
  EXPECT_EQ(*(*chat)->render(messages, {}), "user:a/;assistant:b c/r;FalseTrueNone");
  EXPECT_EQ(*(*chat)->render(messages, {.add_generation_prompt = false, .continue_final_message = true}),
            "user:a/;assistant:b c");
  EXPECT_FALSE((*chat)->render(messages, {.continue_final_message = true}).ok());
}

TEST(CheckpointChat, AnErrorNamesTheLine) {
  const auto broken = make_checkpoint_chat({"\n{% if %}", std::nullopt}, {});
  ASSERT_FALSE(broken.ok());
  EXPECT_TRUE(broken.error().message.starts_with("chat template, line 2: ")) << broken.error().message;
  const auto raising = make_checkpoint_chat({"\n\n{{ raise_exception('no') }}", std::nullopt}, {});
  EXPECT_EQ((*raising)->render({}, {}).error().message, "chat template, line 3: no");
}

TEST(CheckpointChat, TemplatesOfTextAloneAreGivenText) {
  const auto chat = make_checkpoint_chat({"{{ messages[0].content + '!' }}", {}}, {}).value();
  ChatRequest request;
  request.messages.push_back(
      {{"role", "user"}, {"content", {{{"type", "text"}, {"text", "a"}}, {{"type", "text"}, {"text", "b"}}}}});
  EXPECT_EQ(chat->render_request(request).value(), "a\nb!");
  request.messages[0].get_object()["content"].get_array().push_back(json::object{{"type", "image"}});
  EXPECT_FALSE(chat->render_request(request).ok());
}

}  // namespace
}  // namespace paceline
