#include "server/routes.h"

#include <fmt/format.h>

#include <array>
#include <boost/json/serialize.hpp>

#include "server/http_terms.h"
#include "server/rendering.h"
#include "server/request_lanes.h"
#include "server/wire_tokens.h"
#include "session/engine_request.h"

namespace paceline {
namespace {

namespace json = boost::json;

struct Route {
  std::string_view path;
  std::string_view method;
  bool is_open;  // without a key: what probes and collectors read
};
constexpr std::array kRoutes{
    Route{"/v1/chat/completions", "POST", false},
    Route{"/v1/completions", "POST", false},
    Route{"/v1/models", "GET", false},
    Route{"/tokenize", "POST", false},
    Route{"/detokenize", "POST", false},
    Route{"/health", "GET", true},
    Route{"/ready", "GET", true},
    Route{"/version", "GET", true},
    Route{"/metrics", "GET", true},
};
constexpr std::string_view kModelPrefix = "/v1/models/";

const Route* find_route(std::string_view path) {
  if (path.starts_with(kModelPrefix)) path = "/v1/models";
  for (const Route& route : kRoutes) {
    if (route.path == path) return &route;
  }
  return nullptr;
}

bool fits(const Route& route, std::string_view method) {
  return method == route.method || (method == "HEAD" && route.method == "GET");
}

HttpAnswer json_answer(const json::object& object, int status = 200) {
  return {.status = status, .body = json::serialize(object), .headers = {}};
}

ApiError refused(const Submission& submission, size_t kv_bytes) {
  switch (submission.refusal) {
    case Refusal::queue_full: return too_busy("too many requests are waiting; try again later");
    case Refusal::draining: return shutting_down();
    case Refusal::never_fits: {
      ApiError error = api_error(
          bad_field("max_tokens", fmt::format("prompt and max_tokens need {} bytes of KV memory; this server has {}",
                                              submission.needs_bytes, kv_bytes)));
      error.code = "context_length_exceeded";
      return error;
    }
    case Refusal::invalid: return {.status = 400, .message = submission.problem, .code = "invalid_request"};
    case Refusal::failed:
    case Refusal::none: break;
  }
  ApiError error = engine_failed(submission.problem);
  error.status = 503;
  return error;
}

}  // namespace

Routes::Routes(ServedModel& model, RouteSources sources, const ServerSettings& settings)
    : model_(model),
      sources_(std::move(sources)),
      settings_(settings),
      keys_(settings.api_keys),
      origins_(settings),
      health_(model.engine(), settings.stuck_s) {}

std::string_view Routes::route_name(std::string_view path) {
  const Route* route = find_route(path);
  return route != nullptr ? route->path : "other";
}

std::optional<HttpAnswer> Routes::refuse(const HttpCall& call) const {
  if (const auto error = origins_.refuse(call)) return error_answer(*error);
  if (const auto error = refuse_terms(call)) return error_answer(*error);
  const Route* route = find_route(call.path);
  if (route == nullptr) return error_answer(no_such_route(call.path));
  if (OriginCheck::is_preflight(call)) return OriginCheck::preflight(call);
  if (!fits(*route, call.method)) {
    HttpAnswer answer = error_answer(wrong_method(call.method, call.path));
    answer.headers.emplace_back("Allow", std::string(route->method));
    return answer;
  }
  if (!route->is_open && keys_.needed() && !keys_.check(call.authorization)) return error_answer(no_key());
  if (route->method != "POST") return std::nullopt;
  if (draining_) return error_answer(shutting_down());
  if (!route->path.ends_with("completions")) return std::nullopt;
  // The engine has the last word; but work that it is sure to refuse need not be done.
  if (model_.engine().stats().waiting >= model_.description().settings.queue_length) {
    return error_answer(refused({.refusal = Refusal::queue_full}, 0));
  }
  return std::nullopt;
}

Reply Routes::handle(const HttpCall& call) {
  if (call.method != "POST") return handle_get(call);
  if (call.path == "/tokenize") return {tokenize(call)};
  if (call.path == "/detokenize") return {detokenize(call)};
  return complete(call, call.path == "/v1/chat/completions");
}

size_t Routes::weight_of(const HttpCall& call) {
  // What is rendered at once, whatever its messages turn out to be: each is at least so much longer than it is written.
  constexpr size_t kMostRendered = 16;
  return call.path == "/tokenize" ? call.body.size() * kMostRendered : call.body.size();
}

Reply Routes::handle_get(const HttpCall& call) {
  if (call.path == "/health") return {health()};
  if (call.path == "/ready") return {ready()};
  if (call.path == "/version") return {json_answer({{"name", "paceline"}, {"version", PACELINE_VERSION}})};
  if (call.path == "/metrics") return {metrics()};
  return {models(call.path)};
}

Reply Routes::complete(const HttpCall& call, bool chat) {
  auto planner = make_planner(call, chat, model_, settings_.limits);
  if (planner->read()) {
    const bool is_more = RequestLanes::size_class(planner->weight()) > RequestLanes::size_class(weight_of(call));
    if (is_more || !planner->media().empty()) return {.answer = {}, .waiting = std::move(planner)};
  }
  return go_on(call, *planner);
}

Reply Routes::go_on(const HttpCall& call, CompletionPlanner& planner) {
  auto plan = planner.finish();
  if (const auto* error = std::get_if<ApiError>(&plan)) return {error_answer(*error)};
  ExchangePlan& made = std::get<ExchangePlan>(plan);
  for (Request& request : made.requests) {
    request.scope = cache_scope(keys_.check(call.authorization), call.cache_scope, made.cache_salt);
  }
  auto exchange = std::make_shared<Exchange>(
      std::move(made),
      Exchange::Around{&model_.text().tokenizer, model_.text().dialect.get(), &model_.engine(), sources_.metrics});
  remember(exchange);
  const Submission submission = exchange->submit();
  if (submission.refusal != Refusal::none) {
    return {error_answer(refused(submission, model_.description().settings.kv_bytes))};
  }
  return {{}, std::move(exchange)};
}

void Routes::remember(const std::shared_ptr<Exchange>& exchange) {
  const std::lock_guard lock(exchanges_mutex_);
  if (exchanges_.size() >= tidy_at_) {
    std::erase_if(exchanges_, [](const auto& weak) { return weak.expired(); });
    tidy_at_ = 64 + 2 * exchanges_.size();
  }
  exchanges_.push_back(exchange);
}

void Routes::cancel_all() {
  const std::lock_guard lock(exchanges_mutex_);
  for (const auto& weak : exchanges_) {
    if (const auto exchange = weak.lock()) exchange->cancel(shutting_down());
  }
}

HttpAnswer Routes::models(std::string_view path) {
  const json::object object = model_.object(settings_.limits.context);
  if (!path.starts_with(kModelPrefix)) return json_answer({{"object", "list"}, {"data", json::array{object}}});
  const std::string_view name = path.substr(kModelPrefix.size());
  if (name.empty() || !model_.is_called(name)) return error_answer(no_such_model(name));
  return json_answer(object);
}

HttpAnswer Routes::health() {
  HealthReport report = health_.report(sources_.request_lanes());
  const bool good = report.problem.empty();
  json::object object{{"status", good ? "ok" : report.failed ? "failed" : "stuck"}};
  if (!good) object["reason"] = report.problem;
  for (const auto& detail : report.details) object[detail.key()] = detail.value();
  return json_answer(object, good ? 200 : 503);
}

void Routes::look_after_health() {
  const std::string problem = health_.report(sources_.request_lanes()).problem;
  if (problem.empty() == was_healthy_) return;
  was_healthy_ = problem.empty();
  if (was_healthy_) {
    sources_.log->info("healthy again");
  } else {
    sources_.log->error(fmt::format("not healthy: {}", problem));
  }
}

HttpAnswer Routes::ready() {
  if (leaving_) return json_answer({{"status", "draining"}}, 503);
  return health();
}

HttpAnswer Routes::metrics() const {
  std::vector<LaneState> lanes = sources_.request_lanes();
  for (LaneState& lane : sources_.media_lanes()) lanes.push_back(std::move(lane));
  return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
          .body = sources_.metrics->text(model_.engine().stats(), lanes, sources_.log->dropped()),
          .headers = {}};
}

