#include "server/wire_chat.h"

#include <fmt/format.h>

#include "server/media_url.h"

namespace paceline {
namespace {

namespace json = boost::json;

}  // namespace

MediaTerms media_terms(const RequestLimits& limits) {
  MediaTerms terms{limits.max_images, limits.max_videos};
  terms.refuse_url = [&hosts = limits.media_hosts](const std::string& written,
                                                   const std::string& field) -> std::optional<FieldError> {
    if (hosts.empty()) {
      return unsupported(
          field, "this server fetches no media (its option --media-hosts): the url must be data:...;base64,...");
    }
    const auto url = read_media_url(written);
    if (!url.ok()) return bad_field(field, url.error().message);
    if (is_listed(*url, hosts)) return std::nullopt;
    return unsupported(field, fmt::format("{} is not among the hosts that this server fetches media from (its option "
                                          "--media-hosts)",
                                          url->authority()));
  };
  return terms;
}

namespace {

void read_logprobs(AskFields& body, Wishes& wishes) {
  const bool wanted = body.boolean("logprobs").value_or(false);
  const auto top = body.integer("top_logprobs", 0, kMaxTopLogprobs);
  if (top && !wanted) {
    return body.problem().say(bad_field("top_logprobs", "top_logprobs is only for requests with \"logprobs\": true"));
  }
  if (wanted) wishes.top_logprobs = static_cast<int32_t>(top.value_or(0));
}

void refuse_others(AskFields& body) {
  for (const char* name : {"audio", "functions", "function_call", "prediction", "web_search_options"}) {
    if (body.any(name) != nullptr) body.problem().say(unsupported(name, fmt::format("{} is not supported", name)));
  }
  const json::array* modalities = body.array("modalities");
  if (modalities != nullptr && (modalities->size() != 1 || modalities->front() != "text")) {
    body.problem().say(unsupported("modalities", "answers are text only"));
  }
  body.ignore({"verbosity"});
}

}  // namespace

ChatAsk read_chat(const json::object& body, const RequestLimits& limits, FieldProblem& problem) {
  ChatAsk ask;
  AskFields fields(body, "", problem);
  read_ask(fields, limits, ask);
  static_cast<ChatParts&>(ask) = read_chat_parts(fields, {limits.max_messages, media_terms(limits)});
  read_logprobs(fields, ask.wishes);
  refuse_others(fields);
  if (ask.form && ask.form->kind != OutputForm::Kind::text && ask.wishes.ignore_eos) {
    problem.say(bad_field("ignore_eos", "ignore_eos makes no sense with an output of a given form, which has an end"));
  }
  fields.finish();
  return ask;
}

}  // namespace paceline
