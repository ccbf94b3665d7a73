#include "server/completion_format.h"

#include <boost/json/serialize.hpp>
#include <utility>

namespace paceline {
namespace {

// An error ended it: the error says why, and not the choice.
bool is_broken(OutputEnd end) {
  return end == OutputEnd::cancelled || end == OutputEnd::deadline || end == OutputEnd::failed;
}

class CompletionFormat final : public AnswerFormat {
 public:
  CompletionFormat(AnswerHead head, const CompletionFormatTerms& terms, const Tokenizer& tokenizer)
      : writer_(std::move(head), tokenizer, terms.has_logprobs), terms_(terms) {}

  [[nodiscard]] const std::string& id() const override { return writer_.head().id; }

  void open(const Usage&, std::string&) override {}

  void tell(int32_t number, const ChoiceNews& news, const Usage& usage, std::string& out) override {
    if (told_.size() <= static_cast<size_t>(number)) told_.resize(static_cast<size_t>(number) + 1);
    Told& told = told_[static_cast<size_t>(number)];
    if (writer_.head().chat && !std::exchange(told.opened, true)) add_chunk(writer_.opening(number), out);
    told.rounds.add(news.rounds);
    for (const OutputDelta& delta : news.deltas) tell_delta(number, delta, told, out);
    if (news.end == OutputEnd::none || std::exchange(told.closed, true) || is_broken(news.end)) return;
    boost::json::object chunk = writer_.closing(number, output_end_name(news.end));
    chunk["timings"] = timings_object(usage);
    if (reports()) chunk["metrics"] = metrics_object(usage, terms_.report == SpeculationReport::detailed);
    add_traced(std::move(chunk), {}, told, out);
  }

  void close(const Usage& usage, const std::optional<ApiError>& problem, std::string& out) override {
    // Counts come before an error, asked for or not.
    if (terms_.include_usage || problem) add_event(writer_.usage_chunk(usage), out);
    if (problem) add_event(error_object(*problem), out);
    out += kSseDone;
  }

  void show_life(std::string& out) override { out += kSseComment; }

  std::string whole(const std::vector<ChoiceNews>& choices, const Usage& usage) override {
    std::vector<ChoiceText> texts;
    for (const ChoiceNews& choice : choices) {
      ChoiceText& text = texts.emplace_back();
      text.finish_reason = output_end_name(choice.end);
      for (const OutputDelta& delta : choice.deltas) add_to(text, delta);
    }
    boost::json::object made = writer_.whole(texts, usage);
    if (reports()) made["metrics"] = metrics_object(usage, terms_.report == SpeculationReport::detailed);
    return boost::json::serialize(made);
  }

  std::string failed(const ApiError& error, const Usage& usage) override {
    boost::json::object object = error_object(error);
    object["usage"] = usage_object(usage);
    return boost::json::serialize(object);
  }

 private:
  // How far the client has been told of a choice.
  struct Told {
    bool opened = false, closed = false;
    int32_t calls = 0;
    size_t content_bytes = 0;
    TracedRounds rounds;  // that no chunk has spoken of yet
  };

  [[nodiscard]] bool reports() const { return terms_.report != SpeculationReport::none; }

  void add_chunk(boost::json::object chunk, std::string& out) const {
    if (terms_.include_usage && !chunk.contains("usage")) chunk["usage"] = nullptr;
    add_event(chunk, out);
  }

  void add_traced(boost::json::object chunk, const OutputDelta& delta, Told& told, std::string& out) const {
    if (terms_.traces) chunk["speculation"] = writer_.speculation(told.rounds, delta);
    const int64_t last = told.rounds.last;
    told.rounds = {};
    told.rounds.last = last;
    add_chunk(std::move(chunk), out);
  }

  void tell_delta(int32_t number, const OutputDelta& delta, Told& told, std::string& out) const {
    switch (delta.kind) {
      case OutputDelta::Kind::content:
      case OutputDelta::Kind::reasoning:
        add_traced(writer_.text_chunk(number, delta, told.content_bytes), delta, told, out);
        break;
      case OutputDelta::Kind::call:
        add_traced(writer_.call_chunk(number, told.calls++, delta.text), {}, told, out);
        break;
      case OutputDelta::Kind::arguments:
        add_traced(writer_.arguments_chunk(number, told.calls - 1, delta.text), {}, told, out);
        break;
      case OutputDelta::Kind::call_end: break;
    }
    if (delta.kind == OutputDelta::Kind::content) told.content_bytes += delta.text.size();
  }

  static void add_to(ChoiceText& text, const OutputDelta& delta) {
    switch (delta.kind) {
      case OutputDelta::Kind::content: text.content += delta.text; break;
      case OutputDelta::Kind::reasoning: text.reasoning += delta.text; break;
      case OutputDelta::Kind::call: text.calls.push_back({delta.text, ""}); break;
      case OutputDelta::Kind::arguments: text.calls.back().arguments += delta.text; break;
      case OutputDelta::Kind::call_end: break;
    }
    text.tokens.insert(text.tokens.end(), delta.tokens.begin(), delta.tokens.end());
  }

  AnswerWriter writer_;
  CompletionFormatTerms terms_;
  std::vector<Told> told_;
};

}  // namespace

std::unique_ptr<AnswerFormat> make_completion_format(AnswerHead head, const CompletionFormatTerms& terms,
                                                     const Tokenizer& tokenizer) {
  return std::make_unique<CompletionFormat>(std::move(head), terms, tokenizer);
}

}  // namespace paceline
