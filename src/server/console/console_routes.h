// The console's own routes: its files, who is logged in, and what it shows that a program could ask for as well.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "server/api_keys.h"
#include "server/console/all_time.h"
#include "server/console/benchmarks.h"
#include "server/console/console_pages.h"
#include "server/console/console_sessions.h"
#include "server/console/settings_text.h"
#include "server/history.h"
#include "server/http_call.h"
#include "server/log.h"
#include "server/settings.h"

namespace paceline {

// How the one who asks stands.
struct CallerStanding {
  bool is_known = true;     // has a key, or needs none
  bool may_manage = false;  // may see and end what others asked for
};

// What it asks, besides; all of it outlives it.
struct ConsoleSources {
  const ServerSettings* settings = nullptr;
  const ApiKeys *keys = nullptr, *admin_keys = nullptr;
  Log* log = nullptr;
  std::function<std::string()> model_name;  // that clients are told
  std::function<int32_t()> context;         // of it
  std::function<std::string()> metrics;     // as text
  // That are used; none: it computes on the host.
  std::function<std::optional<size_t>()> device_bytes;
  std::function<boost::json::object()> model_facts;
  std::function<void(const LiveSettings& live)> apply;
};

// May be used by several threads.
class ConsoleRoutes {
 public:
  explicit ConsoleRoutes(ConsoleSources sources);
  ~ConsoleRoutes();
  ConsoleRoutes(const ConsoleRoutes&) = delete;
  ConsoleRoutes& operator=(const ConsoleRoutes&) = delete;

  [[nodiscard]] static bool is_route(std::string_view path);
  // path: of the route, as the table of routes has it.
  HttpAnswer handle(const HttpCall& call, const CallerStanding& standing);

  // Whose cookie it is, if a page of ours sends it.
  void recognise(HttpCall& call);
  // Once a second, or more often: the text of /metrics is asked for when it is time.
  void take_sample();
  [[nodiscard]] const MetricsHistory& kept_history() const { return history_; }

 private:
  void add_sample();
  HttpAnswer session(const HttpCall& call, const CallerStanding& standing);
  HttpAnswer log_in(const HttpCall& call);
  HttpAnswer history(const HttpCall& call) const;
  HttpAnswer log_lines(const HttpCall& call) const;
  HttpAnswer settings(const HttpCall& call);
  std::optional<ApiError> change_settings(const std::string& body, bool writes);
  [[nodiscard]] Status check_setting(const std::string& name, const std::string& value) const;
  std::optional<ApiError> change_setting(const std::string& name, const std::string& value);
  [[nodiscard]] std::optional<ApiError> write_settings(const SettingValues& all) const;
  [[nodiscard]] boost::json::object settings_object() const;
  HttpAnswer clients(const HttpCall& call) const;
  [[nodiscard]] boost::json::object benchmark_facts() const;

  ConsoleSources sources_;
  ConsolePages pages_;
  ConsoleSessions sessions_;
  MetricsHistory history_;
  AllTime all_time_;
  Benchmarks benchmarks_;
  mutable std::mutex settings_mutex_;
  SettingValues changed_;  // since the start
  double sampled_ = 0;
};

}  // namespace paceline
