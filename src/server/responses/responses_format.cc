#include "server/responses/responses_format.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <ctime>
#include <utility>

#include "server/http_call.h"
#include "server/responses/response_item.h"
#include "server/wire_answer.h"

namespace paceline::responses {
namespace {

namespace json = boost::json;

json::object usage_of(const Usage& usage) {
  return {{"input_tokens", usage.prompt_tokens},
          {"input_tokens_details", {{"cached_tokens", usage.cached_tokens}}},
          {"output_tokens", usage.completion_tokens},
          {"output_tokens_details", {{"reasoning_tokens", usage.reasoning_tokens}}},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"speculative", speculative_object(usage.speculation)}};
}

// By which clients decide whether to try again.
const char* code_of(const ApiError& error) { return error.status == 429 ? "rate_limit_exceeded" : "server_error"; }

// What stays as it is from an answer's beginning to its end.
struct Frame {
  std::string id, model;
  int64_t created = 0;
  const json::object* given = nullptr;
};

json::object response_of(const Frame& frame, const char* status, const json::array& output, json::value usage) {
  const bool has_ended = !usage.is_null();
  json::object made{{"id", frame.id},
                    {"object", "response"},
                    {"created_at", frame.created},
                    {"completed_at", has_ended ? json::value(std::time(nullptr)) : json::value()},
                    {"status", status},
                    {"error", nullptr},
                    {"incomplete_details", nullptr},
                    {"model", frame.model},
                    {"output", output},
                    {"usage", std::move(usage)}};
  for (const auto& field : *frame.given) made[field.key()] = field.value();
  return made;
}

void add_numbered(const char* type, int64_t number, json::object fields, std::string& out) {
  json::object event{{"type", type}, {"sequence_number", number}};
  for (auto& field : fields) event[field.key()] = std::move(field.value());
  add_event(type, event, out);
}

class ResponsesEarly final : public EarlyStream {
 public:
  ResponsesEarly(std::string model, json::object given, std::shared_ptr<SaidEarly> said)
      : model_(std::move(model)), given_(std::move(given)), said_(std::move(said)) {}

  std::string sign() override {
    std::string out;
    begin(out);
    add("response.in_progress", response("in_progress"), out);
    return out;
  }

  // Clients wait as long as they are told where the code says that it is a matter of time.
  std::string end(const HttpAnswer& instead) override {
    std::string out, message = "the model did not come", wait;
    begin(out);
    json::error_code failed;
    const json::value body = json::parse(instead.body, failed);
    if (const json::value* said = failed ? nullptr : body.find_pointer("/error/message", failed))
      message = said->is_string() ? std::string(said->get_string()) : message;
    for (const auto& [name, value] : instead.headers)
      if (name == "Retry-After") wait = value;
    if (!wait.empty()) message += fmt::format(" (try again in {}s)", wait);
    json::object made = response("failed");
    made["error"] = {{"code", wait.empty() ? "server_error" : "rate_limit_exceeded"}, {"message", message}};
    add("response.failed", std::move(made), out);
    return out;
  }

 private:
  void begin(std::string& out) {
    if (said_->events > 0) return;
    said_->created = std::time(nullptr);
    add("response.created", response("in_progress"), out);
  }
  void add(const char* type, json::object made, std::string& out) {
    add_numbered(type, said_->events++, {{"response", std::move(made)}}, out);
  }
  [[nodiscard]] json::object response(const char* status) const {
    return response_of({answer_id(said_->letters), model_, said_->created, &given_}, status, {}, nullptr);
  }

  std::string model_;
  json::object given_;
  std::shared_ptr<SaidEarly> said_;
};

class ResponsesFormat final : public AnswerFormat {
 public:
  ResponsesFormat(const AnswerOrigin& origin, FormatTerms terms)
      : terms_(std::move(terms)),
        origin_(origin),
        letters_(origin.letters()),
        id_(answer_id(letters_)),
        sequence_(origin.said.events) {
    if (sequence_ > 0) origin_.created = origin.said.created;
  }

  [[nodiscard]] const std::string& id() const override { return id_; }

  void open(const Usage&, std::string& out) override {
    out_ = &out;
    if (sequence_ > 0) return;
    emit("response.created", {{"response", response("in_progress", nullptr)}});
    emit("response.in_progress", {{"response", response("in_progress", nullptr)}});
  }

  void tell(int32_t, const ChoiceNews& news, const Usage&, std::string& out) override {
    out_ = &out;
    take(news);
  }

  void close(const Usage& usage, const std::optional<ApiError>& problem, std::string& out) override {
    out_ = &out;
    const json::object made = finish(usage, problem);
    const std::string status(made.at("status").get_string());
    const char* type = status == "completed"    ? "response.completed"
                       : status == "incomplete" ? "response.incomplete"
                                                : "response.failed";
    emit(type, {{"response", made}});
  }

