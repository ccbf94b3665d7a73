#include "server/console/console_routes.h"

#include <fmt/format.h>

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cmath>
#include <cstdlib>

#include "base/resident_memory.h"

namespace paceline {
namespace {

namespace json = boost::json;

constexpr std::string_view kSession = "/console/session";

HttpAnswer object_answer(const json::object& object, int status = 200) {
  return {.status = status, .body = json::serialize(object), .headers = {{"Cache-Control", "no-store"}}};
}

// A number of the address: …?name=12&…
double number_in(std::string_view query, std::string_view name, double otherwise) {
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view part = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (!part.starts_with(name) || !part.substr(name.size()).starts_with('=')) continue;
    const double number = std::strtod(std::string(part.substr(name.size() + 1)).c_str(), nullptr);
    return std::isfinite(number) ? number : otherwise;
  }
  return otherwise;
}

json::object setting_object(const DescribedSetting& one) {
  return {{"name", one.name},        {"group", one.group}, {"help", one.help},
          {"value", one.value},      {"from", one.source}, {"now", one.name == "log-level"},
          {"variable", one.variable}};
}

}  // namespace

ConsoleRoutes::ConsoleRoutes(ConsoleSources sources)
    : sources_(std::move(sources)),
      pages_(sources_.settings->console_dir),
      benchmarks_(sources_.settings->run_benchmark, sources_.metrics) {}

bool ConsoleRoutes::is_route(std::string_view path) {
  return ConsolePages::is_file(path) || path == "/v1/history" || path == "/v1/log" || path == "/v1/settings" ||
         path == "/v1/clients" || Benchmarks::is_route(path);
}

HttpAnswer ConsoleRoutes::handle(const HttpCall& call, const CallerStanding& standing) {
  if (call.path == kSession) return session(call, standing);
  if (call.path == "/v1/history") return history(call);
  if (call.path == "/v1/log") return log_lines(call);
  if (call.path == "/v1/settings") return settings(call);
  if (call.path == "/v1/clients") return clients(call);
  if (Benchmarks::is_route(call.path)) return benchmarks_.handle(call);
  return pages_.answer(call);
}

// A page of another origin can make a browser send a request, and no header of ours with it; and where SameSite keeps
// the cookie from it, no cookie either.
void ConsoleRoutes::recognise(HttpCall& call) {
  if (call.cookies.empty() || !call.authorization.empty() || !call.api_key.empty()) return;
  const bool only_reads = call.method == "GET" || call.method == "HEAD";
  if (only_reads || call.is_console) call.session = sessions_.find(call.cookies);
}

HttpAnswer ConsoleRoutes::session(const HttpCall& call, const CallerStanding& standing) {
  if (call.method == "POST") return log_in(call);
  if (call.method == "DELETE") {
    sessions_.end(call.cookies);
    HttpAnswer answer = object_answer({{"known", !sources_.keys->needed()}});
    answer.headers.emplace_back("Set-Cookie", ConsoleSessions::goodbye());
    return answer;
  }
  return object_answer({{"keys", sources_.keys->needed() || sources_.admin_keys->needed()},
                        {"known", standing.is_known},
                        {"manages", standing.may_manage},
                        {"session", call.session.has_value()},
                        {"version", PACELINE_VERSION}});
}

HttpAnswer ConsoleRoutes::log_in(const HttpCall& call) {
  if (!call.is_console) {
    return error_answer(call,
                        {.status = 403, .message = "the header x-paceline-console is missing", .code = "no_console"});
  }
  if (const double wait_s = sessions_.try_from(call.address); wait_s > 0) {
    return error_answer(call, {.status = 429,
                               .message = "too many attempts; try again later",
                               .code = "too_many_attempts",
                               .retry_after_s = static_cast<int>(std::ceil(wait_s))});
  }
  boost::system::error_code failed;
  const json::value body = json::parse(call.body, failed);
  const json::value* key = !failed && body.is_object() ? body.as_object().if_contains("key") : nullptr;
  if (key == nullptr || !key->is_string()) return error_answer(call, no_key());
  const std::string_view text = key->as_string();
  SessionOwner owner{.key = sources_.keys->check("", text),
                     .is_admin = sources_.admin_keys->needed() && sources_.admin_keys->check("", text).has_value()};
  if (!owner.key && !owner.is_admin) return error_answer(call, no_key());
  HttpAnswer answer = object_answer({{"known", true}});
  answer.headers.emplace_back("Set-Cookie", sessions_.begin(owner));
  return answer;
}

void ConsoleRoutes::take_sample() {
  const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  // Whoever asks does so a few times in a second.
  if (now - sampled_ < 0.9) return;
  sampled_ = now;
  history_.add(sources_.metrics(), now, static_cast<double>(resident_bytes()));
}

HttpAnswer ConsoleRoutes::history(const HttpCall& call) const {
  return {.body = history_.json(number_in(call.query, "seconds", 60), number_in(call.query, "since", 0)),
          .headers = {{"Cache-Control", "no-store"}}};
}

HttpAnswer ConsoleRoutes::log_lines(const HttpCall& call) const {
  const Log::Lines lines = sources_.log->lines_behind(static_cast<int64_t>(number_in(call.query, "since", 0)));
  return object_answer({{"next", lines.next}, {"lines", json::array(lines.lines.begin(), lines.lines.end())}});
}

HttpAnswer ConsoleRoutes::settings(const HttpCall& call) {
  if (call.method == "POST") {
    boost::system::error_code failed;
    const json::value body = json::parse(call.body, failed);
    const json::value* level = !failed && body.is_object() ? body.as_object().if_contains("log-level") : nullptr;
    const bool is_level = level != nullptr && level->is_string() && sources_.log->set_level(level->as_string());
    if (!is_level) {
      return error_answer(call, {.message = "log-level: expected error, info or debug", .param = "log-level"});
    }
  }
  json::array all;
  for (const DescribedSetting& one : sources_.settings->described) {
    json::object made = setting_object(one);
    if (one.name == "log-level") made["value"] = sources_.log->level_name();
    all.push_back(std::move(made));
  }
  return object_answer({{"settings", std::move(all)}});
}

HttpAnswer ConsoleRoutes::clients(const HttpCall& call) const {
  json::array all;
  if (sources_.settings->client_texts) {
    for (const ClientText& one :
         sources_.settings->client_texts("http://" + call.host, sources_.model_name(), sources_.context())) {
      all.push_back({{"name", one.name},
                     {"variables", one.variables},
                     {"file", one.file},
                     {"text", one.text},
                     {"then", one.then}});
    }
  }
  return object_answer({{"clients", std::move(all)}});
}

}  // namespace paceline
