#include "server/wire.h"

#include <fmt/format.h>

#include <random>

#include "server/completion_format.h"
#include "server/http_call.h"

namespace paceline {
namespace {

class ChatWire final : public Wire {
 public:
  void read(const boost::json::object& body, const RequestLimits& limits, FieldProblem& problem) override {
    ask_ = read_chat(body, limits, problem);
  }
  [[nodiscard]] ChatAsk* chat() override { return &ask_; }
  [[nodiscard]] std::string answer_id(const std::string& letters) const override { return "chatcmpl-" + letters; }
  [[nodiscard]] std::unique_ptr<AnswerFormat> format(const AnswerOrigin& origin) override {
    return make_completion_format({true, answer_id(origin.letters()), origin.created, origin.model},
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
  [[nodiscard]] std::string answer_id(const std::string& letters) const override { return "cmpl-" + letters; }
  [[nodiscard]] std::unique_ptr<AnswerFormat> format(const AnswerOrigin& origin) override {
    return make_completion_format({false, answer_id(origin.letters()), origin.created, origin.model},
                                  {ask_.include_usage, ask_.wishes.top_logprobs.has_value(), ask_.report, ask_.traces},
                                  *origin.tokenizer);
  }

 private:
  CompletionAsk ask_;
};

class PlainEarlyStream final : public EarlyStream {
 public:
  PlainEarlyStream(std::string_view sign, std::string_view name) : sign_(sign), name_(name) {}
  std::string sign() override { return sign_; }
  std::string end(const HttpAnswer& instead) override { return fmt::format("{}data: {}\n\n", name_, instead.body); }

 private:
  std::string sign_, name_;
};

}  // namespace

std::string AnswerOrigin::letters() const { return said.letters.empty() ? new_letters() : said.letters; }

std::unique_ptr<EarlyStream> Wire::early_stream(const std::string&, std::shared_ptr<SaidEarly>) const {
  return plain_early_stream(kSseComment, "");
}

std::unique_ptr<EarlyStream> plain_early_stream(std::string_view sign, std::string_view name) {
  return std::make_unique<PlainEarlyStream>(sign, name);
}

std::string new_letters() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}", device(), device(), device());
}

std::unique_ptr<Wire> make_chat_wire() { return std::make_unique<ChatWire>(); }
std::unique_ptr<Wire> make_completion_wire() { return std::make_unique<CompletionWire>(); }

}  // namespace paceline
