#include "server/wire_completions.h"

#include <fmt/format.h>

#include <limits>

namespace paceline {
namespace {

namespace json = boost::json;

bool is_ids(const json::array& array) { return !array.empty() && array.front().is_number(); }

bool read_ids(const json::array& array, CompletionPrompt& prompt) {
  prompt.ids.reserve(array.size());
  for (const json::value& value : array) {
    const auto id = whole_number(value);
    if (!id || *id < 0 || *id > std::numeric_limits<TokenId>::max()) return false;
    prompt.ids.push_back(static_cast<TokenId>(*id));
  }
  return true;
}

bool read_one(const json::value& value, CompletionPrompt& prompt) {
  if (value.is_string()) {
    prompt.text = value.get_string();
    return !prompt.text.empty();
  }
  return value.is_array() && is_ids(value.get_array()) && read_ids(value.get_array(), prompt);
}

// Fields of the protocol that would change the answer if they were set.
void refuse_others(AskFields& fields, const CompletionAsk& ask) {
  if (fields.boolean("echo").value_or(false)) fields.problem().say(unsupported("echo", "echo is not supported"));
  if (fields.any("suffix") != nullptr) fields.problem().say(unsupported("suffix", "suffix is not supported"));
  const auto best = fields.integer("best_of", 1, 1 << 20);
  if (best && *best != ask.wishes.choices) {
    fields.problem().say(unsupported("best_of", "best_of is not supported, unless it equals n"));
  }
}

}  // namespace

void read_prompts(AskFields& fields, int32_t most, int32_t choices, std::vector<CompletionPrompt>& prompts) {
  constexpr const char* kWanted = "a string or a list of token ids, or a list of those; none of them empty";
  const json::value* prompt = fields.any("prompt");
  if (prompt == nullptr) return fields.missing("prompt", kWanted);
  const bool is_list = prompt->is_array() && !is_ids(prompt->get_array());
  const json::array alone{*prompt};
  const json::array& all = is_list ? prompt->get_array() : alone;
  if (all.empty()) return fields.wrong("prompt", kWanted, *prompt);
  if (static_cast<int64_t>(all.size()) * choices > most) {
    return fields.problem().say(
        bad_field("prompt", fmt::format("prompt and n ask for {} completions; at most {} are made at once",
                                        static_cast<int64_t>(all.size()) * choices, most)));
  }
  for (const json::value& value : all) {
    if (!read_one(value, prompts.emplace_back())) return fields.wrong("prompt", kWanted, value);
  }
}

CompletionAsk read_completion(const json::object& body, const RequestLimits& limits, FieldProblem& problem) {
  CompletionAsk ask;
  AskFields fields(body, "", problem);
  read_ask(fields, limits, ask);
  read_prompts(fields, limits.max_choices, ask.wishes.choices, ask.prompts);
  if (const auto top = fields.integer("logprobs", 0, kMaxTopLogprobs)) {
    ask.wishes.top_logprobs = static_cast<int32_t>(*top);
  }
  refuse_others(fields, ask);
  fields.finish();
  return ask;
}

}  // namespace paceline
