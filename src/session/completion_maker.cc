#include "session/completion_maker.h"

#include <fmt/format.h>

#include <algorithm>

#include "session/thought_budget.h"

namespace paceline {
namespace {

FieldError too_long(const char* field, std::string message, size_t tokens, size_t most) {
  FieldError error = bad_field(field, std::move(message));
  error.code = "context_length_exceeded";
  error.tokens = tokens;
  error.most_tokens = most;
  return error;
}

std::optional<MediaPrompt> checked(Result<MediaPrompt> prompt, const char* field, FieldProblem& problem) {
  if (prompt.ok()) return std::move(*prompt);
  problem.say(bad_field(field, prompt.error()));
  return std::nullopt;
}

// For each choice: its parser and decoder before they have read anything, with room to spare.
constexpr size_t kChoiceBytes = size_t{4} << 10;

// What whoever reads the output holds for a request that waits.
size_t listener_bytes(const OutputSettings& output, int32_t choices) {
  size_t bytes = static_cast<size_t>(choices) * kChoiceBytes;
  if (output.stops != nullptr) bytes += output.stops->bytes();
  if (output.tools != nullptr) bytes += bytes_of(*output.tools);
  return bytes;
}

}  // namespace

CompletionMaker::CompletionMaker(const TextModel& model) : model_(model), forms_(model) {
  for (TokenId id = 0; id < model.tokenizer.id_end(); ++id) {
    longest_piece_ = std::max(longest_piece_, model.tokenizer.piece(id).value_or("").size());
  }
}

int32_t CompletionMaker::context(int32_t limit) const {
  const int32_t most = model_.loaded.config.context;
  return limit > 0 ? std::min(limit, most) : most;
}

// Also without media: a place for some that the asker wrote would stand for nothing.
std::optional<MediaPrompt> CompletionMaker::encode(std::string_view text, bool with_bos, std::span<const Medium> media,
                                                   const CompletionTerms& terms, FieldProblem& problem) const {
  const auto most = static_cast<size_t>(context(terms.context));
  const size_t fewest = fewest_tokens(text.size());
  if (fewest >= most) {
    problem.say(
        too_long(terms.field,
                 fmt::format("the prompt has {} tokens at least; the context of {} must hold it and at least one more",
                             fewest, most),
                 fewest, most));
    return std::nullopt;
  }
  return checked(encode_with_media(model_, text, with_bos, media), terms.field, problem);
}

std::optional<MediaPrompt> CompletionMaker::take_ids(const std::vector<TokenId>& ids, std::span<const Medium> media,
                                                     const CompletionTerms& terms, FieldProblem& problem) const {
  return checked(place_media(model_.loaded.config.ids, ids, media), terms.field, problem);
}

std::optional<MadeCompletion> CompletionMaker::make(MediaPrompt prompt, const OutputAsk& ask,
                                                    const CompletionTerms& terms, FieldProblem& problem) {
  return make(std::move(prompt), ask, std::nullopt, terms, problem);
}

std::optional<MadeCompletion> CompletionMaker::make(MediaPrompt prompt, const OutputAsk& ask, const ChatParts& chat,
                                                    const CompletionTerms& terms, FieldProblem& problem) {
  const bool begins_in_thought = ends_in_thought(model_.tokenizer, model_.dialect->marks(), prompt.tokens);
  std::optional<OutputForm> form = chat.form;
  if (form) {
    const bool may_think = chat.thinks.value_or(model_.dialect->thinks_unasked());
    form->thinking = begins_in_thought ? Thinking::begun : may_think ? Thinking::may : Thinking::none;
    // Who writes as it likes also thinks as it likes.
    if (form->kind == OutputForm::Kind::text && !begins_in_thought) form->thinking = Thinking::may;
  }
  auto made = make(std::move(prompt), ask, form, terms, problem);
  if (!made) return std::nullopt;
  made->output.reads_thoughts = true;
  made->output.reads_calls = chat.reads_calls;
  made->output.tools = std::make_shared<const CallableTools>(chat.tools);
  // What follows a form cannot turn out to be no call.
  made->output.streams_calls = made->request.sampling.constraint != nullptr;
  const OutputMarks& marks = model_.dialect->marks();
  if (chat.thought_tokens > 0 && marks.thought_begin >= 0 && marks.thought_end >= 0) {
    auto& constraint = made->request.sampling.constraint;
    constraint = limit_thoughts({marks, begins_in_thought, chat.thought_tokens, model_.tokenizer.id_end()}, constraint);
  }
  made->request.listener_bytes = listener_bytes(made->output, made->request.choices);
  made->output.begins_in_thought = begins_in_thought;
  return made;
}

std::optional<MadeCompletion> CompletionMaker::make(MediaPrompt prompt, const OutputAsk& ask,
                                                    const std::optional<OutputForm>& form, const CompletionTerms& terms,
                                                    FieldProblem& problem) {
  const int32_t most = context(terms.context);
  if (const Status fits = check_prompt(model_, prompt.tokens, most); !fits.ok()) {
    const bool is_long = prompt.tokens.size() >= static_cast<size_t>(most);
    problem.say(is_long ? too_long(terms.field, fits.error().message, prompt.tokens.size(), static_cast<size_t>(most))
                        : bad_field(terms.field, fits.error().message));
    return std::nullopt;
  }
  Wishes wishes = ask.wishes;
  wishes.context = most;
  // What does not fit behind the prompt need not be reserved.
  const auto room = most - static_cast<int32_t>(prompt.tokens.size());
  const int32_t asked = ask.max_tokens.value_or(terms.default_max_tokens);
  wishes.max_tokens = std::min(asked, room);
  if (form && !add_form(*form, terms, wishes, problem)) return std::nullopt;
  auto request = make_request(model_, std::move(prompt.tokens), wishes);
  if (!request.ok()) {
    // "top_p must be …": the field is its first word.
    const std::string& message = request.error().message;
    problem.say(bad_field(message.substr(0, message.find(' ')), message));
    return std::nullopt;
  }
  request->pictures = std::move(prompt.pictures);
  OutputSettings output;
  output.keeps_tokens = wishes.top_logprobs.has_value();
  output.fills_context = asked > room;
  output.keeps_rounds = ask.keeps_rounds;
  output.traces = ask.traces;
  if (!ask.stop_strings.empty()) output.stops = std::make_shared<const StopAutomaton>(ask.stop_strings);
  request->listener_bytes = listener_bytes(output, request->choices);
  return MadeCompletion{std::move(*request), std::move(output)};
}

Result<std::shared_ptr<const TokenConstraint>> CompletionMaker::find_calls(OutputForm form) {
  auto made = forms_.find(form);
  if (made.ok()) return made;
  for (grammar::ToolSchema& tool : form.tools) {
    OutputForm alone = form;
    alone.tools = {tool};
    auto fits = forms_.find(alone);
    if (!fits.ok() && tool.strict) return fits;
    if (!fits.ok()) tool.parameters = boost::json::object();
  }
  made = forms_.find(form);
  const bool must = std::any_of(form.tools.begin(), form.tools.end(), [](const auto& tool) { return tool.strict; });
  if (!made.ok() && !must) return std::shared_ptr<const TokenConstraint>();
  return made;
}

bool CompletionMaker::add_form(const OutputForm& form, const CompletionTerms& terms, Wishes& wishes,
                               FieldProblem& problem) {
  const bool is_text = form.kind == OutputForm::Kind::text;
  if (wishes.ignore_eos) {
    // A text that goes on behind its end has no form.
    if (is_text) return true;
    problem.say(bad_field("ignore_eos", "ignore_eos makes no sense with an output of a given form, which has an end"));
    return false;
  }
  auto constraint = is_text ? find_calls(form) : forms_.find(form);
  if (constraint.ok()) {
    wishes.sampling.constraint = std::move(*constraint);
    return true;
  }
  const char* field = is_text || form.kind == OutputForm::Kind::tool_calls ? terms.tools_field : terms.form_field;
  problem.say(unsupported(field, fmt::format("{}: {}", field, constraint.error().message)));
  return false;
}

}  // namespace paceline
