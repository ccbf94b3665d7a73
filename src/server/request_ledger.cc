#include "server/request_ledger.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace paceline {
namespace {

namespace json = boost::json;

double in_thousandths(double number) { return std::round(number * 1000) / 1000; }

}  // namespace

json::object request_record(const std::string& route, const Exchange::Progress& progress) {
  const Usage& usage = progress.usage;
  const SpeculationCounters& counters = usage.speculation;
  const auto age = [](const std::optional<double>& seconds) {
    return seconds ? json::value(in_thousandths(*seconds)) : json::value();
  };
  const double writing_s = progress.first_token_s ? progress.age_s - *progress.first_token_s : 0;
  json::object made{{"id", progress.id},
                    {"route", route},
                    {"state", progress.has_ended       ? "ended"
                              : progress.first_token_s ? "writing"
                                                       : "waiting"},
                    {"end", progress.end},
                    {"prompt_tokens", usage.prompt_tokens},
                    {"cached_tokens", usage.cached_tokens},
                    {"output_tokens", usage.completion_tokens},
                    {"age_s", in_thousandths(progress.age_s)},
                    {"first_token_s", age(progress.first_token_s)},
                    {"last_token_s", age(progress.last_token_s)}};
  made["tokens_per_second"] =
      in_thousandths(writing_s > 0 ? static_cast<double>(usage.completion_tokens) / writing_s : 0);
  // Known at the end.
  made["drafted"] = counters.drafted;
  made["accepted"] = counters.accepted;
  made["tokens_per_verify"] = in_thousandths(counters.tokens_per_round());
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
