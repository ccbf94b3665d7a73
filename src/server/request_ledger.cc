#include "server/request_ledger.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace paceline {
namespace {

namespace json = boost::json;

double in_thousandths(double number) { return std::round(number * 1000) / 1000; }

const char* state_of(const Exchange::Progress& progress) {
  return progress.has_ended ? "ended" : progress.first_token_s ? "writing" : progress.has_begun ? "reading" : "queued";
}

const char* wire_of(std::string_view route) {
  if (route.starts_with("/api/")) return "ollama";
  if (route.starts_with("/v1/responses")) return "responses";
  if (route.starts_with("/v1/messages")) return "messages";
  return route == "/v1/completions" ? "completions" : "chat";
}

// Why not more of the prompt was known, and from which token on.
json::value missed_of(const Usage& usage) {
  if (usage.missed == PrefixMiss::none) return {};
  return {{"reason", prefix_miss_name(usage.missed)}, {"token", usage.cached_tokens}};
}

}  // namespace

json::object request_record(const RequestOrigin& origin, const Exchange::Progress& progress) {
  const Usage& usage = progress.usage;
  const SpeculationCounters& counters = progress.counters;
  const auto age = [](const std::optional<double>& seconds) {
    return seconds ? json::value(in_thousandths(*seconds)) : json::value();
  };
  const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const double writing_s = progress.first_token_s ? progress.age_s - *progress.first_token_s : 0;
  json::object made{{"id", progress.id},
                    {"model", origin.model},
                    {"route", origin.route},
                    {"wire", wire_of(origin.route)},
                    {"client", origin.client},
                    {"key", origin.key ? json::value(*origin.key + 1) : json::value()},
                    {"state", *origin.state != 0 ? origin.state : state_of(progress)},
                    {"end", progress.end},
                    {"began", in_thousandths(now - progress.age_s)},
                    {"max_tokens", origin.max_tokens}};
  made["prompt_tokens"] = usage.prompt_tokens;
  made["prompt_read"] = progress.prompt_read;
  made["cached_tokens"] = usage.cached_tokens;
  made["prefix_miss"] = missed_of(usage);
  made["output_tokens"] = usage.completion_tokens;
  made["age_s"] = in_thousandths(progress.age_s);
  made["queued_s"] = in_thousandths(progress.queued_s);
  made["first_token_s"] = age(progress.first_token_s);
  made["last_token_s"] = age(progress.last_token_s);
  made["tokens_per_second"] =
      in_thousandths(writing_s > 0 ? static_cast<double>(usage.completion_tokens) / writing_s : 0);
  made["depth"] = progress.depth;
  made["drafted"] = counters.drafted;
  made["accepted"] = counters.accepted;
  made["tokens_per_verify"] = in_thousandths(counters.tokens_per_round());
  made["kv_bytes"] = progress.kv_bytes;
  return made;
}

void RequestLedger::add(json::object ended) {
  const std::lock_guard lock(mutex_);
  ended_.push_front(std::move(ended));
  if (ended_.size() > kMost) ended_.pop_back();
  ++added_;
}

RequestLedger::Ended RequestLedger::ended_since(int64_t number) const {
  const std::lock_guard lock(mutex_);
  const int64_t wanted = number < added_ ? added_ - std::max<int64_t>(number, 0) : 0;
  const auto count = std::min(wanted, static_cast<int64_t>(ended_.size()));
  return {json::array(ended_.begin(), ended_.begin() + count), added_};
}

}  // namespace paceline
