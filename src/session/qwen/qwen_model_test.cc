// A small model of the family, from its folder to answers: text, thoughts, calls that were demanded.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "session/choice_output.h"
#include "session/completion_maker.h"
#include "session/opened_model.h"
#include "session/qwen/qwen_for_tests.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::HasSubstr;

// The turns alone, as Qwen writes them, and the two ways in which its templates speak of thinking.
constexpr const char* kTurns =
    "{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}";
constexpr const char* kThinks = "{{- '<think>\\n\\n</think>\\n\\n' if enable_thinking is false else '<think>\\n' }}";

// A golden's weights beside a tokenizer and a template.
class QwenModel : public testing::TestWithParam<const char*> {
 protected:
  QwenModel() : folder_(fs::temp_directory_path() / ("paceline_qwen_" + std::to_string(getpid()))) {
    const fs::path golden = fs::path(PACELINE_SOURCE_DIR) / "tests/goldens" / GetParam() / "target";
    fs::create_directories(folder_);
    for (const char* name : {"config.json", "generation_config.json", "model.safetensors"}) {
      fs::copy_file(golden / name, folder_ / name, fs::copy_options::overwrite_existing);
    }
    write("tokenizer.json", small_qwen_text().text().json());
    write("tokenizer_config.json", R"({"eos_token": "<|endoftext|>", "bos_token": null})");
  }
  ~QwenModel() override { fs::remove_all(folder_); }

  void write(const char* name, const std::string& text) const { std::ofstream(folder_ / name) << text; }

  void open(const std::string& chat_template) {
    write("chat_template.jinja", chat_template);
    OpenOptions options;
    options.run.model = folder_.string();
    options.run.threads = 1;
    options.draft.draft = "none";
    options.one_request = true;
    auto opened = OpenedModel::open(options);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    model_ = std::move(*opened);
    maker_ = std::make_unique<CompletionMaker>(model_->text());
  }

  struct Answer {
    std::string content, thoughts, calls;
    OutputEnd end = OutputEnd::none;
  };

  // Hears the tokens of one request.
  class Ear : public Listener {
   public:
    explicit Ear(ChoiceOutput output) : output_(std::move(output)) {}
    Heard hear(const Event& event) override {
      Heard heard;
      while (heard.stand < event.tokens.size() && !heard.ends) {
        tokens_.push_back(event.tokens[heard.stand].id);
        heard.ends = !output_.push(event.tokens[heard.stand++], usage_);
      }
      if (event.end != nullptr) output_.finish(*event.end, usage_);
      return heard;
    }
    ChoiceOutput output_;
    Usage usage_;
    std::vector<TokenId> tokens_;
  };

  Answer ask(json::object body, int32_t most, uint64_t seed = 1) {
    body["messages"] = json::array{{{"role", "user"}, {"content", "the"}}};
    FieldProblem problem;
    AskFields fields(body, "", problem);
    const ChatParts parts = read_chat_parts(fields, {.messages = 8});
    const auto said = [&] { return problem.none() ? "" : problem.first()->message; };
    EXPECT_TRUE(problem.none()) << said();
    const auto text = render_conversation(model_->text(), parts.chat);
    EXPECT_TRUE(text.ok()) << text.error().message;
    const CompletionTerms terms{};
    auto prompt = maker_->encode(*text, false, {}, terms, problem);
    OutputAsk output;
    output.max_tokens = most;
    output.wishes.seed = seed;
    auto made = maker_->make(std::move(*prompt), output, parts, terms, problem);
    EXPECT_TRUE(made) << said();
    const auto ear =
        std::make_shared<Ear>(ChoiceOutput(model_->text().tokenizer, *model_->text().dialect, made->output));
    EXPECT_EQ(model_->engine().submit(made->request, ear).refusal, Refusal::none);
    while (ear->output_.end() == OutputEnd::none && model_->engine().step()) {
    }
    for (const TokenId id : ear->tokens_)
      EXPECT_TRUE(model_->text().tokenizer.piece(id)) << id << " stands for nothing";
    Answer answer{.content = {}, .thoughts = {}, .calls = {}, .end = ear->output_.end()};
    for (const OutputDelta& delta : ear->output_.unheard()) {
      if (delta.kind == OutputDelta::Kind::content) answer.content += delta.text;
      if (delta.kind == OutputDelta::Kind::reasoning) answer.thoughts += delta.text;
      if (delta.kind == OutputDelta::Kind::call || delta.kind == OutputDelta::Kind::arguments)
        answer.calls += delta.text;
    }
    return answer;
  }

  static json::object with_tool() {
    return {{"tool_choice", "required"},
            {"tools",
             {{{"type", "function"},
               {"function",
                {{"name", "f"}, {"parameters", json::parse(R"({"type": "object", "properties": {"n": {"type": "integer",
                    "minimum": 1, "maximum": 9}, "on": {"type": "boolean"}}, "required": ["n", "on"]})")}}}}}}};
  }

  fs::path folder_;
  std::unique_ptr<OpenedModel> model_;
  std::unique_ptr<CompletionMaker> maker_;
};

TEST_P(QwenModel, KnowsWhereTextsEndAndWhatIsNoToken) {
  open(kTurns);
  const TextModel& text = model_->text();
  EXPECT_THAT(text.stop_ids, testing::IsSupersetOf({300, 302})) << "<|endoftext|> and <|im_end|>";
  EXPECT_THAT(*text.never_sampled, testing::IsSupersetOf({299, 307, 383}));
  EXPECT_THAT(*text.never_sampled, testing::Not(testing::Contains(304)));
}

TEST_P(QwenModel, WritesOnlyTokensThatStandForSomething) {
  open(kTurns);
  for (uint64_t seed = 1; seed < 4; ++seed) {
    const Answer answer = ask({}, 40, seed);
    EXPECT_FALSE(answer.content.empty() && answer.thoughts.empty() && answer.end == OutputEnd::length);
  }
}

TEST_P(QwenModel, APromptThatBeginsAThoughtIsAnsweredWithinIt) {
  open(std::string(kTurns) + kThinks);
  const Answer begun = ask({}, 12);
  EXPECT_FALSE(begun.thoughts.empty());
  const Answer off = ask({{"chat_template_kwargs", {{"enable_thinking", false}}}}, 12);
  EXPECT_EQ(off.thoughts, "");
  EXPECT_FALSE(off.content.empty());
}

TEST_P(QwenModel, CallsWhatItMustInBothForms) {
  for (const bool tagged : {false, true}) {
    open(std::string(kTurns) + (tagged ? "{#- <function= #}" : ""));
    json::object body = with_tool();
    body["chat_template_kwargs"] = {{"enable_thinking", false}};
    const Answer answer = ask(std::move(body), 400);
    EXPECT_EQ(answer.end, OutputEnd::tool_calls);
    EXPECT_EQ(answer.content, "");
    EXPECT_THAT(answer.calls, testing::StartsWith("f{"));
    EXPECT_THAT(answer.calls, HasSubstr("\"n\":"));
    EXPECT_THAT(answer.calls, HasSubstr("\"on\":"));
  }
}

INSTANTIATE_TEST_SUITE_P(All, QwenModel, testing::Values("qwen3", "qwen35"),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace paceline
