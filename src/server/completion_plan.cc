#include "server/completion_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <random>

#include "server/wire_chat.h"
#include "server/wire_completions.h"
#include "session/engine_request.h"
#include "session/picture_places.h"

namespace paceline {
namespace {

std::string new_id(const char* kind) {
  std::random_device device;
  return fmt::format("{}-{:08x}{:08x}{:08x}", kind, device(), device(), device());
}

class Planner {
 public:
  Planner(const HttpCall& call, ServedModel& model, const RequestLimits& limits)
      : call_(call), model_(model), limits_(limits) {}

  std::variant<ExchangePlan, ApiError> plan(bool chat) {
    if (const auto body = parse_body(call_.body, problem_)) {
      chat ? plan_chat(*body) : plan_text(*body);
    }
    if (!problem_.none()) return *problem_.first();
    return std::move(plan_);
  }

 private:
  void plan_chat(const boost::json::object& body) {
    ChatAsk ask = read_chat(body, limits_, problem_);
    if (!begin(ask, true)) return;
    const auto pictures = read_pictures(ask.images);
    if (!problem_.none()) return;
    const auto text = render_conversation(model_.text(), ask.chat);
    if (!text.ok()) return problem_.say(bad_field("messages", text.error().message));
    // The template writes <bos> itself.
    std::vector<TokenId> prompt = encode(*text, false, "messages");
    if (!problem_.none()) return;
    OutputSettings output{.reads_thoughts = true, .reads_calls = ask.reads_calls};
    output.begins_in_thought = ends_in_thought(model_.marks(), prompt);
    add_request({std::move(prompt), pictures, "messages"}, ask, std::move(output));
  }

  std::vector<TokenId> encode(std::string_view text, bool add_special, const char* field) {
    const auto context = static_cast<size_t>(model_.context(limits_.context));
    const size_t fewest = model_.fewest_tokens(text.size());
    if (fewest < context) return model_.text().tokenizer.encode(text, add_special);
    problem_.say(too_long(
        field, fmt::format("the prompt has {} tokens at least; the context of {} must hold it and at least one more",
                           fewest, context)));
    return {};
  }

  static ApiError too_long(const char* field, std::string message) {
    ApiError error = bad_field(field, std::move(message));
    error.code = "context_length_exceeded";
    return error;
  }

  // Decoded and cut here; the engine looks at them.
  std::vector<std::shared_ptr<const Patches>> read_pictures(const std::vector<std::string>& files) {
    std::vector<std::shared_ptr<const Patches>> pictures;
    if (!files.empty() && model_.vision() == nullptr) {
      problem_.say(unsupported("messages", "this model takes no images"));
      return pictures;
    }
    for (const std::string& file : files) {
      auto patches = model_.vision()->read({reinterpret_cast<const uint8_t*>(file.data()), file.size()}, 0);
      if (!patches.ok()) {
        problem_.say(bad_field("messages", fmt::format("image {}: {}", pictures.size(), patches.error().message)));
        return pictures;
      }
      pictures.push_back(std::make_shared<const Patches>(std::move(*patches)));
    }
    return pictures;
  }

  void plan_text(const boost::json::object& body) {
    const CompletionAsk ask = read_completion(body, limits_, problem_);
    if (!begin(ask, false)) return;
    for (const CompletionPrompt& prompt : ask.prompts) {
      if (!problem_.none()) return;
      std::vector<TokenId> ids = prompt.ids;
      if (ids.empty()) ids = encode(prompt.text, true, "prompt");
      if (!problem_.none()) return;
      add_request({std::move(ids), {}, "prompt"}, ask, {});
    }
  }

  bool begin(const Ask& ask, bool chat) {
    if (problem_.none() && !model_.is_called(ask.model)) problem_.say(no_such_model(ask.model));
    if (!problem_.none()) return false;
    plan_.head = {chat, new_id(chat ? "chatcmpl" : "cmpl"), std::time(nullptr), model_.name()};
    plan_.stream = ask.stream;
    plan_.include_usage = ask.include_usage;
    plan_.has_logprobs = ask.wishes.top_logprobs.has_value();
    plan_.arrived = call_.arrived;
    plan_.cache_salt = ask.cache_salt;
    return true;
  }

  struct Prompt {
    std::vector<TokenId> ids;
    std::vector<std::shared_ptr<const Patches>> pictures;
    const char* field;  // that it came from
  };

  void add_request(Prompt prompt, const Ask& ask, OutputSettings output) {
    // Also where there are no pictures: a place that a client wrote itself would stand for nothing.
    Request placed;
    placed.prompt = std::move(prompt.ids);
    if (const Status done = place_pictures(model_.text().loaded.config.ids, prompt.pictures, &placed); !done.ok()) {
      return problem_.say(bad_field(prompt.field, done.error().message));
    }
    const int32_t context = model_.context(limits_.context);
    if (const Status fits = check_prompt(model_.text(), placed.prompt, context); !fits.ok()) {
      const bool is_long = placed.prompt.size() >= static_cast<size_t>(context);
      return problem_.say(is_long ? too_long(prompt.field, fits.error().message)
                                  : bad_field(prompt.field, fits.error().message));
    }
    Wishes wishes = ask.wishes;
    wishes.context = context;
    // What does not fit behind the prompt need not be reserved.
    const auto room = context - static_cast<int32_t>(placed.prompt.size());
    wishes.max_tokens = std::min(ask.max_tokens.value_or(limits_.default_max_tokens), room);
    if (ask.form) add_form(*ask.form, wishes);
    auto request = make_request(model_.text(), std::move(placed.prompt), wishes);
    if (!request.ok()) {
      // "top_p must be …": the field is its first word.
      const std::string& message = request.error().message;
      return problem_.say(bad_field(message.substr(0, message.find(' ')), message));
    }
    if (limits_.request_s > 0) {
      request->deadline = call_.arrived + std::chrono::duration_cast<EngineClock::duration>(
                                              std::chrono::duration<double>(limits_.request_s));
    }
    request->pictures = std::move(placed.pictures);
    output.keeps_tokens = plan_.has_logprobs;
    output.stop_strings = ask.stop_strings;
    plan_.outputs.push_back(std::move(output));
    plan_.requests.push_back(std::move(*request));
  }

  void add_form(const OutputForm& form, Wishes& wishes) {
    auto constraint = model_.forms().find(form);
    if (constraint.ok()) {
      wishes.sampling.constraint = std::move(*constraint);
      return;
    }
    const char* field = form.kind == OutputForm::Kind::tool_calls ? "tools" : "response_format";
    problem_.say(unsupported(field, fmt::format("{}: {}", field, constraint.error().message)));
  }

  const HttpCall& call_;
  ServedModel& model_;
  const RequestLimits& limits_;
  WireProblem problem_;
  ExchangePlan plan_;
};

}  // namespace

std::variant<ExchangePlan, ApiError> plan_completion(const HttpCall& call, bool chat, ServedModel& model,
                                                     const RequestLimits& limits) {
  return Planner(call, model, limits).plan(chat);
}

}  // namespace paceline
