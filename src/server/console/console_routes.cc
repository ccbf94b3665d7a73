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
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/replaced_file.h"
#include "base/resident_memory.h"
#include "server/http_terms.h"
#include "session/machine.h"

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

// Likewise whether something is wished for; none: it is neither said nor denied. Nothing is no.
std::optional<bool> flag_in(std::string_view query, std::string_view name) {
  const std::string said = query_value(query, name);
  if (said == "1" || said == "true" || said == "yes") return true;
  if (said.empty() || said == "0" || said == "false" || said == "no") return false;
  return std::nullopt;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

json::object setting_object(const DescribedSetting& one) {
  return {{"name", one.name},   {"group", one.group}, {"help", one.help},        {"value", one.value},
          {"from", one.source}, {"now", one.is_live}, {"variable", one.variable}};
}

// As a flag would be given it: 0.25, and not JSON's 2.5E-1.
std::optional<std::string> flag_text(const json::value& value) {
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_double()) return fmt::format("{}", value.get_double());
  if (value.is_bool() || value.is_number()) return json::serialize(value);
  return std::nullopt;
}

// None: they are not what such a body has. Without a body there are no values.
std::optional<SettingValues> read_setting_values(const std::string& body) {
  boost::system::error_code failed;
  const json::value read = body.empty() ? json::value(json::object()) : json::parse(body, failed);
  if (failed || !read.is_object()) return std::nullopt;
  SettingValues values;
  for (const auto& [name, given] : read.get_object()) {
    const auto text = flag_text(given);
    if (!text) return std::nullopt;
    values[name] = *text;
  }
  return values;
}

// A depth that is the policy's again is none: there was none at the start, or there would be no policy to go back to.
void leave_policy_out(SettingValues& values) {
  if (const auto depth = values.find("depth"); depth != values.end() && depth->second == "auto") values.erase(depth);
}

// Nothing of what is no file: it may never end, or never begin. None: there is one that cannot be read.
std::optional<std::string> file_text(const std::string& path) {
  if (std::error_code error; !std::filesystem::is_regular_file(path, error)) return "";
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

ConsoleRoutes::ConsoleRoutes(ConsoleSources sources)
    : sources_(std::move(sources)),
      pages_(sources_.settings->console_dir),
      all_time_(sources_.settings->totals_file, [this](const std::string& what) { sources_.log->error(what); }),
      benchmarks_(*sources_.settings, sources_.metrics, [this] { return benchmark_facts(); }) {}

// What was counted since the last sample is among the totals, too.
ConsoleRoutes::~ConsoleRoutes() {
  if (sources_.settings->console) add_sample();
}

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
  // Whoever asks does so a few times in a second.
  if (seconds_now() - sampled_ >= 0.9) add_sample();
}

void ConsoleRoutes::add_sample() {
  const double now = seconds_now();
  sampled_ = now;
  history_.add(sources_.metrics(), now, static_cast<double>(resident_bytes()), sources_.device_bytes());
  all_time_.note(*history_.newest());
}

HttpAnswer ConsoleRoutes::history(const HttpCall& call) const {
  return {.body = history_.json(number_in(call.query, "seconds", 60), number_in(call.query, "since", 0),
                                json::serialize(all_time_.before())),
          .headers = {{"Cache-Control", "no-store"}}};
}

HttpAnswer ConsoleRoutes::log_lines(const HttpCall& call) const {
  const Log::Lines lines = sources_.log->lines_behind(static_cast<int64_t>(number_in(call.query, "since", 0)));
  return object_answer({{"next", lines.next}, {"lines", json::array(lines.lines.begin(), lines.lines.end())}});
}

HttpAnswer ConsoleRoutes::settings(const HttpCall& call) {
  const std::lock_guard lock(settings_mutex_);
  if (call.method == "POST") {
    const auto writes = flag_in(call.query, "write");
    if (!writes)
      return error_answer(call, {.message = "write: expected 1, true or yes, or 0, false or no", .param = "write"});
    if (const auto problem = change_settings(call.body, *writes)) return error_answer(call, *problem);
  }
  return object_answer(settings_object());
}

