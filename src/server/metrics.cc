#include "server/metrics.h"

#include <fmt/format.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include "server/routing_log.h"
#include "session/drafted_by.h"
#include "state/kv.h"

namespace paceline {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using Bounds = Histogram::BucketBoundaries;

// vLLM's borders, so that its dashboards read on.
const Bounds kFirstTokenBounds{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,  0.25, 0.5,
                               0.75,  1.0,   2.5,  5.0,  7.5,  10.0, 20.0, 40.0, 80.0};
const Bounds kBetweenBounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1,
                            0.15,  0.2,    0.3,   0.4,  0.5,   0.75, 1.0,   2.5};
const Bounds kWholeBounds{0.05, 0.1,  0.3,  0.5,  0.8,  1.0,  1.5,  2.0,   2.5,   5.0,
                          10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0};
const Bounds kStepBounds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5};

// What belongs to no model.
const std::set<std::string_view> kOfServer{"paceline:open_connections",  "paceline:http_answers_total",
                                           "paceline:preparing_waiting", "paceline:preparing_running",
                                           "paceline:prepared_total",    "paceline:log_lines_dropped_total"};

}  // namespace

struct Metrics::Families {
  explicit Families(std::string model) : labels{{"model_name", std::move(model)}} {}

  Family<Counter>& counters(const std::string& name, const std::string& help) {
    return prometheus::BuildCounter().Name(name).Help(help).Labels(labels).Register(registry);
  }
  Counter& counter(const std::string& name, const std::string& help) { return counters(name, help).Add({}); }
  Family<Gauge>& gauges(const std::string& name, const std::string& help) {
    return prometheus::BuildGauge().Name(name).Help(help).Labels(labels).Register(registry);
  }
  Gauge& gauge(const std::string& name, const std::string& help) { return gauges(name, help).Add({}); }
  Family<Histogram>& histograms(const std::string& name, const std::string& help) {
    return prometheus::BuildHistogram().Name(name).Help(help).Labels(labels).Register(registry);
  }
  Histogram& histogram(const std::string& name, const std::string& help, const Bounds& bounds) {
    return histograms(name, help).Add({}, bounds);
  }

  // The engine's thread alone: a step has a decision for each of its sequences, too many to look each up by its labels.
  Counter& step_counter(const DepthDecision& decision) {
    Counter*& known = steps_known[{decision.depth, decision.reason, decision.by}];
    if (known == nullptr) {
      known = &steps.Add({{"depth", fmt::format("{}", decision.depth)},
                          {"reason", depth_reason_name(decision.reason)},
                          {"drafter", decision.by ? drafted_by_name(*decision.by) : "none"}});
    }
    return *known;
  }

  prometheus::Labels labels;
  prometheus::Registry registry;

  Gauge& running = gauge("vllm:num_requests_running", "Sequences that are being computed");
  Gauge& waiting = gauge("vllm:num_requests_waiting", "Requests that wait for memory or a place");
  Gauge& kv_used =
      gauge("vllm:kv_cache_usage_perc", "Part of the KV memory that running requests hold; 1 is all of it");
  Counter& prompt_tokens = counter("vllm:prompt_tokens_total", "Tokens of prompts, cached ones included");
  Counter& generation_tokens = counter("vllm:generation_tokens_total", "Tokens generated");
  Histogram& to_first =
      histogram("vllm:time_to_first_token_seconds", "From a request's arrival to its first token", kFirstTokenBounds);
  Histogram& between = histogram("vllm:inter_token_latency_seconds", "Between tokens of a sequence", kBetweenBounds);
  Histogram& whole = histogram("vllm:e2e_request_latency_seconds", "From a request's arrival to its end", kWholeBounds);
  Family<Counter>& successes = counters("vllm:request_success_total", "Requests that ended, by reason");
  Counter& prefix_queries = counter("vllm:prefix_cache_queries_total", "Prompt tokens looked up among kept prefixes");
  Counter& prefix_hits = counter("vllm:prefix_cache_hits_total", "Of them, those found");
  Counter& rounds = counter("vllm:spec_decode_num_drafts_total", "Rounds that verified drafts");
  Counter& drafted = counter("vllm:spec_decode_num_draft_tokens_total", "Drafts that were verified");
  Counter& accepted = counter("vllm:spec_decode_num_accepted_tokens_total", "Of them, those that held");
  Family<Counter>& accepted_at =
      counters("vllm:spec_decode_num_accepted_tokens_per_pos_total", "Drafts that held, by position");

