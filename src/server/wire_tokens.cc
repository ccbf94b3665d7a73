#include "server/wire_tokens.h"

#include <algorithm>
#include <limits>

#include "server/body_kind.h"
#include "session/chat_messages.h"

namespace paceline {

namespace json = boost::json;

bool is_tokenize(const json::object& body) {
  constexpr std::string_view kOwn[] = {"model", "prompt", "messages", "add_special_tokens", "add_generation_prompt"};
  const bool is_plain = std::all_of(body.begin(), body.end(), [&](const auto& member) {
    return std::find(std::begin(kOwn), std::end(kOwn), std::string_view(member.key())) != std::end(kOwn);
  });
  return is_plain && (kind_of_body(body) == BodyKind::chat || kind_of_body(body) == BodyKind::completion);
}

TokenizeAsk read_tokenize(const json::object& body, const RequestLimits& limits, FieldProblem& problem) {
  TokenizeAsk ask;
  AskFields fields(body, "", problem);
  ask.model = fields.string("model").value_or("");
  const json::value* prompt = fields.any("prompt");
  if (fields.any("messages") != nullptr) {
    if (prompt != nullptr) problem.say(bad_field("prompt", "either prompt or messages, not both"));
    ask.chat.emplace().messages = read_messages(fields, limits.max_messages, {}).for_template;
    ask.chat->add_generation_prompt = fields.boolean("add_generation_prompt").value_or(true);
  } else if (prompt != nullptr && prompt->is_array()) {
    read_prompts(fields, limits.max_choices, 1, ask.prompts);
  } else if (const auto text = fields.string("prompt")) {
    ask.prompts.emplace_back().text = *text;
  } else if (problem.none()) {
    fields.missing("prompt", "a string or a list");
  }
  ask.add_special = fields.boolean("add_special_tokens").value_or(true);
  fields.finish();
  return ask;
}

DetokenizeAsk read_detokenize(const json::object& body, FieldProblem& problem) {
  DetokenizeAsk ask;
  AskFields fields(body, "", problem);
  ask.model = fields.string("model").value_or("");
  const json::array* ids = fields.array("tokens");
  if (ids == nullptr && problem.none()) fields.missing("tokens", "a list of token ids");
  for (size_t i = 0; ids != nullptr && i < ids->size(); ++i) {
    const auto id = whole_number((*ids)[i]);
    if (!id || *id < 0 || *id > std::numeric_limits<TokenId>::max()) {
      problem.say(bad_field("tokens", "tokens must be a list of token ids"));
      break;
    }
    ask.ids.push_back(static_cast<TokenId>(*id));
  }
  fields.finish();
  return ask;
}

}  // namespace paceline