// All of them, and in the file as well where they are to be written; or none.
std::optional<ApiError> ConsoleRoutes::change_settings(const std::string& body, bool writes) {
  const auto values = read_setting_values(body);
  if (!values || (values->empty() && !writes))
    return ApiError{.message = "expected {NAME: value}, each a text, a number, true or false"};
  for (const auto& [name, value] : *values) {
    if (const Status good = check_setting(name, value); !good.ok())
      return ApiError{.message = good.error().message, .param = name};
  }
  SettingValues all = *values;
  all.insert(changed_.begin(), changed_.end());
  leave_policy_out(all);
  if (writes) {
    if (auto problem = write_settings(all)) return problem;
  }
  for (const auto& [name, value] : *values) {
    if (auto problem = change_setting(name, value)) return problem;
  }
  return std::nullopt;
}

Status ConsoleRoutes::check_setting(const std::string& name, const std::string& value) const {
  if (name == "log-level") {
    if (!Log::is_level(value)) return Error{"log-level: expected error, info or debug"};
    return Done{};
  }
  if (!sources_.settings->check_setting) return Error{"nothing can be changed"};
  return sources_.settings->check_setting(name, value);
}

std::optional<ApiError> ConsoleRoutes::change_setting(const std::string& name, const std::string& value) {
  if (name == "log-level") {
    sources_.log->set_level(value);
  } else {
    const Result<LiveSettings> live = sources_.settings->change_setting(name, value);
    if (!live.ok()) return ApiError{.message = live.error().message, .param = name};
    sources_.apply(*live);
  }
  changed_[name] = value;
  leave_policy_out(changed_);
  sources_.log->info(fmt::format("{} is {} now", name, value));
  return std::nullopt;
}

json::object ConsoleRoutes::settings_object() const {
  json::array all;
  for (const DescribedSetting& one : sources_.settings->described) {
    json::object made = setting_object(one);
    if (one.name == "log-level") made["value"] = sources_.log->level_name();
    if (const auto found = changed_.find(one.name); found != changed_.end()) {
      made["value"] = found->second;
      made["from"] = "console";
    }
    all.push_back(std::move(made));
  }
  json::object made{{"settings", std::move(all)}};
  if (const std::string& path = sources_.settings->config_file; !path.empty()) {
    const std::string text = file_text(path).value_or("");
    made["file"] = {{"path", path}, {"now", text}, {"then", settings_text_with(text, changed_)}};
  }
  return made;
}

std::optional<ApiError> ConsoleRoutes::write_settings(const SettingValues& all) const {
  const std::string& path = sources_.settings->config_file;
  if (path.empty()) return ApiError{.message = "the server was started without --config"};
  const auto no_file = [](const std::string& why) {
    return ApiError{.status = 500,
                    .message = fmt::format("{}; nothing was changed", why),
                    .type = "server_error",
                    .code = "no_file"};
  };
  const std::optional<std::string> now = file_text(path);
  if (!now) return no_file(fmt::format("{}: cannot be read", path));
  const std::string then = settings_text_with(*now, all);
  // Somebody has edited it since the start.
  for (const std::string& text : {*now, then}) {
    const Status good = sources_.settings->check_config ? sources_.settings->check_config(text) : Status(Done{});
    if (!good.ok())
      return ApiError{.status = 409,
                      .message = fmt::format("{}: {}; it was left as it is", path, good.error().message),
                      .code = "broken_file"};
  }
  if (const Status written = replace_file(path, then); !written.ok()) return no_file(written.error().message);
  return std::nullopt;
}

// What a measurement is of: two are compared only where these are alike.
json::object ConsoleRoutes::benchmark_facts() const {
  json::object settings;
  for (const DescribedSetting& one : sources_.settings->described)
    if (one.source != "default" && one.name.find("key") == std::string::npos) settings[one.name] = one.value;
  return {{"processor", processor_name()},
          {"cores", std::thread::hardware_concurrency()},
          {"build", PACELINE_VERSION},
          {"model", sources_.model_facts()},
          {"settings", std::move(settings)}};
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
