#include "server/wire.h"

#include <fmt/format.h>

#include <random>

#include "server/completion_format.h"

namespace paceline {
namespace {

class ChatWire final : public Wire {
 public:
  void read(const boost::json::object& body, const RequestLimits& limits, FieldProblem& problem) override {
    ask_ = read_chat(body, limits, problem);
  }
  [[nodiscard]] ChatAsk* chat() override { return &ask_; }
  [[nodiscard]] std::unique_ptr<AnswerFormat> format(const AnswerOrigin& origin) override {
    return make_completion_format({true, "chatcmpl-" + new_letters(), origin.created, origin.model},
                                  {ask_.include_usage, ask_.wishes.top_logprobs.has_value(), ask_.report, ask_.traces},
                                  *origin.tokenizer);
  }

 private:
  ChatAsk ask_;
};

class CompletionWire final : public Wire {
 public:
  void read(const boost::json::object& body, const RequestLimits& limits, FieldProblem& problem) override {
    ask_ = read_completion(body, limits, problem);
  }
  [[nodiscard]] CompletionAsk* text() override { return &ask_; }
  [[nodiscard]] const char* prompt_field() const override { return "prompt"; }
  [[nodiscard]] std::unique_ptr<AnswerFormat> format(const AnswerOrigin& origin) override {
    return make_completion_format({false, "cmpl-" + new_letters(), origin.created, origin.model},
                                  {ask_.include_usage, ask_.wishes.top_logprobs.has_value(), ask_.report, ask_.traces},
                                  *origin.tokenizer);
  }

 private:
  CompletionAsk ask_;
};

}  // namespace

std::string new_letters() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}", device(), device(), device());
}

std::unique_ptr<Wire> make_chat_wire() { return std::make_unique<ChatWire>(); }
std::unique_ptr<Wire> make_completion_wire() { return std::make_unique<CompletionWire>(); }

}  // namespace paceline
