#include "server/console/benchmarks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstdlib>

#include "server/wire.h"

namespace paceline {
namespace {

namespace json = boost::json;

constexpr std::string_view kBenchmarks = "/v1/benchmarks", kBenchmarkPrefix = "/v1/benchmarks/";
constexpr size_t kMostValues = 12;
constexpr int32_t kDeepest = 15;

double now_s() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

// False: it is there, and no number within bounds.
bool read_bounded(const json::object& body, std::string_view name, int32_t low, int32_t high, int32_t& into) {
  const json::value* found = body.if_contains(name);
  if (found == nullptr) return true;
  if (!found->is_int64() || found->get_int64() < low || found->get_int64() > high) return false;
  into = static_cast<int32_t>(found->get_int64());
  return true;
}

// Likewise for a list of them, or a single one.
bool read_numbers(const json::object& body, std::string_view name, int32_t low, int32_t high,
                  std::vector<int32_t>& into) {
  const json::value* found = body.if_contains(name);
  if (found == nullptr) return true;
  const json::array all = found->is_array() ? found->get_array() : json::array{*found};
  if (all.size() > kMostValues) return false;
  into.clear();
  for (const json::value& one : all) {
    if (!one.is_int64() || one.get_int64() < low || one.get_int64() > high) return false;
    into.push_back(static_cast<int32_t>(one.get_int64()));
  }
  return true;
}

// Numbers, and "auto".
bool read_depths(const json::object& body, std::vector<std::optional<int32_t>>& into) {
  const json::value* found = body.if_contains("depths");
  if (found == nullptr) return true;
  if (!found->is_array() || found->get_array().empty() || found->get_array().size() > kMostValues) return false;
  into.clear();
  for (const json::value& one : found->get_array()) {
    const bool is_depth = one.is_int64() && one.get_int64() >= 1 && one.get_int64() <= kDeepest;
    if (!is_depth && one != "auto") return false;
    into.push_back(is_depth ? std::optional(static_cast<int32_t>(one.get_int64())) : std::nullopt);
  }
  return true;
}

bool read_kinds(const json::object& body, const std::vector<std::string>& known, std::vector<std::string>& into) {
  const json::value* found = body.if_contains("kinds");
  if (found == nullptr) return true;
  if (!found->is_array() || found->get_array().size() > known.size()) return false;
  for (const json::value& one : found->get_array()) {
    if (!one.is_string() || std::find(known.begin(), known.end(), one.get_string()) == known.end()) return false;
    into.emplace_back(one.get_string());
  }
  return true;
}

bool read_plan(const std::string& text, const std::vector<std::string>& kinds, BenchmarkPlan& plan) {
  boost::system::error_code failed;
  const json::value body = json::parse(text, failed);
  if (failed || !body.is_object()) return false;
  const json::object& object = body.get_object();
  return read_numbers(object, "at_once", 1, 64, plan.at_once) && !plan.at_once.empty() &&
         read_numbers(object, "prompt_words", 1, 100000, plan.prompt_words) && read_kinds(object, kinds, plan.kinds) &&
         read_depths(object, plan.depths) && read_bounded(object, "requests", 1, 1000, plan.requests) &&
         read_bounded(object, "rounds", 1, 9, plan.rounds) &&
         read_bounded(object, "output_tokens", 1, 4096, plan.output_tokens);
}

json::object plan_object(const BenchmarkPlan& plan) {
  json::array depths;
  for (const auto& depth : plan.depths) depths.push_back(depth ? json::value(*depth) : json::value("auto"));
  return {{"at_once", json::array(plan.at_once.begin(), plan.at_once.end())},
          {"requests", plan.requests},
          {"rounds", plan.rounds},
          {"output_tokens", plan.output_tokens},
          {"prompt_words", json::array(plan.prompt_words.begin(), plan.prompt_words.end())},
          {"kinds", json::array(plan.kinds.begin(), plan.kinds.end())},
          {"depths", std::move(depths)}};
}

HttpAnswer benchmark_error(const HttpCall& call, int status, std::string message) {
  return error_answer(call, {.status = status, .message = std::move(message), .code = "benchmark"});
}

}  // namespace

Benchmarks::~Benchmarks() {
  {
    const std::lock_guard lock(mutex_);
    if (running_ != nullptr) running_->stopped = true;
  }
  if (thread_.joinable()) thread_.join();
}

bool Benchmarks::is_route(std::string_view path) { return path == kBenchmarks || path.starts_with(kBenchmarkPrefix); }

HttpAnswer Benchmarks::handle(const HttpCall& call) {
  if (call.path == kBenchmarks) return call.method == "POST" ? start(call) : list();
  const std::string_view id = std::string_view(call.path).substr(kBenchmarkPrefix.size());
  const std::lock_guard lock(mutex_);
  return one(call, id);
}

// Whoever ends one that runs wants to see how far it came; one that has ended goes for good.
HttpAnswer Benchmarks::one(const HttpCall& call, std::string_view id) {
  const bool is_running = running_ != nullptr && running_->id == id;
  const json::object* found = is_running ? nullptr : ended_.find(id);
  if (!is_running && found == nullptr) return benchmark_error(call, 404, "there is no such run");
  json::object made{{"id", id}, {"state", "running"}, {"svg", ""}};
  if (found != nullptr) {
    for (const char* field : {"state", "svg"})
      if (const json::value* value = found->if_contains(field)) made[field] = *value;
  }
  if (call.method == "DELETE") {
    if (is_running) {
      running_->stopped = true;
    } else {
      ended_.remove(id);
    }
  }
  // A picture is a page for browsers, and nobody's text is in it.
  return {.body = json::serialize(made), .headers = {}};
}

double Benchmarks::ended_requests() const {
  const std::string text = metrics_();
  double sum = 0;
  constexpr std::string_view kName = "vllm:request_success_total{";
  for (size_t at = text.find(kName); at != std::string::npos; at = text.find(kName, at + 1)) {
    const size_t close = text.find("} ", at);
    if (close != std::string::npos) sum += std::strtod(text.c_str() + close + 2, nullptr);
  }
  return sum;
}

HttpAnswer Benchmarks::start(const HttpCall& call) {
  auto run = std::make_shared<Run>();
  if (!read_plan(call.body, kinds_, run->plan)) {
    return benchmark_error(call, 400,
                           fmt::format("expected at_once (1 to 64 each), requests, rounds, output_tokens, "
                                       "prompt_words, depths (1 to {} or \"auto\"), kinds ({})",
                                       kDeepest, fmt::join(kinds_, ", ")));
  }
  const std::lock_guard lock(mutex_);
  if (!run_) return benchmark_error(call, 501, "this server measures nothing");
  if (running_ != nullptr) return benchmark_error(call, 409, "one is running already");
  if (thread_.joinable()) thread_.join();
  run->id = "bench_" + new_letters();
  run->began = now_s();
  run->facts = facts_();
  running_ = run;
  thread_ = std::thread([this, run, url = "http://" + call.host] { measure(url, *run); });
  return {.body = json::serialize(json::object{{"id", run->id}}), .headers = {}};
}

void Benchmarks::measure(const std::string& url, Run& run) {
  const double before = ended_requests();
  const auto result = run_(url, run.plan,
                           {.progress =
                                [&](int64_t done, int64_t total) {
                                  const double own = static_cast<double>(done * run.plan.requests);
                                  const auto others = static_cast<int64_t>(ended_requests() - before - own);
                                  const std::lock_guard lock(mutex_);
                                  run.done = done;
                                  run.total = total;
                                  run.others = std::max<int64_t>(0, others);
                                },
                            .begin =
                                [&](std::string what) {
                                  const std::lock_guard lock(mutex_);
                                  run.now = std::move(what);
                                },
                            .hear =
                                [&](std::string report) {
                                  const std::lock_guard lock(mutex_);
                                  run.report = std::move(report);
                                },
                            .stopped = [&] { return run.stopped.load(); }});
  const std::lock_guard lock(mutex_);
  run.ended = now_s();
  run.state = result.ok() ? "done" : run.stopped ? "cancelled" : "failed";
  if (result.ok())
    run.svg = *result;
  else
    run.problem = result.error().message;
  json::object ended = object_of(run);
  ended["svg"] = run.svg;
  ended_.add(std::move(ended));
  running_ = nullptr;
}

json::object Benchmarks::object_of(const Run& run) {
  json::object made{{"id", run.id},         {"state", run.state},     {"began", run.began},
                    {"ended", run.ended},   {"done", run.done},       {"total", run.total},
                    {"others", run.others}, {"problem", run.problem}, {"version", PACELINE_VERSION}};
  made["plan"] = plan_object(run.plan);
  made["now"] = run.state == "running" ? run.now : "";
  made["facts"] = run.facts;
  made["report"] = run.report.empty() ? json::value() : json::parse(run.report);
  return made;
}

HttpAnswer Benchmarks::list() {
  json::array all;
  const std::lock_guard lock(mutex_);
  if (running_ != nullptr) all.push_back(object_of(*running_));
  for (const json::value& run : ended_.all()) all.emplace_back(run).get_object().erase("svg");
  return {.body = json::serialize(
              json::object{{"runs", std::move(all)}, {"kinds", json::array(kinds_.begin(), kinds_.end())}}),
          .headers = {{"Cache-Control", "no-store"}}};
}

}  // namespace paceline
