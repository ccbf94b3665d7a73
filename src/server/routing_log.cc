#include "server/routing_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

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

Result<std::unique_ptr<RoutingLog>> RoutingLog::open(const RoutingLogSettings& settings) {
  std::unique_ptr<RoutingLog> made(new RoutingLog(settings));
  if (!settings.file.empty()) TRY(made->begin_file());
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

// One engine's.
class RoutingLog::Observer final : public StepObserver {
 public:
  Observer(RoutingLog& log, std::string model, StepObserver* next) : log_(log), model_(std::move(model)), next_(next) {}

  void observe(const StepReport& report) override {
    if (next_ != nullptr) next_->observe(report);
    std::vector<std::string> lines;
    for (const DepthDecision& decision : report.decisions) {
      if (is_news(decision)) lines.push_back(line_of(report, decision));
    }
    if (!lines.empty()) log_.add(lines);
  }
  void observe_failure(const std::string& why) override {
    if (next_ != nullptr) next_->observe_failure(why);
  }

 private:
  [[nodiscard]] bool is_news(const DepthDecision& decision) {
    if (log_.settings_.every_step) return true;
    if (said_.size() > kMostRemembered) said_.clear();
    const Said now{decision.depth, decision.reason, decision.by};
    const auto [place, is_new] = said_.try_emplace({decision.request, decision.choice}, now);
    if (!is_new && place->second == now) return false;
    place->second = now;
    return true;
  }

  [[nodiscard]] std::string line_of(const StepReport& report, const DepthDecision& decision) const {
    boost::json::object line;
    line["ts"] = seconds_now();
    line["model"] = model_;
    line["request"] = decision.request;
    const std::string name = log_.name_of(decision.label);
    line["id"] = name.empty() ? boost::json::value() : boost::json::value(name);
    line["choice"] = decision.choice;
    line["step"] = report.step;
    line["running"] = report.running;
    line["waiting"] = report.waiting;
    line["context"] = decision.context;
    line["kv_used_ratio"] = report.kv_used;
    line["drafter"] = decision.by ? boost::json::value(drafted_by_name(*decision.by)) : boost::json::value();
    line["depth"] = decision.depth;
    line["reason"] = depth_reason_name(decision.reason);
    boost::json::array& resting = line["resting"].emplace_array();
    for (size_t kind = 0; kind < decision.resting.size(); ++kind)
      if (decision.resting.test(kind)) resting.push_back(drafted_by_name(static_cast<DraftedBy>(kind)));
    line["drafted"] = decision.drafted;
    line["accepted"] = decision.accepted;
    line["draft_us"] = static_cast<int64_t>(report.draft_ms * 1000);
    line["step_us"] = static_cast<int64_t>(report.step_ms * 1000);
    return boost::json::serialize(line);
  }

  RoutingLog& log_;
  std::string model_;
  StepObserver* next_;
  // What was said last of a request's choice. Forgotten now and then: what is said again does no harm.
  struct Said {
    int32_t depth;
    DepthReason reason;
    std::optional<DraftedBy> by;
    bool operator==(const Said&) const = default;
  };
  std::map<std::pair<uint64_t, int32_t>, Said> said_;
};

std::unique_ptr<StepObserver> RoutingLog::of(std::string model, StepObserver* next) {
  return std::make_unique<Observer>(*this, std::move(model), next);
}

uint64_t RoutingLog::label_of(std::string request) {
  const std::lock_guard lock(mutex_);
  names_.push_back(std::move(request));
  if (names_.size() > kMostNames) names_.pop_front();
  return ++labels_;
}

std::string RoutingLog::name_of(uint64_t label) const {
  const std::lock_guard lock(mutex_);
  const uint64_t first = labels_ + 1 - names_.size();
  return label >= first && label <= labels_ ? names_[label - first] : "";
}

void RoutingLog::add(const std::vector<std::string>& lines) {
  const std::lock_guard lock(mutex_);
  added_ += static_cast<int64_t>(lines.size());
  for (const std::string& line : lines) {
    recent_.push_back(line);
    if (file_ == nullptr) continue;
    const std::string text = line + "\n";
    written_ += std::fwrite(text.data(), 1, text.size(), file_.get());
  }
  while (recent_.size() > kMostRecent) recent_.pop_front();
  if (file_ == nullptr) return;
  std::fflush(file_.get());
  if (written_ < settings_.most_bytes) return;
  std::error_code error;
  std::filesystem::rename(settings_.file, settings_.file + ".1", error);
  // A log that cannot be written on is not worth stopping for.
  (void)begin_file();
}

std::string RoutingLog::recent() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const std::string& line : recent_) text += line + "\n";
  return text;
}

int64_t RoutingLog::next_number() const {
  const std::lock_guard lock(mutex_);
  return added_;
}

std::vector<std::string> RoutingLog::since(int64_t number) const {
  const std::lock_guard lock(mutex_);
  const int64_t wanted = std::clamp<int64_t>(added_ - number, 0, static_cast<int64_t>(recent_.size()));
  return {recent_.end() - wanted, recent_.end()};
}

}  // namespace paceline