HttpAnswer Routes::tokenize(const HttpCall& call) {
  FieldProblem problem;
  TokenizeAsk ask;
  if (const auto body = parse_body(call.body, problem)) ask = read_tokenize(*body, settings_.limits, problem);
  if (!problem.none()) return error_answer(api_error(*problem.first()));
  if (!model_.is_called(ask.model)) return error_answer(no_such_model(ask.model));
  std::vector<TokenId> ids;
  if (ask.chat) {
    const auto text = render_within(model_.text(), *ask.chat, settings_.limits, problem);
    if (!text) return error_answer(api_error(*problem.first()));
    // The template writes <bos> itself.
    ids = model_.text().tokenizer.encode(*text, false);
  } else {
    ids = model_.text().tokenizer.encode(ask.text, ask.add_special);
  }
  return json_answer({{"count", ids.size()},
                      {"max_model_len", model_.maker().context(settings_.limits.context)},
                      {"tokens", json::array(ids.begin(), ids.end())}});
}

HttpAnswer Routes::detokenize(const HttpCall& call) {
  FieldProblem problem;
  DetokenizeAsk ask;
  if (const auto body = parse_body(call.body, problem)) ask = read_detokenize(*body, problem);
  if (!problem.none()) return error_answer(api_error(*problem.first()));
  if (!model_.is_called(ask.model)) return error_answer(no_such_model(ask.model));
  return json_answer({{"prompt", model_.text().tokenizer.decode(ask.ids, false)}});
}

}  // namespace paceline
