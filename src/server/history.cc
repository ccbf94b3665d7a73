#include "server/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace paceline {
namespace {

constexpr std::array<std::string_view, kHistoryColumns> kColumnNames{
    "time",        "prompt",       "output",   "cached",        "looked_up",       "requests",
    "rounds",      "drafted",      "accepted", "answers_good",  "answers_refused", "answers_failed",
    "depth_0",     "depth_1",      "depth_2",  "depth_3",       "depth_5",         "depth_9",
    "prompt_s",    "prompt_steps", "verify_s", "verify_steps",  "mixed_s",         "mixed_steps",
    "draft_s",     "draftings",    "running",  "waiting",       "kv_bytes",        "kv_used",
    "kv_reserved", "kv_cached",    "memory",   "device_memory", "first_token_p50", "first_token_p95",
    "between_p50", "between_p95"};

// Metrics without labels that matter.
constexpr std::array<std::pair<std::string_view, HistoryColumn>, 14> kPlain{{
    {"vllm:prompt_tokens_total", kPromptTokens},
    {"vllm:generation_tokens_total", kOutputTokens},
    {"vllm:prefix_cache_hits_total", kCachedTokens},
    {"vllm:prefix_cache_queries_total", kLookedUpTokens},
    {"vllm:request_success_total", kRequests},
    {"vllm:spec_decode_num_drafts_total", kRounds},
    {"vllm:spec_decode_num_draft_tokens_total", kDrafted},
    {"vllm:spec_decode_num_accepted_tokens_total", kAccepted},
    {"vllm:num_requests_running", kRunning},
    {"vllm:num_requests_waiting", kWaiting},
    {"paceline:kv_bytes", kKvBytes},
    {"paceline:kv_used_bytes", kKvUsed},
    {"paceline:kv_reserved_bytes", kKvReserved},
    {"paceline:kv_cached_bytes", kKvCached},
}};

struct MetricLine {
  std::string_view name, labels;
  double value = 0;

  // "": it has no such label.
  [[nodiscard]] std::string_view label(std::string_view key) const {
    const std::string start = fmt::format("{}=\"", key);
    const size_t at = labels.find(start);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = labels.substr(at + start.size());
    return rest.substr(0, rest.find('"'));
  }
};

MetricLine read_metric_line(std::string_view line) {
  MetricLine made;
  const size_t open = line.find('{');
  const size_t close = line.rfind('}');
  size_t end = line.find(' ');
  if (open != std::string_view::npos && close != std::string_view::npos && open < end) {
    made.labels = line.substr(open + 1, close - open - 1);
    made.name = line.substr(0, open);
    end = close + 1;
  } else {
    made.name = line.substr(0, end);
  }
  if (end < line.size()) made.value = std::strtod(std::string(line.substr(end)).c_str(), nullptr);
  return made;
}

HistoryColumn depth_column(int depth) {
  if (depth >= 9) return kDepth9;
  if (depth >= 5) return kDepth5;
  if (depth >= 3) return kDepth3;
  return depth == 2 ? kDepth2 : depth == 1 ? kDepth1 : kDepth0;
}

// The column of a step's time; the next one has their number.
HistoryColumn step_column(std::string_view kind) {
  return kind == "prompt"   ? kPromptStepSeconds
         : kind == "verify" ? kVerifyStepSeconds
         : kind == "mixed"  ? kMixedStepSeconds
                            : kDraftSeconds;
}

void add_labelled(const MetricLine& line, HistorySample& sample) {
  if (line.name == "paceline:http_answers_total") {
    const std::string_view status = line.label("status");
    const char kind = status.empty() ? '2' : status.front();
    sample[kind == '5' ? kAnswersFailed : kind == '4' ? kAnswersRefused : kAnswersGood] += line.value;
  } else if (line.name == "paceline:steps_total") {
    sample[depth_column(std::atoi(std::string(line.label("depth")).c_str()))] += line.value;
  } else if (line.name == "paceline:step_seconds_sum") {
    sample[step_column(line.label("kind"))] += line.value;
  } else if (line.name == "paceline:step_seconds_count") {
    sample[step_column(line.label("kind")) + 1] += line.value;
  }
}

void add_border(const MetricLine& line, BorderCounts& counts) {
  const std::string_view border = line.label("le");
  const bool is_last = border == "+Inf";
  const double value =
      is_last ? std::numeric_limits<double>::infinity() : std::strtod(std::string(border).c_str(), nullptr);
  counts[value] += line.value;
}

std::string number_text(double number) { return std::isfinite(number) ? fmt::format("{:.13g}", number) : "null"; }

}  // namespace