  // Clients count events, and no comments; but once there is output it would empty their copy of it.
  void show_life(std::string& out) override {
    out_ = &out;
    if (item_ == nullptr && output_.empty()) {
      emit("response.in_progress", {{"response", response("in_progress", nullptr)}});
    } else {
      out += kSseComment;
    }
  }

  std::string whole(const std::vector<ChoiceNews>& choices, const Usage& usage) override {
    out_ = nullptr;
    take(choices.front());
    return json::serialize(finish(usage, std::nullopt));
  }

  [[nodiscard]] std::optional<json::object> standing(const std::optional<size_t>& owner, const char* status,
                                                     const std::optional<Usage>& usage) const override {
    if (owner != terms_.access.owner) return std::nullopt;
    return response_of(frame(), status, {}, usage ? json::value(usage_of(*usage)) : json::value());
  }

  std::string failed(const ApiError& error, const Usage&) override { return json::serialize(error_object(error)); }

 private:
  // Of a whole answer there are none.
  void emit(const char* type, json::object fields) {
    if (out_ == nullptr) return;
    add_numbered(type, sequence_++, std::move(fields), *out_);
  }
  OutputItem::Emit emitter() {
    return [this](const char* type, json::object fields) { emit(type, std::move(fields)); };
  }

  void take(const ChoiceNews& news) {
    for (const OutputDelta& delta : news.deltas) take_delta(delta);
    if (news.end != OutputEnd::none) end_ = news.end;
  }

  void take_delta(const OutputDelta& delta) {
    using Kind = OutputItem::Kind;
    switch (delta.kind) {
      case OutputDelta::Kind::content: enter(Kind::message); break;
      case OutputDelta::Kind::reasoning: enter(terms_.thinks_in_summary ? Kind::summary : Kind::reasoning); break;
      case OutputDelta::Kind::call: {
        end_item(true);
        const auto known = terms_.names.find(delta.text);
        begin(Kind::call, known != terms_.names.end() ? known->second : ToolName{"", delta.text});
        return;
      }
      case OutputDelta::Kind::arguments: break;
      case OutputDelta::Kind::call_end: return end_item(true);
    }
    const json::array logprobs = terms_.has_logprobs ? logprob_list(*origin_.tokenizer, delta.tokens) : json::array();
    item_->add(delta.text, logprobs, emitter());
  }

  void enter(OutputItem::Kind kind) {
    if (item_ != nullptr && item_->kind() == kind) return;
    end_item(true);
    begin(kind, {});
  }

  void begin(OutputItem::Kind kind, const ToolName& tool) {
    item_ = std::make_unique<OutputItem>(kind, letters_, output_.size(), tool);
    item_->begin(emitter());
  }

  void end_item(bool complete) {
    if (item_ == nullptr) return;
    output_.emplace_back(item_->finish(complete, emitter()));
    item_.reset();
  }

  // The response as it ends; kept where it is to be kept.
  json::object finish(const Usage& usage, const std::optional<ApiError>& problem) {
    const bool was_cut = end_ == OutputEnd::length || end_ == OutputEnd::context;
    end_item(!problem && !was_cut);
    const bool was_cancelled = problem && problem->code == "cancelled";
    const char* status = was_cancelled ? "cancelled" : problem ? "failed" : was_cut ? "incomplete" : "completed";
    json::object made = response(status, usage_of(usage));
    if (was_cut && !problem) made["incomplete_details"] = {{"reason", "max_output_tokens"}};
    if (problem) made["error"] = {{"code", code_of(*problem)}, {"message", problem->message}};
    if (terms_.is_stored) terms_.access.store->put(id_, {terms_.access.owner, made, std::move(terms_.items)});
    return made;
  }

  [[nodiscard]] json::object response(const char* status, json::value usage) const {
    return response_of(frame(), status, output_, std::move(usage));
  }
  [[nodiscard]] Frame frame() const { return {id_, origin_.model, origin_.created, &terms_.given}; }

  FormatTerms terms_;
  AnswerOrigin origin_;
  std::string letters_, id_;
  json::array output_;                // items that have ended
  std::unique_ptr<OutputItem> item_;  // the one that is open
  OutputEnd end_ = OutputEnd::none;
  int64_t sequence_ = 0;
  std::string* out_ = nullptr;  // during a call; none: nobody hears events
};

}  // namespace

std::string answer_id(const std::string& letters) { return "resp_" + letters; }

std::unique_ptr<EarlyStream> make_early_stream(std::string model, json::object given, std::shared_ptr<SaidEarly> said) {
  return std::make_unique<ResponsesEarly>(std::move(model), std::move(given), std::move(said));
}

std::unique_ptr<AnswerFormat> make_format(const AnswerOrigin& origin, FormatTerms terms) {
  return std::make_unique<ResponsesFormat>(origin, std::move(terms));
}

}  // namespace paceline::responses