  Family<Counter>& steps = counters("paceline:steps_total", "Sequences' steps by the depth chosen for them, and why");
  std::map<std::tuple<int32_t, DepthReason, std::optional<DraftedBy>>, Counter*> steps_known;
  Family<Counter>& drafted_by = counters("paceline:drafted_tokens_total", "Drafts that were verified, by who guessed");
  Family<Counter>& accepted_by = counters("paceline:accepted_tokens_total", "Drafts that held, by who guessed them");
  Family<Histogram>& step_seconds = histograms("paceline:step_seconds", "Steps by what they carried");
  Histogram& step_prompt = step_seconds.Add({{"kind", "prompt"}}, kStepBounds);
  Histogram& step_verify = step_seconds.Add({{"kind", "verify"}}, kStepBounds);
  Histogram& step_mixed = step_seconds.Add({{"kind", "mixed"}}, kStepBounds);
  Histogram& step_draft = step_seconds.Add({{"kind", "draft"}}, kStepBounds);
  Counter& busy_seconds = counter("paceline:busy_seconds_total", "Steps that follow each other, from end to end");
  Counter& idle_seconds =
      counter("paceline:device_idle_seconds_total", "Of these, when the device had nothing to do between two steps");
  Gauge& acceptance = gauge("paceline:acceptance_ratio", "Accepted drafts over verified ones, since the start");
  Gauge& held_bytes =
      gauge("paceline:queue_bytes", "Memory that waiting and running requests hold beside their KV memory");
  Counter& preemptions = counter("vllm:num_preemptions_total", "Sequences that gave their KV memory up for others");
  Gauge& running_bytes = gauge("paceline:kv_reserved_bytes", "KV memory that running requests hold");
  Gauge& used_bytes = gauge("paceline:kv_used_bytes", "KV memory that holds something");
  Gauge& cached_bytes = gauge("paceline:kv_cached_bytes", "KV memory with prefixes of requests that have ended");
  Gauge& kv_bytes = gauge("paceline:kv_bytes", "KV memory in all");
  Gauge& open = gauge("paceline:open_connections", "Connections of clients");
  Family<Counter>& answers = counters("paceline:http_answers_total", "Answers by route and status");

  Family<Gauge>& lane_waiting = gauges("paceline:preparing_waiting", "Requests and media that wait to be prepared");
  Family<Gauge>& lane_running = gauges("paceline:preparing_running", "Requests and media that are being prepared");
  Family<Counter>& lane_ended =
      counters("paceline:prepared_total", "Requests, media and long answers that were prepared");
  Counter& log_dropped = counter("paceline:log_lines_dropped_total", "Lines of the log that nobody read");

  std::mutex text_mutex;  // counters follow the engine's: two readers at once would both add the difference
  EngineStats past;       // of engines that have gone
  Gauge* config = nullptr;

  void say_config(size_t bytes) {
    if (config != nullptr) return;
    config = &gauges("vllm:cache_config_info", "How the KV memory is laid out")
                  .Add({{"block_size", fmt::format("{}", kPageTokens)},
                        {"kv_bytes", fmt::format("{}", bytes)},
                        {"enable_prefix_caching", "True"}});
    config->Set(1);
  }
};

Metrics::Metrics(const std::string& model_name) : families_(std::make_unique<Families>(model_name)) {}
Metrics::~Metrics() = default;

void Metrics::observe(const StepReport& report) {
  Families& f = *families_;
  const double seconds = report.step_ms / 1000;
  if (report.prompt_rows == 0) {
    f.step_verify.Observe(seconds);
  } else {
    (report.sequences == 0 ? f.step_prompt : f.step_mixed).Observe(seconds);
  }
  if (report.draft_ms > 0) f.step_draft.Observe(report.draft_ms / 1000);
  for (const auto& decision : report.decisions) f.step_counter(decision).Increment();
}

void Metrics::prompt_done(int64_t tokens) { families_->prompt_tokens.Increment(static_cast<double>(tokens)); }

void Metrics::first_token(double seconds) { families_->to_first.Observe(seconds); }

void Metrics::more_tokens(int64_t count, double seconds) {
  for (int64_t i = 0; i < count; ++i) families_->between.Observe(seconds / static_cast<double>(count));
}

void Metrics::tokens_made(int64_t count) { families_->generation_tokens.Increment(static_cast<double>(count)); }

void Metrics::request_ended(double seconds, std::string_view reason) {
  families_->whole.Observe(seconds);
  families_->successes.Add({{"finished_reason", std::string(reason)}}).Increment();
}

void Metrics::answered(std::string_view route, int status) {
  families_->answers.Add({{"route", std::string(route)}, {"status", fmt::format("{}", status)}}).Increment();
}

void Metrics::connections(int64_t open) { families_->open.Set(static_cast<double>(open)); }