std::string_view history_column_name(size_t column) { return kColumnNames[column]; }

double quantile_between(const BorderCounts& before, const BorderCounts& now, double part) {
  const auto new_below = [&](double border, double count) {
    const auto old = before.find(border);
    return count - (old != before.end() ? old->second : 0);
  };
  if (now.empty()) return std::nan("");
  const double all = new_below(now.rbegin()->first, now.rbegin()->second);
  if (all <= 0) return std::nan("");
  double low = 0, below = 0;
  for (const auto& [border, count] : now) {
    const double here = new_below(border, count);
    if (here >= part * all) {
      if (!std::isfinite(border)) return low;
      return here > below ? low + (border - low) * (part * all - below) / (here - below) : border;
    }
    low = border;
    below = here;
  }
  return low;
}

MetricsHistory::Reading MetricsHistory::read(std::string_view metrics) {
  Reading made;
  while (!metrics.empty()) {
    const size_t end = std::min(metrics.find('\n'), metrics.size());
    const std::string_view text = metrics.substr(0, end);
    metrics.remove_prefix(std::min(end + 1, metrics.size()));
    if (text.empty() || text.front() == '#') continue;
    const MetricLine line = read_metric_line(text);
    if (line.name == "vllm:time_to_first_token_seconds_bucket") {
      add_border(line, made.first_token);
    } else if (line.name == "vllm:inter_token_latency_seconds_bucket") {
      add_border(line, made.between);
    } else {
      const auto* plain =
          std::find_if(kPlain.begin(), kPlain.end(), [&](const auto& one) { return one.first == line.name; });
      if (plain != kPlain.end())
        made.sample[plain->second] += line.value;
      else
        add_labelled(line, made.sample);
    }
  }
  return made;
}

void MetricsHistory::add_quantiles(Reading& reading, const Reading& before) {
  HistorySample& sample = reading.sample;
  sample[kFirstTokenHalf] = quantile_between(before.first_token, reading.first_token, 0.5);
  sample[kFirstTokenMost] = quantile_between(before.first_token, reading.first_token, 0.95);
  sample[kBetweenHalf] = quantile_between(before.between, reading.between, 0.5);
  sample[kBetweenMost] = quantile_between(before.between, reading.between, 0.95);
}

void MetricsHistory::add(std::string_view metrics, double now, double memory, std::optional<size_t> device) {
  Reading reading = read(metrics);
  reading.sample[kTime] = now;
  reading.sample[kMemory] = memory;
  reading.sample[kDeviceMemory] = device ? static_cast<double>(*device) : std::nan("");
  const std::lock_guard lock(mutex_);
  add_quantiles(reading, last_);
  fine_.push_back(reading.sample);
  if (fine_.size() > kFine) fine_.pop_front();
  last_ = reading;
  if (!coarse_.empty() && now - coarse_.back()[kTime] < static_cast<double>(kCoarseSeconds)) return;
  add_quantiles(reading, last_coarse_);
  coarse_.push_back(reading.sample);
  if (coarse_.size() > kCoarse) coarse_.pop_front();
  last_coarse_ = std::move(reading);
}

std::optional<HistorySample> MetricsHistory::newest() const {
  const std::lock_guard lock(mutex_);
  if (fine_.empty()) return std::nullopt;
  return fine_.back();
}

std::string MetricsHistory::json(double seconds, double since, std::string_view before) const {
  std::string columns, rows;
  for (const std::string_view name : kColumnNames) columns += fmt::format("{}\"{}\"", columns.empty() ? "" : ",", name);
  const std::lock_guard lock(mutex_);
  const std::deque<HistorySample>& samples = seconds > static_cast<double>(kFine) ? coarse_ : fine_;
  const double from = samples.empty() ? 0 : samples.back()[kTime] - seconds;
  for (const HistorySample& sample : samples) {
    if (sample[kTime] < from || sample[kTime] <= since) continue;
    rows += rows.empty() ? "[" : ",[";
    for (size_t i = 0; i < sample.size(); ++i) rows += (i == 0 ? "" : ",") + number_text(sample[i]);
    rows += ']';
  }
  return fmt::format(R"({{"columns":[{}],"totals":{},"before":{},"rows":[{}]}})", columns,
                     static_cast<size_t>(kLastTotal), before, rows);
}

}  // namespace paceline
