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
#include <variant>
#include <vector>

#include "server/api_keys.h"
#include "server/console/console_routes.h"
#include "server/health.h"
#include "server/http_call.h"
#include "server/key_guard.h"
#include "server/live_limits.h"
#include "server/log.h"
#include "server/model_routes.h"
#include "server/model_shelf.h"
#include "server/origin_check.h"
#include "server/reply.h"
#include "server/request_ledger.h"
#include "server/responses/response_store.h"
#include "server/settings.h"
#include "server/waiting_calls.h"

namespace paceline {

// What routes ask, besides the models; all of it outlives them.
struct RouteSources {
  Log* log = nullptr;
  std::function<std::vector<LaneState>()> request_lanes;  // that every request passes
  std::function<std::vector<LaneState>()> media_lanes;
  std::function<void()> idle_changed;  // how long connections may be
};

// May be used by several threads.
class Routes {
 public:
  // All must outlive it.
  Routes(ModelShelf& shelf, RouteSources sources, const ServerSettings& settings);

  // Whose cookie it brings, before anything else is asked.
  void recognise(HttpCall& call) { console_.recognise(call); }
  // What can be said before the body is read: not from there, no such route, no key, no room.
  [[nodiscard]] std::optional<HttpAnswer> refuse(const HttpCall& call) const;
  // What every answer to this call has besides.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> answer_headers(const HttpCall& call) const {
    return origins_.answer_headers(call);
  }
  // The rest. Takes as long as parsing, rendering and encoding do; exchanges have been submitted.
  // came: the model that it had to wait for.
  Reply handle(const HttpCall& call, const ModelTicket* came = nullptr);
  // What it had to wait for did not come in time.
  HttpAnswer answer_late(const HttpCall& call, const std::string& model) { return models_.answer_late(call, model); }
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

  // Of one whose model is still to come: it is listed as long as the place is kept. None: it is no request for text.
  std::unique_ptr<WaitingCalls::Place> note_waiting(const HttpCall& call, const Reply& reply,
                                                    const std::shared_ptr<ModelTicket>& ticket);
  // The model did not come, or nobody waits for it any more: it ended so.
  void note_in_vain(const WaitingCalls::Place& place, const std::string& end);
  // Its answer has been written, or nobody wants it.
  void note_ended(const HttpCall& call, Exchange& exchange);
  // Exchanges that run end with an error: the server is shutting down.
  void cancel_all();
  // Nobody new should come: /ready says so. Who does is served.
  void leave() { leaving_ = true; }
  [[nodiscard]] bool leaving() const { return leaving_; }
  // Between requests of a connection.
  [[nodiscard]] double idle_s() const { return idle_s_; }
  // Who comes is refused.
  void drain() { leaving_ = draining_ = true; }
  [[nodiscard]] bool draining() const { return draining_; }
  // A few times in a second. What changes is logged. Comes back with why the engine will not go on, where it will not
  // and somebody watches over that.
  std::optional<std::string> look_after_health();
  // Exchanges that run end with an error, though the engine says nothing.
  void abandon_all(const std::string& why);

 private:
  Reply handle_get(const HttpCall& call);
  [[nodiscard]] std::optional<size_t> key_of(const HttpCall& call) const {
    if (call.session && call.session->key) return call.session->key;
    return keys_.check(call.authorization, call.api_key);
  }
  [[nodiscard]] bool may_manage(const HttpCall& call) const;
  [[nodiscard]] bool is_admin(const HttpCall& call) const;
  [[nodiscard]] std::optional<HttpAnswer> refuse_key(const HttpCall& call, bool manages) const;
  std::unique_ptr<Wire> wire_for(const HttpCall& call);
  Reply handle_ollama(const HttpCall& call, const ModelTicket* came);
  Reply answer_ollama(const HttpCall& call, const ModelTicket* came);
  HttpAnswer requests(const HttpCall& call);
  Reply watch_events(const HttpCall& call);
  HttpAnswer cancel_request(const HttpCall& call);
  std::unique_ptr<Wire> wire_by_body(const HttpCall& call);
  enum class Purpose : uint8_t { answer, count, tokenize, render };
  Reply complete(const HttpCall& call, std::unique_ptr<Wire> wire, Purpose purpose);
  HttpAnswer stored_response(const HttpCall& call);
  // One that runs; null: there is none.
  std::shared_ptr<Exchange> find_exchange(std::string_view id);
  void remember(const std::shared_ptr<Exchange>& exchange);
  // The model that is called so, or what to say or to wait for instead.
  std::variant<ModelLease, Reply> model_for(const HttpCall& call, std::string_view called);
  Reply tokenize(const HttpCall& call);
  Reply detokenize(const HttpCall& call);
  HttpAnswer props(const HttpCall& call);
  void end_all_of(const std::string& model);
  int32_t default_context();
  boost::json::object model_facts();
  void apply(const LiveSettings& live);
  [[nodiscard]] std::optional<size_t> device_bytes();
  HealthReport check_health();
  HttpAnswer health();
  HttpAnswer ready();
  HttpAnswer metrics();
  Reply handle_console(const HttpCall& call);

  ModelShelf& shelf_;
  RouteSources sources_;
  const ServerSettings& settings_;
  ApiKeys keys_, admin_keys_;
  mutable KeyAttempts attempts_;
  mutable KeyLimits limits_;
  LiveLimits request_limits_;
  std::atomic<double> idle_s_;
  RequestLedger ledger_;
  WaitingCalls waiting_;
  EventLog events_;
  OriginCheck origins_;
  ConsoleRoutes console_;
  responses::ResponseStore responses_;
  ModelRoutes models_;
  Health health_;            // of the lanes
  bool was_healthy_ = true;  // whoever looks after it
  std::atomic<bool> leaving_ = false, draining_ = false;
  std::mutex exchanges_mutex_;
  std::vector<std::weak_ptr<Exchange>> exchanges_;
  size_t tidy_at_ = 64;  // entries at which those that have ended are taken out
};

}  // namespace paceline
