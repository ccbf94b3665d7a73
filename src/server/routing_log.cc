#include "server/routing_log.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "session/drafted_by.h"

namespace paceline {
namespace {

constexpr size_t kMostRemembered = 4096;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

const char* depth_reason_name(DepthReason reason) {
  switch (reason) {
    case DepthReason::policy: return "policy";
    case DepthReason::fixed: return "fixed";
    case DepthReason::parked: return "parked";
    case DepthReason::probe: return "probe";
    case DepthReason::timing: return "timing";
    case DepthReason::request: return "request";
    case DepthReason::cap_running: return "cap_running";
    case DepthReason::cap_context: return "cap_context";
    case DepthReason::cap_kv: return "cap_kv";
    case DepthReason::prompts: return "prompts";
  }
  return "?";
}

Result<std::unique_ptr<RoutingLog>> RoutingLog::open(const RoutingLogSettings& settings, std::string model,
                                                     StepObserver* next) {
  std::unique_ptr<RoutingLog> made(new RoutingLog(settings, std::move(model), next));
  TRY(made->begin_file());
  return made;
}

Status RoutingLog::begin_file() {
  file_.reset(std::fopen(settings_.file.c_str(), "ae"));
  if (file_ == nullptr) return Error{fmt::format("{}: {}", settings_.file, std::strerror(errno))};
  std::error_code error;
  const auto size = std::filesystem::file_size(settings_.file, error);
  written_ = error ? 0 : size;
  return Done{};
}

bool RoutingLog::is_news(const DepthDecision& decision) {
  if (settings_.every_step) return true;
  if (said_.size() > kMostRemembered) said_.clear();
  const Said now{decision.depth, decision.reason, decision.by};
  const auto [place, is_new] = said_.try_emplace({decision.request, decision.choice}, now);
  if (!is_new && place->second == now) return false;
  place->second = now;
  return true;
}

void RoutingLog::write(const StepReport& report, const DepthDecision& decision) {
  boost::json::object line;
  line["ts"] = seconds_now();
  line["model"] = model_;
  line["request"] = decision.request;
  line["choice"] = decision.choice;
  line["step"] = report.step;
  line["running"] = report.running;
  line["waiting"] = report.waiting;
  line["context"] = decision.context;
  line["kv_used_ratio"] = report.kv_used;
  line["drafter"] = decision.by ? boost::json::value(drafted_by_name(*decision.by)) : boost::json::value();
  line["depth"] = decision.depth;
  line["reason"] = depth_reason_name(decision.reason);
  line["drafted"] = decision.drafted;
  line["accepted"] = decision.accepted;
  line["draft_us"] = static_cast<int64_t>(report.draft_ms * 1000);
  line["step_us"] = static_cast<int64_t>(report.step_ms * 1000);
  const std::string text = boost::json::serialize(line) + "\n";
  written_ += std::fwrite(text.data(), 1, text.size(), file_.get());
}

void RoutingLog::observe(const StepReport& report) {
  if (next_ != nullptr) next_->observe(report);
  if (file_ == nullptr) return;
  bool wrote = false;
  for (const DepthDecision& decision : report.decisions) {
    if (!is_news(decision)) continue;
    write(report, decision);
    wrote = true;
  }
  if (wrote) std::fflush(file_.get());
  if (written_ < settings_.most_bytes) return;
  std::error_code error;
  std::filesystem::rename(settings_.file, settings_.file + ".1", error);
  // A log that cannot be written on is not worth stopping for.
  (void)begin_file();
}

void RoutingLog::observe_failure(const std::string& why) {
  if (next_ != nullptr) next_->observe_failure(why);
}

}  // namespace paceline
