#include "server/wire_ask.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace paceline {
namespace {

namespace json = boost::json;

constexpr size_t kMaxBiases = 1024;
constexpr int32_t kMostTokens = std::numeric_limits<int32_t>::max() / 2;

std::optional<float> real(AskFields& fields, std::string_view name, double low, double high) {
  const auto value = fields.number(name, low, high);
  return value ? std::optional(static_cast<float>(*value)) : std::nullopt;
}

void read_sampling(AskFields& fields, Wishes& wishes) {
  wishes.temperature = real(fields, "temperature", 0, 2);
  wishes.top_p = real(fields, "top_p", 0, 1);
  // The smallest set that has a probability of 0 is the likeliest token.
  if (wishes.top_p && *wishes.top_p == 0) wishes.top_p = std::numeric_limits<float>::min();
  // -1 is how others write "all".
  if (const auto k = fields.integer("top_k", -1, kMostTokens)) wishes.top_k = *k < 0 ? 0 : static_cast<int32_t>(*k);
  SampleSettings& sampling = wishes.sampling;
  sampling.min_p = real(fields, "min_p", 0, 1).value_or(sampling.min_p);
  sampling.presence_penalty = real(fields, "presence_penalty", -2, 2).value_or(0.0f);
  sampling.frequency_penalty = real(fields, "frequency_penalty", -2, 2).value_or(0.0f);
  sampling.repetition_penalty = real(fields, "repetition_penalty", 0.01, 100).value_or(1.0f);
  constexpr int64_t kLow = std::numeric_limits<int64_t>::min(), kHigh = std::numeric_limits<int64_t>::max();
  if (const auto seed = fields.integer("seed", kLow, kHigh)) wishes.seed = static_cast<uint64_t>(*seed);
}

// {"1234": -100}
void read_biases(AskFields& fields, SampleSettings& sampling) {
  const json::object* biases = fields.object("logit_bias");
  if (biases == nullptr) return;
  if (biases->size() > kMaxBiases) {
    fields.problem().say(bad_field("logit_bias", fmt::format("logit_bias may name at most {} tokens", kMaxBiases)));
    return;
  }
  for (const auto& entry : *biases) {
    const std::string_view key = entry.key();
    int32_t id = -1;
    const auto [end, failed] = std::from_chars(key.data(), key.data() + key.size(), id);
    const bool is_id = failed == std::errc() && end == key.data() + key.size() && id >= 0;
    const double bias = entry.value().is_number() ? entry.value().to_number<double>() : 1000;
    if (!is_id || !(bias >= -100 && bias <= 100)) {
      fields.problem().say(bad_field("logit_bias", "logit_bias must map token ids to numbers from -100 to 100"));
      return;
    }
    sampling.logit_bias.push_back({id, static_cast<float>(bias)});
  }
}

}  // namespace

// A string or a list of strings.
void read_stops(AskFields& fields, std::string_view name, Ask& ask) {
  const json::value* stop = fields.any(name);
  if (stop == nullptr) return;
  const auto wrong = [&] {
    fields.wrong(
        name,
        fmt::format("a string or up to {} strings, of {} bytes in all, none empty", kMaxStopStrings, kMaxStopBytes),
        *stop);
  };
  size_t bytes = 0;
  const auto add = [&](const json::value& value) {
    if (!value.is_string() || value.get_string().empty()) return false;
    bytes += value.get_string().size();
    ask.stop_strings.emplace_back(value.get_string());
    return bytes <= kMaxStopBytes && ask.stop_strings.size() <= kMaxStopStrings;
  };
  if (!stop->is_array()) {
    if (!add(*stop)) wrong();
    return;
  }
  for (const json::value& value : stop->get_array()) {
    if (!add(value)) return wrong();
  }
}

namespace {

void read_stop_ids(AskFields& fields, Wishes& wishes) {
  const json::array* ids = fields.array("stop_token_ids");
  if (ids == nullptr) return;
  for (const json::value& value : *ids) {
    const auto id = whole_number(value);
    if (!id || *id < 0 || *id > kMostTokens || wishes.stop_ids.size() >= kMaxBiases) {
      return fields.problem().say(bad_field("stop_token_ids", "stop_token_ids must be a list of token ids"));
    }
    wishes.stop_ids.push_back(static_cast<TokenId>(*id));
  }
}

// {"enabled": true, "max_depth": 4, "depth": 2, "report": "summary", "trace": true}
void read_speculative(AskFields& fields, const RequestLimits& limits, Ask& ask) {
  ask.report = limits.speculation_report;
  ask.keeps_rounds = ask.report != SpeculationReport::none;
  Wishes& wishes = ask.wishes;
  const json::object* object = fields.object("speculative");
  if (object == nullptr) return;
  AskFields inner(*object, fields.path("speculative"), fields.problem());
  if (const auto depth = inner.integer("max_depth", 0, kMaxDraftTokens))
    wishes.max_depth = static_cast<int32_t>(*depth);
  if (const auto depth = inner.integer("depth", 0, kMaxDraftTokens)) wishes.depth = static_cast<int32_t>(*depth);
  if (!inner.boolean("enabled").value_or(true)) wishes.max_depth = 0;
  ask.traces = wishes.wants_estimates = inner.boolean("trace").value_or(false);
  if (const auto report = inner.string("report")) {
    if (*report != "none" && *report != "summary" && *report != "detailed")
      inner.problem().say(bad_field(inner.path("report"), "speculative.report must be none, summary or detailed"));
    ask.report = *report == "detailed"  ? SpeculationReport::detailed
                 : *report == "summary" ? SpeculationReport::summary
                                        : SpeculationReport::none;
    ask.keeps_rounds = ask.report != SpeculationReport::none;
  }
  inner.finish();
}

void read_stream_options(AskFields& fields, Ask& ask) {
  const json::object* object = fields.object("stream_options");
  if (object == nullptr) return;
  if (!ask.stream) {
    return fields.problem().say(
        bad_field("stream_options", "stream_options is only for requests with \"stream\": true"));
  }
  AskFields inner(*object, fields.path("stream_options"), fields.problem());
  ask.include_usage = inner.boolean("include_usage").value_or(false);
  // Padding against an observer who counts bytes; there is none to switch off.
  inner.ignore({"include_obfuscation"});
  inner.finish();
}

}  // namespace

void read_most_tokens(AskFields& fields, std::string_view name, Ask& ask) {
  if (const auto most = fields.integer(name, 1, kMostTokens)) ask.max_tokens = static_cast<int32_t>(*most);
}

void read_choosing(AskFields& fields, const RequestLimits& limits, Ask& ask) {
  ask.model = fields.string("model").value_or("");
  ask.wishes.context = limits.context;
  read_sampling(fields, ask.wishes);
  read_biases(fields, ask.wishes.sampling);
  read_stop_ids(fields, ask.wishes);
  ask.wishes.ignore_eos = fields.boolean("ignore_eos").value_or(false);
  read_speculative(fields, limits, ask);
  ask.stream = fields.boolean("stream").value_or(false);
  ask.cache_salt = fields.string("cache_salt", 1024).value_or("");
}

void read_ask(AskFields& fields, const RequestLimits& limits, Ask& ask) {
  read_choosing(fields, limits, ask);
  read_stops(fields, "stop", ask);
  read_most_tokens(fields, "max_tokens", ask);
  read_most_tokens(fields, "max_completion_tokens", ask);
  ask.wishes.choices = static_cast<int32_t>(fields.integer("n", 1, limits.max_choices).value_or(1));
  read_stream_options(fields, ask);
  // Who asks, and how the provider shall file it.
  fields.ignore({"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"});
}

}  // namespace paceline
