#include "server/wire_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <cmath>

#include "base/utf8.h"
#include "server/routing_log.h"
#include "session/chat_messages.h"
#include "session/drafted_by.h"
#include "session/token_bytes.h"

namespace paceline {
namespace {

namespace json = boost::json;

double rounded(double number) { return std::round(number * 1000) / 1000; }

// JSON has no infinity: a token that cannot be.
double finite(float logprob) { return std::isfinite(logprob) ? static_cast<double>(logprob) : -9999.0; }

json::object token_object(const Tokenizer& tokenizer, TokenId id, float logprob) {
  const std::string bytes = token_bytes(tokenizer, id);
  json::array numbers;
  for (const char c : bytes) numbers.push_back(static_cast<int>(static_cast<uint8_t>(c)));
  return {{"token", with_invalid_utf8_replaced(bytes)}, {"logprob", finite(logprob)}, {"bytes", std::move(numbers)}};
}

const char* origin_name(TokenOrigin origin) {
  switch (origin) {
    case TokenOrigin::plain: return "plain";
    case TokenOrigin::accepted: return "accepted";
    case TokenOrigin::corrected: return "corrected";
    case TokenOrigin::extra: return "bonus";
  }
  return "?";
}

// Who guessed how much.
json::object drafters_object(const SpeculationCounters& counters) {
  json::object all;
  for (size_t i = 0; i < counters.by.size(); ++i) {
    const SpeculationCounters::Share& share = counters.by[i];
    if (share.rounds == 0) continue;
    all[drafted_by_name(static_cast<DraftedBy>(i))] = {
        {"rounds", share.rounds}, {"drafted", share.drafted}, {"accepted", share.accepted}};
  }
  return all;
}

}  // namespace

json::object speculative_object(const SpeculationCounters& counters) {
  json::object speculative{{"drafted", counters.drafted},
                           {"accepted", counters.accepted},
                           {"rounds", counters.rounds},
                           {"tokens_per_verify", rounded(counters.tokens_per_round())}};
  if (counters.drafted > 0) speculative["drafters"] = drafters_object(counters);
  return speculative;
}

json::object usage_object(const Usage& usage) {
  json::object object;
  object["prompt_tokens"] = usage.prompt_tokens;
  object["completion_tokens"] = usage.completion_tokens;
  object["total_tokens"] = usage.prompt_tokens + usage.completion_tokens;
  object["prompt_tokens_details"] = {{"cached_tokens", usage.cached_tokens}};
  object["completion_tokens_details"] = {{"reasoning_tokens", usage.reasoning_tokens}};
  object["speculative"] = speculative_object(usage.speculation);
  return object;
}

json::object timings_object(const Usage& usage) {
  const auto per_second = [](int64_t count, double ms) {
    return rounded(ms > 0 ? static_cast<double>(count) / ms * 1000 : 0);
  };
  const int64_t prompt = usage.prompt_tokens - usage.cached_tokens;
  return {{"prompt_n", prompt},
          {"cache_n", usage.cached_tokens},
          {"prompt_ms", rounded(usage.prompt_ms)},
          {"prompt_per_second", per_second(prompt, usage.prompt_ms)},
          {"predicted_n", usage.completion_tokens},
          {"predicted_ms", rounded(usage.decode_ms)},
          {"predicted_per_second", per_second(usage.completion_tokens, usage.decode_ms)},
          {"draft_n", usage.speculation.drafted},
          {"draft_n_accepted", usage.speculation.accepted}};
}

json::object metrics_object(const Usage& usage, bool detailed) {
  int64_t steps = 0, drafted = 0, accepted = 0;
  int32_t most = 0;
  json::array histogram, drafts, hits;
  for (const RoundCount& round : usage.rounds) {
    if (detailed) drafts.push_back(round.drafted), hits.push_back(round.accepted);
    if (round.drafted == 0) continue;
    ++steps;
    drafted += round.drafted;
    accepted += round.accepted;
    most = std::max(most, round.drafted);
    while (static_cast<int32_t>(histogram.size()) <= round.accepted) histogram.push_back(0);
    auto& count = histogram[static_cast<size_t>(round.accepted)];
    count = count.get_int64() + 1;
  }
  const auto ratio = [](int64_t part, int64_t whole) {
    return rounded(whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0);
  };
  json::object made{{"mean_acceptance_length", 1 + ratio(accepted, steps)},
                    {"draft_acceptance_rate", ratio(accepted, drafted)},
                    {"acceptance_histogram", std::move(histogram)},
                    {"num_spec_steps", steps},
                    {"num_draft_tokens", drafted},
                    {"num_accepted_draft_tokens", accepted},
                    {"num_spec_tokens", most}};
  if (detailed) {
    made["per_step_accepted"] = std::move(hits);
    made["per_step_drafted"] = std::move(drafts);
  }
  return {{"speculative_decoding", std::move(made)}};
}

json::array logprob_list(const Tokenizer& tokenizer, const std::vector<NewToken>& tokens) {
  json::array content;
  for (const NewToken& token : tokens) {
    json::object object = token_object(tokenizer, token.id, token.logprobs.chosen);
    json::array top;
    for (const auto& [id, logprob] : token.logprobs.top) top.push_back(token_object(tokenizer, id, logprob));
    object["top_logprobs"] = std::move(top);
    content.push_back(std::move(object));
  }
  return content;
}

json::object AnswerWriter::frame(bool chunk) const {
  json::object object;
  object["id"] = head_.id;
  object["object"] = !head_.chat ? "text_completion" : chunk ? "chat.completion.chunk" : "chat.completion";
  object["created"] = head_.created;
  object["model"] = head_.model;
  return object;
}

std::string AnswerWriter::call_id(int32_t choice, int32_t call) const {
  // Unique among all calls that a client may have seen: behind the answer's own random letters.
  const size_t dash = head_.id.find('-');
  return fmt::format("call_{}_{}_{}", head_.id.substr(dash + 1), choice, call);
}

json::object AnswerWriter::whole(const std::vector<ChoiceText>& choices, const Usage& usage) const {
  json::array made;
  for (size_t i = 0; i < choices.size(); ++i) {
    const ChoiceText& choice = choices[i];
    const auto index = static_cast<int32_t>(i);
    json::object object{{"index", index}};
    if (head_.chat) {
      json::object message{{"role", "assistant"}};
      message["content"] = choice.content;
      if (choice.content.empty() && !choice.calls.empty()) message["content"] = nullptr;
      message["refusal"] = nullptr;
      if (!choice.reasoning.empty()) set_thoughts(message, choice.reasoning);
      json::array calls;
      for (size_t c = 0; c < choice.calls.size(); ++c) {
        calls.push_back({{"id", call_id(index, static_cast<int32_t>(c))},
                         {"type", "function"},
                         {"function", {{"name", choice.calls[c].name}, {"arguments", choice.calls[c].arguments}}}});
      }
      if (!calls.empty()) message["tool_calls"] = std::move(calls);
      object["message"] = std::move(message);
    } else {
      object["text"] = choice.content;
    }
    object["logprobs"] = logprobs(choice.tokens, 0);
    object["finish_reason"] = choice.finish_reason ? json::value(*choice.finish_reason) : json::value();
    made.push_back(std::move(object));
  }
  json::object object = frame(false);
  object["choices"] = std::move(made);
  object["usage"] = usage_object(usage);
  object["timings"] = timings_object(usage);
  return object;
}

json::object AnswerWriter::chunk_of(int32_t choice, json::object delta, json::value logprobs,
                                    std::optional<std::string_view> finish_reason) const {
  json::object made{{"index", choice}};
  if (head_.chat) {
    made["delta"] = std::move(delta);
  } else {
    const json::value* text = delta.if_contains("content");
    made["text"] = text != nullptr ? *text : json::value("");
  }
  made["logprobs"] = std::move(logprobs);
  made["finish_reason"] = finish_reason ? json::value(*finish_reason) : json::value();
  json::object object = frame(true);
  object["choices"] = json::array{std::move(made)};
  return object;
}

json::object AnswerWriter::opening(int32_t choice) const {
  return chunk_of(choice, {{"role", "assistant"}, {"content", ""}}, nullptr, std::nullopt);
}

json::object AnswerWriter::text_chunk(int32_t choice, const OutputDelta& delta, size_t offset) const {
  if (delta.kind == OutputDelta::Kind::content)
    return chunk_of(choice, {{"content", delta.text}}, logprobs(delta.tokens, offset), std::nullopt);
  // Half of the clients know only one of the names.
  return chunk_of(choice, {{"reasoning", delta.text}, {"reasoning_content", delta.text}}, nullptr, std::nullopt);
}

json::object AnswerWriter::call_chunk(int32_t choice, int32_t call, std::string_view name) const {
  json::object made{{"index", call},
                    {"id", call_id(choice, call)},
                    {"type", "function"},
                    {"function", {{"name", name}, {"arguments", ""}}}};
  return chunk_of(choice, {{"tool_calls", json::array{std::move(made)}}}, nullptr, std::nullopt);
}

json::object AnswerWriter::arguments_chunk(int32_t choice, int32_t call, std::string_view arguments) const {
  json::object made{{"index", call}, {"function", {{"arguments", arguments}}}};
  return chunk_of(choice, {{"tool_calls", json::array{std::move(made)}}}, nullptr, std::nullopt);
}

json::object AnswerWriter::speculation(const TracedRounds& rounds, const OutputDelta& delta) const {
  json::array spans, each;
  size_t at = 0;
  for (const TextSpan& span : delta.spans) {
    spans.push_back(
        {{"text", delta.text.substr(at, span.bytes)}, {"origin", origin_name(span.origin)}, {"round", span.round}});
    at += span.bytes;
  }
  // All of them together, and where there are several each by itself.
  TracedRound sum;
  for (const TracedRound& round : rounds.each) {
    sum.number = round.number;
    sum.depth = round.depth;
    sum.reason = round.reason;
    sum.drafted += round.drafted;
    sum.accepted += round.accepted;
    sum.draft_ms += round.draft_ms;
    sum.verify_ms += round.verify_ms;
    sum.choose_ms += round.choose_ms;
    sum.commit_ms += round.commit_ms;
    sum.rejected.insert(sum.rejected.end(), round.rejected.begin(), round.rejected.end());
    if (rounds.each.size() > 1) each.push_back(round_object(round));
  }
  json::object made = round_object(sum);
  made["round"] = rounds.last;
  made["rounds"] = rounds.each.size();
  made["spans"] = std::move(spans);
  if (!each.empty()) made["each"] = std::move(each);
  if (!rounds.expected.empty()) {
    json::array& expected = made["expected"].emplace_array();
    for (const float rate : rounds.expected) expected.push_back(std::round(rate));
  }
  return made;
}

json::object AnswerWriter::round_object(const TracedRound& round) const {
  std::string rejected;
  for (const TokenId id : round.rejected) rejected += token_bytes(*tokenizer_, id);
  const auto microseconds = [](double ms) { return static_cast<int64_t>(ms * 1000); };
  return {{"round", round.number},
          {"rounds", 1},
          {"depth", round.depth},
          {"reason", depth_reason_name(round.reason)},
          {"drafted", round.drafted},
          {"accepted", round.accepted},
          {"draft_us", microseconds(round.draft_ms)},
          {"verify_us", microseconds(round.verify_ms)},
          {"choose_us", microseconds(round.choose_ms)},
          {"commit_us", microseconds(round.commit_ms)},
          {"rejected", with_invalid_utf8_replaced(rejected)}};
}

json::object AnswerWriter::closing(int32_t choice, std::string_view finish_reason) const {
  return chunk_of(choice, {}, nullptr, finish_reason);
}

json::object AnswerWriter::usage_chunk(const Usage& usage) const {
  json::object object = frame(true);
  object["choices"] = json::array();
  object["usage"] = usage_object(usage);
  object["timings"] = timings_object(usage);
  return object;
}

json::value AnswerWriter::logprobs(const std::vector<NewToken>& tokens, size_t offset) const {
  if (!has_logprobs_) return nullptr;
  if (!head_.chat) return text_logprobs(tokens, offset);
  return {{"content", logprob_list(*tokenizer_, tokens)}, {"refusal", nullptr}};
}

json::object AnswerWriter::text_logprobs(const std::vector<NewToken>& tokens, size_t offset) const {
  json::array texts, chosen, tops, offsets;
  for (const NewToken& token : tokens) {
    const std::string bytes = token_bytes(*tokenizer_, token.id);
    texts.push_back(json::value(with_invalid_utf8_replaced(bytes)));
    chosen.push_back(finite(token.logprobs.chosen));
    json::object top;
    for (const auto& [id, logprob] : token.logprobs.top) {
      top[with_invalid_utf8_replaced(token_bytes(*tokenizer_, id))] = finite(logprob);
    }
    tops.push_back(std::move(top));
    offsets.push_back(offset);
    offset += bytes.size();
  }
  return {{"tokens", std::move(texts)},
          {"token_logprobs", std::move(chosen)},
          {"top_logprobs", std::move(tops)},
          {"text_offset", std::move(offsets)}};
}

}  // namespace paceline
