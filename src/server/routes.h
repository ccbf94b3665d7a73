// What is asked for where, and who answers.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "server/api_keys.h"
#include "server/completion_plan.h"
#include "server/exchange.h"
#include "server/http_call.h"
#include "server/metrics.h"
#include "server/served_model.h"
#include "server/settings.h"

namespace paceline {

// An answer, or an exchange that will have one, or a request whose media are to be fetched first.
struct Reply {
  HttpAnswer answer;
  std::shared_ptr<Exchange> exchange = nullptr;
  std::shared_ptr<CompletionPlanner> waiting = nullptr;
};

// May be used by several threads.
class Routes {
 public:
  // All must outlive it.
  Routes(ServedModel& model, Metrics& metrics, const ServerSettings& settings);

  // What can be said before the body is read: no such route, no key, no room.
  [[nodiscard]] std::optional<HttpAnswer> refuse(const HttpCall& call) const;
  // The rest. Takes as long as parsing, rendering and encoding do; exchanges have been submitted.
  Reply handle(const HttpCall& call);
  // Where that was waiting for its media: it has them now.
  Reply go_on(const HttpCall& call, CompletionPlanner& planner);
  // Whether handle() is too long for a thread that has other clients to serve.
  [[nodiscard]] static bool is_long(const HttpCall& call) { return call.method == "POST"; }
  // For metrics: the path of a route, or "other".
  [[nodiscard]] static std::string_view route_name(std::string_view path);

  // Exchanges that run end with an error: the server is shutting down.
  void cancel_all();
  void drain() { draining_ = true; }
  [[nodiscard]] bool draining() const { return draining_; }

 private:
  Reply handle_get(const HttpCall& call);
  Reply complete(const HttpCall& call, bool chat);
  void remember(const std::shared_ptr<Exchange>& exchange);
  HttpAnswer tokenize(const HttpCall& call);
  HttpAnswer detokenize(const HttpCall& call);
  HttpAnswer models(std::string_view path);
  HttpAnswer health() const;
  HttpAnswer ready() const;

  ServedModel& model_;
  Metrics& metrics_;
  const ServerSettings& settings_;
  ApiKeys keys_;
  std::atomic<bool> draining_ = false;
  std::mutex exchanges_mutex_;
  std::vector<std::weak_ptr<Exchange>> exchanges_;
  size_t tidy_at_ = 64;  // entries at which those that have ended are taken out
};

}  // namespace paceline
