#include "server/routes.h"

#include <fmt/format.h>

#include <array>
#include <boost/json/serialize.hpp>

#include "server/http_terms.h"
#include "server/messages/messages_error.h"
#include "server/messages/messages_wire.h"
#include "server/rendering.h"
#include "server/request_lanes.h"
#include "server/responses/responses_wire.h"
#include "server/wire_tokens.h"
#include "session/engine_request.h"

namespace paceline {
namespace {

namespace json = boost::json;

struct Route {
  std::string_view path;
  std::string_view methods;  // separated by commas
  bool is_open = false;      // without a key: what probes and collectors read
  bool completes = false;    // it is work for the engine
};
constexpr std::string_view kResponse = "/v1/responses/ID";
constexpr std::array kRoutes{
    Route{.path = "/v1/chat/completions", .methods = "POST", .completes = true},
    Route{.path = "/v1/completions", .methods = "POST", .completes = true},
    Route{.path = "/v1/responses", .methods = "POST", .completes = true},
    Route{.path = "/v1/responses/input_tokens", .methods = "POST"},
    Route{.path = kResponse, .methods = "GET, DELETE"},
    Route{.path = "/v1/responses/ID/input_items", .methods = "GET"},
    Route{.path = "/v1/responses/ID/cancel", .methods = "POST"},
    Route{.path = "/v1/messages", .methods = "POST", .completes = true},
    Route{.path = "/v1/messages/count_tokens", .methods = "POST"},
    Route{.path = "/v1/models", .methods = "GET"},
    Route{.path = "/tokenize", .methods = "POST"},
    Route{.path = "/detokenize", .methods = "POST"},
    Route{.path = "/health", .methods = "GET", .is_open = true},
    Route{.path = "/ready", .methods = "GET", .is_open = true},
    Route{.path = "/version", .methods = "GET", .is_open = true},
    Route{.path = "/metrics", .methods = "GET", .is_open = true},
};
constexpr std::string_view kModelPrefix = "/v1/models/";

// With what names something put aside.
std::string pattern_of(std::string_view path) {
  if (path.starts_with(kModelPrefix)) return "/v1/models";
  const auto stored = responses::read_stored_path(path);
  if (!stored || path == "/v1/responses/input_tokens") return std::string(path);
  return fmt::format("{}{}{}", kResponse, stored->verb.empty() ? "" : "/", stored->verb);
}

const Route* find_route(std::string_view path) {
  const std::string pattern = pattern_of(path);
  for (const Route& route : kRoutes) {
    if (route.path == pattern) return &route;
  }
  return nullptr;
}

bool fits(const Route& route, std::string_view method) {
  if (method == "HEAD") method = "GET";
  return !method.empty() && method.find(',') == std::string_view::npos &&
         fmt::format(", {},", route.methods).find(fmt::format(" {},", method)) != std::string::npos;
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
      responses_(settings.response_store_bytes),
      health_(model.engine(), settings.stuck_s) {}

std::string Routes::known_path(std::string path) {
  // Some clients leave the version out.
  constexpr std::string_view kResponses = "/responses";
  if (path == kResponses || path.starts_with("/responses/")) path.insert(0, "/v1");
  return path;
}

std::string_view Routes::route_name(std::string_view path) {
  const Route* route = find_route(path);
  return route != nullptr ? route->path : "other";
}

std::optional<HttpAnswer> Routes::refuse(const HttpCall& call) const {
  if (const auto error = origins_.refuse(call)) return error_answer(call, *error);
  if (const auto error = refuse_terms(call)) return error_answer(call, *error);
  const Route* route = find_route(call.path);
  if (route == nullptr) return error_answer(call, no_such_route(call.path));
  if (OriginCheck::is_preflight(call)) return OriginCheck::preflight(call);
  if (!fits(*route, call.method)) {
    HttpAnswer answer = error_answer(call, wrong_method(call.method, call.path));
    answer.headers.emplace_back("Allow", std::string(route->methods));
    return answer;
  }
  if (!route->is_open && keys_.needed() && !key_of(call)) return error_answer(call, no_key());
  if (route->methods != "POST") return std::nullopt;
  if (draining_) return error_answer(call, shutting_down());
  if (!route->completes) return std::nullopt;
  // The engine has the last word; but work that it is sure to refuse need not be done.
  if (model_.engine().stats().waiting >= model_.description().settings.queue_length) {
    return error_answer(call, refused({.refusal = Refusal::queue_full}, 0));
  }
  return std::nullopt;
}

Reply Routes::handle(const HttpCall& call) {
  const Route* route = find_route(call.path);
  const std::string_view path = route != nullptr ? route->path : "";
  if (path.starts_with(kResponse)) return {stored_response(call)};
  if (call.method != "POST") return handle_get(call);
  if (path == "/tokenize") return {tokenize(call)};
  if (path == "/detokenize") return {detokenize(call)};
  return complete(call, wire_for(call), !route->completes);
}

std::unique_ptr<Wire> Routes::wire_for(const HttpCall& call) {
  if (call.path == "/v1/chat/completions") return make_chat_wire();
  if (call.path == "/v1/completions") return make_completion_wire();
  if (messages::is_route(call.path)) return messages::make_wire();
  return responses::make_wire({&responses_, key_of(call)});
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
  return {models(call)};
}

Reply Routes::complete(const HttpCall& call, std::unique_ptr<Wire> wire, bool only_counts) {
  const bool ignores = settings_.ignores_unknown_fields.value_or(wire->ignores_unknown());
  auto planner = make_planner(call, std::move(wire), model_, {only_counts, ignores, &settings_.limits});
  if (planner->read()) {
    const bool is_more = RequestLanes::size_class(planner->weight()) > RequestLanes::size_class(weight_of(call));
    if (is_more || !planner->media().empty()) return {.answer = {}, .waiting = std::move(planner)};
  }
  return go_on(call, *planner);
}

Reply Routes::go_on(const HttpCall& call, CompletionPlanner& planner) {
  auto plan = planner.finish();
  if (const auto* error = std::get_if<ApiError>(&plan)) return {error_answer(call, *error)};
  if (auto* answer = std::get_if<HttpAnswer>(&plan)) return {std::move(*answer)};
  ExchangePlan& made = std::get<ExchangePlan>(plan);
  for (Request& request : made.requests) {
    request.scope = cache_scope(key_of(call), call.cache_scope, made.cache_salt);
  }
  auto exchange = std::make_shared<Exchange>(
      std::move(made),
      Exchange::Around{&model_.text().tokenizer, model_.text().dialect.get(), &model_.engine(), sources_.metrics});
  remember(exchange);
  const Submission submission = exchange->submit();
  if (submission.refusal != Refusal::none) {
    return {error_answer(call, refused(submission, model_.description().settings.kv_bytes))};
  }
  return {{}, std::move(exchange)};
}

HttpAnswer Routes::stored_response(const HttpCall& call) {
  const auto path = *responses::read_stored_path(call.path);
  if (path.verb == "cancel") {
    if (const auto running = find_exchange(path.id)) {
      running->cancel({.status = 499, .message = "the response was cancelled", .code = "cancelled"});
      return json_answer({{"id", path.id}, {"object", "response"}, {"status", "cancelled"}, {"output", json::array()}});
    }
  }
  return responses::answer_stored(call, path, {&responses_, key_of(call)});
}

std::shared_ptr<Exchange> Routes::find_exchange(std::string_view id) {
  const std::lock_guard lock(exchanges_mutex_);
  for (const auto& weak : exchanges_) {
    const auto exchange = weak.lock();
    if (exchange != nullptr && exchange->id() == id && !exchange->finished()) return exchange;
  }
  return nullptr;
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

HttpAnswer Routes::models(const HttpCall& call) {
  const json::object object = model_.object(settings_.limits.context);
  const std::string_view path = call.path;
  if (!path.starts_with(kModelPrefix)) {
    // One list for both families of clients.
    return json_answer({{"object", "list"},
                        {"data", json::array{object}},
                        {"has_more", false},
                        {"first_id", model_.name()},
                        {"last_id", model_.name()}});
  }
  const std::string_view name = path.substr(kModelPrefix.size());
  if (name.empty() || !model_.is_called(name)) return error_answer(call, no_such_model(name));
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
  if (!problem.none()) return error_answer(call, api_error(*problem.first()));
  if (!model_.is_called(ask.model)) return error_answer(call, no_such_model(ask.model));
  std::vector<TokenId> ids;
  if (ask.chat) {
    const auto text = render_within(model_.text(), *ask.chat, settings_.limits, "messages", problem);
    if (!text) return error_answer(call, api_error(*problem.first()));
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
  if (!problem.none()) return error_answer(call, api_error(*problem.first()));
  if (!model_.is_called(ask.model)) return error_answer(call, no_such_model(ask.model));
  return json_answer({{"prompt", model_.text().tokenizer.decode(ask.ids, false)}});
}

}  // namespace paceline