void Metrics::note_engine(const EngineStats& stats) {
  Families& f = *families_;
  const std::lock_guard lock(f.text_mutex);
  const EngineStats& past = f.past;
  const auto follow = [](Counter& counter, int64_t before, int64_t now) {
    counter.Increment(std::max(0.0, static_cast<double>(before + now) - counter.Value()));
  };
  const auto follow_seconds = [](Counter& counter, double ms) {
    counter.Increment(std::max(0.0, ms / 1000 - counter.Value()));
  };
  const auto part = [](size_t some, size_t all) {
    return all > 0 ? static_cast<double>(some) / static_cast<double>(all) : 0.0;
  };
  f.running.Set(stats.running);
  f.waiting.Set(stats.waiting);
  f.held_bytes.Set(static_cast<double>(stats.held_bytes));
  f.kv_used.Set(part(stats.running_bytes, stats.kv_bytes));
  follow(f.prefix_queries, past.prefix_queries, stats.prefix_queries);
  follow(f.prefix_hits, past.prefix_hits, stats.prefix_hits);
  const SpeculationCounters &spec = stats.speculation, &past_spec = past.speculation;
  follow(f.rounds, past_spec.drafted_at[0], spec.drafted_at[0]);
  follow(f.drafted, past_spec.drafted, spec.drafted);
  follow(f.accepted, past_spec.accepted, spec.accepted);
  for (size_t i = 0; i < spec.accepted_at.size(); ++i)
    follow(f.accepted_at.Add({{"position", fmt::format("{}", i)}}), past_spec.accepted_at[i], spec.accepted_at[i]);
  for (size_t i = 0; i < spec.by.size(); ++i) {
    if (spec.by[i].rounds == 0) continue;
    const prometheus::Labels who{{"drafter", drafted_by_name(static_cast<DraftedBy>(i))}};
    follow(f.drafted_by.Add(who), past_spec.by[i].drafted, spec.by[i].drafted);
    follow(f.accepted_by.Add(who), past_spec.by[i].accepted, spec.by[i].accepted);
  }
  f.acceptance.Set(spec.accepted_of_drafted());
  follow(f.preemptions, past.gave_way, stats.gave_way);
  follow_seconds(f.busy_seconds, past.busy_ms + stats.busy_ms);
  follow_seconds(f.idle_seconds, past.idle_ms + stats.idle_ms);
  f.running_bytes.Set(static_cast<double>(stats.running_bytes));
  f.used_bytes.Set(static_cast<double>(stats.used_bytes));
  f.cached_bytes.Set(static_cast<double>(stats.cached_bytes));
  f.kv_bytes.Set(static_cast<double>(stats.kv_bytes));
  f.say_config(stats.kv_bytes);
}

void Metrics::keep_engine(const EngineStats& stats) {
  note_engine(stats);
  Families& f = *families_;
  const std::lock_guard lock(f.text_mutex);
  f.past.prefix_queries += stats.prefix_queries;
  f.past.prefix_hits += stats.prefix_hits;
  f.past.gave_way += stats.gave_way;
  f.past.busy_ms += stats.busy_ms;
  f.past.idle_ms += stats.idle_ms;
  f.past.speculation += stats.speculation;
  for (Gauge* gauge : {&f.running, &f.waiting, &f.held_bytes, &f.kv_used, &f.running_bytes, &f.used_bytes,
                       &f.cached_bytes, &f.kv_bytes})
    gauge->Set(0);
}

void Metrics::note_server(const std::vector<LaneState>& lanes, int64_t log_lines_dropped) {
  Families& f = *families_;
  const std::lock_guard lock(f.text_mutex);
  const auto follow = [](Counter& counter, int64_t value) {
    counter.Increment(std::max(0.0, static_cast<double>(value) - counter.Value()));
  };
  follow(f.log_dropped, log_lines_dropped);
  for (const LaneState& lane : lanes) {
    f.lane_waiting.Add({{"lane", lane.name}}).Set(lane.waiting);
    f.lane_running.Add({{"lane", lane.name}}).Set(lane.running);
    follow(f.lane_ended.Add({{"lane", lane.name}}), lane.ended);
  }
}

std::string metrics_text_of(const Metrics* server, const std::vector<Metrics*>& models) {
  // A family stands once, with the metrics of all models.
  std::vector<prometheus::MetricFamily> all;
  std::map<std::string, size_t> places;
  const auto add = [&](prometheus::MetricFamily&& family) {
    const auto [place, is_new] = places.try_emplace(family.name, all.size());
    if (is_new) return all.push_back(std::move(family));
    auto& metric = all[place->second].metric;
    std::move(family.metric.begin(), family.metric.end(), std::back_inserter(metric));
  };
  for (Metrics* model : models) {
    for (auto& family : model->families_->registry.Collect()) {
      if (server == nullptr || !kOfServer.contains(family.name)) add(std::move(family));
    }
  }
  if (server != nullptr) {
    for (auto& family : server->families_->registry.Collect()) {
      if (kOfServer.contains(family.name)) add(std::move(family));
    }
  }
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, all);
  return out.str();
}

}  // namespace paceline
