// What is asked for where, and who answers.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/api_keys.h"
#include "server/completion_plan.h"
#include "server/exchange.h"
#include "server/health.h"
#include "server/http_call.h"
#include "server/log.h"
#include "server/metrics.h"
#include "server/origin_check.h"
#include "server/responses/response_store.h"
#include "server/served_model.h"
#include "server/settings.h"

namespace paceline {

// An answer, or an exchange that will have one, or a request whose media come first, or that is more work than its body
// says.
struct Reply {
  HttpAnswer answer;
  std::shared_ptr<Exchange> exchange = nullptr;
  std::shared_ptr<CompletionPlanner> waiting = nullptr;
};

// What routes ask, besides the model; all of it outlives them.
struct RouteSources {
  Metrics* metrics = nullptr;
  Log* log = nullptr;
  std::function<std::vector<LaneState>()> request_lanes;  // that every request passes
  std::function<std::vector<LaneState>()> media_lanes;
};

// May be used by several threads.
class Routes {
 public:
  // All must outlive it.
  Routes(ServedModel& model, RouteSources sources, const ServerSettings& settings);

  // What can be said before the body is read: not from there, no such route, no key, no room.
  [[nodiscard]] std::optional<HttpAnswer> refuse(const HttpCall& call) const;
  // What every answer to this call has besides.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> answer_headers(const HttpCall& call) const {
    return origins_.answer_headers(call);
  }
  // The rest. Takes as long as parsing, rendering and encoding do; exchanges have been submitted.
  Reply handle(const HttpCall& call);
  // About the bytes of text that handle() works on.
  [[nodiscard]] static size_t weight_of(const HttpCall& call);
  // Where that was waiting: its media are there, and this is a thread for as much work.
  Reply go_on(const HttpCall& call, CompletionPlanner& planner);
  // Whether handle() is too long for a thread that has other clients to serve.
  [[nodiscard]] static bool is_long(const HttpCall& call) { return call.method == "POST"; }
  // A path as routes know it.
  [[nodiscard]] static std::string known_path(std::string path);
  // For metrics: the path of a route, or "other".
  [[nodiscard]] static std::string_view route_name(std::string_view path);

  // Exchanges that run end with an error: the server is shutting down.
  void cancel_all();
  // Nobody new should come: /ready says so. Who does is served.
  void leave() { leaving_ = true; }
  [[nodiscard]] bool leaving() const { return leaving_; }
  // Who comes is refused.
  void drain() { leaving_ = draining_ = true; }
  [[nodiscard]] bool draining() const { return draining_; }
  // A few times in a second. What changes is logged.
  void look_after_health();

 private:
  Reply handle_get(const HttpCall& call);
  [[nodiscard]] std::optional<size_t> key_of(const HttpCall& call) const {
    return keys_.check(call.authorization, call.api_key);
  }
  std::unique_ptr<Wire> wire_for(const HttpCall& call);
  Reply complete(const HttpCall& call, std::unique_ptr<Wire> wire, bool only_counts);
  HttpAnswer stored_response(const HttpCall& call);
  // One that runs; null: there is none.
  std::shared_ptr<Exchange> find_exchange(std::string_view id);
  void remember(const std::shared_ptr<Exchange>& exchange);
  HttpAnswer tokenize(const HttpCall& call);
  HttpAnswer detokenize(const HttpCall& call);
  HttpAnswer models(const HttpCall& call);
  HttpAnswer health();
  HttpAnswer ready();
  HttpAnswer metrics() const;

  ServedModel& model_;
  RouteSources sources_;
  const ServerSettings& settings_;
  ApiKeys keys_;
  OriginCheck origins_;
  responses::ResponseStore responses_;
  Health health_;
  bool was_healthy_ = true;  // whoever looks after it
  std::atomic<bool> leaving_ = false, draining_ = false;
  std::mutex exchanges_mutex_;
  std::vector<std::weak_ptr<Exchange>> exchanges_;
  size_t tidy_at_ = 64;  // entries at which those that have ended are taken out
};

}  // namespace paceline
