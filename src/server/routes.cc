#include "server/routes.h"

#include <fmt/format.h>

#include <array>
#include <boost/json/serialize.hpp>

#include "base/one_line.h"
#include "kernels/cuda_device.h"
#include "server/body_kind.h"
#include "server/http_terms.h"
#include "server/messages/messages_error.h"
#include "server/messages/messages_wire.h"
#include "server/ollama/ollama.h"
#include "server/ollama/ollama_presence.h"
#include "server/props.h"
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
  bool manages = false;      // it shows or ends what others asked for
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
    Route{.path = "/v1/models/ID/load", .methods = "POST", .manages = true},
    Route{.path = "/v1/models/ID/unload", .methods = "POST", .manages = true},
    Route{.path = "/v1/models/rescan", .methods = "POST", .manages = true},
    Route{.path = "/models", .methods = "GET"},
    Route{.path = "/models/load", .methods = "POST", .manages = true},
    Route{.path = "/models/unload", .methods = "POST", .manages = true},
    Route{.path = "/v1/routing", .methods = "GET", .manages = true},
    Route{.path = "/v1/events", .methods = "GET", .manages = true},
    Route{.path = "/tokenize", .methods = "POST"},
    Route{.path = "/detokenize", .methods = "POST"},
    Route{.path = "/apply-template", .methods = "POST"},
    Route{.path = "/props", .methods = "GET"},
    Route{.path = "/slots", .methods = "GET", .manages = true},
    Route{.path = "/v1/requests", .methods = "GET", .manages = true},
    Route{.path = "/v1/requests/ID/cancel", .methods = "POST", .manages = true},
    Route{.path = "/", .methods = "GET", .is_open = true},
    Route{.path = "/console/FILE", .methods = "GET", .is_open = true},
    Route{.path = "/console/session", .methods = "GET, POST, DELETE", .is_open = true},
    Route{.path = "/v1/history", .methods = "GET", .manages = true},
    Route{.path = "/v1/log", .methods = "GET", .manages = true},
    Route{.path = "/v1/settings", .methods = "GET, POST", .manages = true},
    Route{.path = "/v1/clients", .methods = "GET"},
    Route{.path = "/v1/benchmarks", .methods = "GET, POST", .manages = true},
    Route{.path = "/v1/benchmarks/ID", .methods = "GET, DELETE", .manages = true},
    Route{.path = "/api/version", .methods = "GET"},
    Route{.path = "/api/tags", .methods = "GET"},
    Route{.path = "/api/ps", .methods = "GET"},
    Route{.path = "/api/show", .methods = "POST"},
    Route{.path = "/api/chat", .methods = "POST", .completes = true},
    Route{.path = "/api/generate", .methods = "POST", .completes = true},
    Route{.path = "/api/pull", .methods = "POST"},
    Route{.path = "/api/push", .methods = "POST"},
    Route{.path = "/api/create", .methods = "POST"},
    Route{.path = "/api/copy", .methods = "POST"},
    Route{.path = "/api/delete", .methods = "POST, DELETE"},
    Route{.path = "/api/blobs/ID", .methods = "GET, POST"},
    Route{.path = "/health", .methods = "GET", .is_open = true},
    Route{.path = "/ready", .methods = "GET", .is_open = true},
    Route{.path = "/version", .methods = "GET", .is_open = true},
    Route{.path = "/metrics", .methods = "GET", .is_open = true},
};
constexpr std::string_view kModelPrefix = "/v1/models/", kRequestPrefix = "/v1/requests/", kCancel = "/cancel";

// With what names something put aside.
std::string pattern_of(std::string_view path) {
  if (path.starts_with(kModelPrefix)) {
    const std::string_view verb = read_model_path(path).verb;
    return verb.empty() ? "/v1/models" : fmt::format("/v1/models/{}{}", verb == "rescan" ? "" : "ID/", verb);
  }
  if (path.starts_with(kRequestPrefix) && path.ends_with(kCancel)) return "/v1/requests/ID/cancel";
  if (path.starts_with("/api/blobs/")) return "/api/blobs/ID";
  if (path.starts_with("/v1/benchmarks/")) return "/v1/benchmarks/ID";
  if (path.starts_with("/console/") && path != "/console/session") return "/console/FILE";
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

// Clients send it as a matter of course, and mean no pinned ones.
ApiError stays_pinned(const std::string& model) {
  return {.status = 409,
          .message = fmt::format("the model {} is pinned: keep_alive does not unload it", model),
          .param = "model",
          .code = "model_stays"};
}

std::string last_name(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

bool is_queue_full(const EngineStats& stats) { return stats.waiting >= stats.queue_length; }

json::object record_of(Exchange& exchange) {
  return request_record(
      {exchange.route(), exchange.client(), exchange.model(), exchange.key(), exchange.max_tokens(), ""},
      exchange.progress());
}

}  // namespace

Routes::Routes(ModelShelf& shelf, RouteSources sources, const ServerSettings& settings)
    : shelf_(shelf),
      sources_(std::move(sources)),
      settings_(settings),
      keys_(settings.api_keys),
      admin_keys_(settings.admin_keys),
      limits_(settings.allowance),
      request_limits_(settings.limits),
      idle_s_(settings.idle_s),
      origins_(settings),
      console_({.settings = &settings_,
                .keys = &keys_,
                .admin_keys = &admin_keys_,
                .log = sources_.log,
                .model_name = [this] { return shelf_.find("").value_or(""); },
                .context = [this] { return default_context(); },
                .metrics = [this] { return metrics().body; },
                .device_bytes = [this] { return device_bytes(); },
                .model_facts = [this] { return model_facts(); },
                .apply = [this](const LiveSettings& live) { apply(live); }}),
      responses_(settings.response_store_bytes),
      models_(shelf, settings, [this](const std::string& model) { end_all_of(model); }),
      health_(nullptr, settings.stuck_after_s()) {}

std::string Routes::known_path(std::string path) {
  // Some clients leave the version out.
  constexpr std::string_view kResponses = "/responses";
  if (path == kResponses || path.starts_with("/responses/")) path.insert(0, "/v1");
  // Names of models have '/', which clients write as a code.
  if (!path.starts_with(kModelPrefix)) return path;
  const std::string plain = without_codes(path);
  const bool is_plain = std::none_of(plain.begin(), plain.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; });
  return is_plain ? plain : path;
}

std::string_view Routes::route_name(std::string_view path) {
  const Route* route = find_route(path);
  return route != nullptr ? route->path : "other";
}

std::optional<HttpAnswer> Routes::refuse(const HttpCall& call) const {
  if (const auto error = origins_.refuse(call)) return error_answer(call, *error);
  if (const auto error = refuse_terms(call)) return error_answer(call, *error);
  const Route* route = find_route(call.path);
  const bool is_off =
      (ollama::is_route(call.path) && !settings_.ollama) || (ConsoleRoutes::is_route(call.path) && !settings_.console);
  const bool is_ollama_root = call.path == "/" && (settings_.ollama || settings_.console);
  if (route == nullptr || (is_off && !is_ollama_root)) return error_answer(call, no_such_route(call.path));
  if (OriginCheck::is_preflight(call)) return OriginCheck::preflight(call);
  if (!fits(*route, call.method)) {
    HttpAnswer answer = error_answer(call, wrong_method(call.method, call.path));
    answer.headers.emplace_back("Allow", std::string(route->methods));
    return answer;
  }
  if (!route->is_open) {
    if (auto refusal = refuse_key(call, route->manages)) return refusal;
  }
  if (route->methods != "POST") return std::nullopt;
  if (draining_) return error_answer(call, shutting_down());
  if (!route->completes) return std::nullopt;
  if (const auto wait_s = limits_.take_request(key_of(call))) return error_answer(call, over_allowance(*wait_s));
  // The engine has the last word; but work that it is sure to refuse need not be done.
  bool is_full = false;
  shelf_.for_loaded([&](const std::string&, WorkingModel& model, Metrics&) {
    const ServedModel& served = model.served();
    is_full = shelf_.is_single() && is_queue_full(served.engine().stats());
  });
  if (is_full) return error_answer(call, refused({.refusal = Refusal::queue_full}, 0));
  return std::nullopt;
}

bool Routes::may_manage(const HttpCall& call) const {
  return admin_keys_.needed() ? is_admin(call) : call.is_from_here;
}

bool Routes::is_admin(const HttpCall& call) const {
  if (!admin_keys_.needed()) return false;
  return (call.session && call.session->is_admin) || admin_keys_.check(call.authorization, call.api_key).has_value();
}

std::optional<HttpAnswer> Routes::refuse_key(const HttpCall& call, bool manages) const {
  const bool is_known = is_admin(call) || key_of(call) || !keys_.needed();
  const bool was_wrong = (keys_.needed() || admin_keys_.needed()) && !is_admin(call) && !key_of(call) &&
                         !(call.authorization.empty() && call.api_key.empty());
  if (is_known && (!manages || may_manage(call))) return std::nullopt;
  HttpAnswer answer = error_answer(call, is_known ? not_for_all() : no_key());
  if (was_wrong) answer.delay_s = attempts_.note_wrong(call.address);
  return answer;
}

Reply Routes::handle(const HttpCall& call, const ModelTicket* came) {
  const Route* route = find_route(call.path);
  const std::string_view path = route != nullptr ? route->path : "";
  if (path.starts_with(kResponse)) return {stored_response(call)};
  if (path == "/v1/requests/ID/cancel") return {cancel_request(call)};
  if (ConsoleRoutes::is_route(path)) return handle_console(call);
  if (ollama::is_route(path)) return handle_ollama(call, came);
  if (call.method != "POST") return handle_get(call);
  if (path.starts_with("/v1/models/") || path.starts_with("/models/")) return models_.manage(call, came);
  if (path == "/apply-template") return complete(call, wire_by_body(call), Purpose::render);
  if (path == "/tokenize") return tokenize(call);
  if (path == "/detokenize") return detokenize(call);
  return complete(call, wire_for(call), route->completes ? Purpose::answer : Purpose::count);
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
  if (call.path == "/props") return {props(call)};
  if (call.path == "/v1/routing")
    return {HttpAnswer{.content_type = "application/jsonl", .body = shelf_.routing_lines(), .headers = {}}};
  if (call.path == "/v1/events") return watch_events(call);
  if (call.path == "/slots" || call.path == "/v1/requests") return {requests(call)};
  return {models_.answer_get(call)};
}

Reply Routes::watch_events(const HttpCall& call) {
  Reply reply{HttpAnswer{.content_type = std::string(kSseType), .body = "", .headers = {}}};
  if (call.method != "HEAD") {
    reply.feed = std::make_shared<EventFeed>(shelf_, events_, console_.kept_history(), query_value(call.query, "only"));
  }
  return reply;
}

// Ollama's clients ask at the same place whether somebody is there; they do not want pages.
Reply Routes::handle_console(const HttpCall& call) {
  const bool wants_page = call.accepted_types.find("text/html") != std::string::npos;
  if (call.path == "/" && settings_.ollama && !(settings_.console && wants_page)) return handle_ollama(call, nullptr);
  const bool is_known = is_admin(call) || key_of(call) || !keys_.needed();
  return {console_.handle(call, {is_known, is_known && may_manage(call)})};
}

// How long the model stays is for those to say who manage it.
Reply Routes::answer_ollama(const HttpCall& call, const ModelTicket* came) {
  const bool chat = call.path == "/api/chat";
  FieldProblem problem;
  const ollama::Presence wish = ollama::read_presence(call.body, chat, problem);
  if (!problem.none()) return {error_answer(call, api_error(*problem.first()))};
  const std::string called = ollama::asked_model(call.body);
  const auto name = shelf_.find(called);
  if (!name) return {error_answer(call, no_such_model(called))};
  const LoadWish load{.pin = {}, .idle_s = wish.idle_s, .draft = {}};
  const bool is_there = shelf_.look(*name).state == ShelfState::loaded;
  if (!wish.is_all) {
    if (wish.idle_s && is_there && may_manage(call)) shelf_.ask(*name, &load);
    return complete(call, ollama::make_wire(chat), Purpose::answer);
  }
  if (wish.unloads && !may_manage(call)) return {error_answer(call, not_for_all())};
  if (wish.unloads && shelf_.look(*name).entry.is_pinned) return {error_answer(call, stays_pinned(*name))};
  if (came == nullptr) {
    auto ticket = wish.unloads ? shelf_.unload(*name) : shelf_.ask(*name, may_manage(call) ? &load : nullptr);
    if (!ticket->is_settled() && !wish.unloads) return {.answer = {}, .ticket = std::move(ticket), .model = *name};
    if (const auto wrong = ticket->problem()) return {error_answer(call, *wrong)};
  }
  return {json_answer(ollama::presence_object(*name, chat, wish.unloads))};
}

Reply Routes::handle_ollama(const HttpCall& call, const ModelTicket* came) {
  if (call.path == "/") return {HttpAnswer{.content_type = "text/plain", .body = "Ollama is running", .headers = {}}};
  if (call.path == "/api/version") return {json_answer({{"version", PACELINE_VERSION}})};
  if (call.path == "/api/show") {
    const std::string called = ollama::asked_model(call.body);
    const auto name = shelf_.find(called);
    if (!name) return {error_answer(call, no_such_model(called))};
    const ModelView view = shelf_.look(*name);
    const int64_t context = model_object(view, settings_.limits.context).at("context_length").to_number<int64_t>();
    return {json_answer(ollama::show_model(view, static_cast<int32_t>(context)))};
  }
  if (call.path == "/api/tags" || call.path == "/api/ps")
    return {json_answer(ollama::list_models(shelf_.look(), call.path == "/api/ps"))};
  if (call.path != "/api/chat" && call.path != "/api/generate") {
    return {error_answer(
        call, {.status = 501,
               .message = fmt::format("{} is not done here: models come from their folders", shortened(call.path)),
               .code = "unsupported"})};
  }
  return answer_ollama(call, came);
}

// By what the body has.
std::unique_ptr<Wire> Routes::wire_by_body(const HttpCall& call) {
  FieldProblem unread;
  const auto body = parse_body(call.body, unread);
  switch (body ? kind_of_body(*body) : BodyKind::chat) {
    case BodyKind::responses: return responses::make_wire({&responses_, key_of(call)});
    case BodyKind::messages: return messages::make_wire();
    case BodyKind::ollama_chat: return ollama::make_wire(true);
    case BodyKind::ollama_prompt: return ollama::make_wire(false);
    case BodyKind::completion: return make_completion_wire();
    case BodyKind::chat: break;
  }
  // The two are told apart by what only one of them has; the rest by whose client it is.
  if (call.is_anthropic) return messages::make_wire();
  return make_chat_wire();
}

std::unique_ptr<WaitingCalls::Place> Routes::note_waiting(const HttpCall& call, const Reply& reply,
                                                          const std::shared_ptr<ModelTicket>& ticket) {
  const Route* route = find_route(call.path);
  const bool is_request = route != nullptr && route->completes && !reply.id.empty();
  return is_request ? waiting_.add(call, {reply.id, key_of(call), reply.model}, ticket) : nullptr;
}

void Routes::note_in_vain(const WaitingCalls::Place& place, const std::string& end) {
  json::object record = place.record(end);
  events_.add("request", record);
  ledger_.add(std::move(record));
}

HttpAnswer Routes::requests(const HttpCall& call) {
  json::array running, waiting = waiting_.records();
  {
    const std::lock_guard lock(exchanges_mutex_);
    for (const auto& weak : exchanges_) {
      const auto exchange = weak.lock();
      if (exchange == nullptr) continue;
      json::object record = record_of(*exchange);
      if (record.at("state") == "ended") continue;
      (record.at("state") == "queued" ? waiting : running).push_back(std::move(record));
    }
  }
  const int64_t since = std::strtoll(query_value(call.query, "since").c_str(), nullptr, 10);
  RequestLedger::Ended ended = ledger_.ended_since(since);
  if (call.path != "/slots")
    return json_answer({{"running", std::move(running)},
                        {"waiting", std::move(waiting)},
                        {"recent", std::move(ended.records)},
                        {"next", ended.next}});
  json::array slots;
  for (json::array* list : {&running, &waiting, &ended.records}) {
    for (json::value& record : *list) {
      record.as_object()["is_processing"] = list == &running;
      slots.push_back(std::move(record));
    }
  }
  return {.body = json::serialize(slots), .headers = {}};
}

HttpAnswer Routes::cancel_request(const HttpCall& call) {
  std::string_view id = std::string_view(call.path).substr(kRequestPrefix.size());
  id.remove_suffix(kCancel.size());
  const ApiError why{.status = 499, .message = "the request was cancelled by an operator", .code = "cancelled"};
  const auto exchange = find_exchange(id);
  if (exchange == nullptr && !waiting_.cancel(id, why)) {
    return error_answer(
        call,
        {.status = 404, .message = fmt::format("no request {} runs here", shortened(id)), .code = "request_not_found"});
  }
  if (exchange != nullptr) exchange->cancel(why);
  return json_answer({{"id", id}, {"cancelled", true}});
}

void Routes::note_ended(const HttpCall& call, Exchange& exchange) {
  const Usage usage = exchange.usage();
  limits_.charge(key_of(call), usage.prompt_tokens + usage.completion_tokens);
  json::object record = record_of(exchange);
  events_.add("request", record);
  ledger_.add(std::move(record));
}

Reply Routes::complete(const HttpCall& call, std::unique_ptr<Wire> wire, Purpose purpose) {
  const bool ignores = settings_.ignores_unknown_fields.value_or(wire->ignores_unknown());
  const bool lists = purpose == Purpose::tokenize;
  auto planner = make_planner(call, std::move(wire),
                              {.only_counts = lists || purpose == Purpose::count,
                               .only_renders = purpose == Purpose::render,
                               .lists_tokens = lists,
                               .ignores_unknown = ignores,
                               .limits = &request_limits_.now()});
  if (planner->read()) {
    auto found = model_for(call, planner->asked_model());
    if (auto* instead = std::get_if<Reply>(&found)) {
      if (instead->ticket != nullptr) {
        instead->early = planner->early_stream(instead->model);
        instead->id = planner->answer_id();
      }
      return std::move(*instead);
    }
    planner->take_model(std::get<ModelLease>(found));
  }
  if (planner->is_good()) {
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
  const uint64_t label = shelf_.routing_label(made.format->id());
  for (Request& request : made.requests) {
    request.label = label;
    request.scope = cache_scope(key_of(call), call.cache_scope, made.cache_salt);
  }
  made.route = call.path;
  made.client = call.address;
  made.key = key_of(call);
  made.max_tokens = made.requests.empty() ? 0 : made.requests.front().max_tokens;
  const ModelLease model = made.model;
  auto exchange = std::make_shared<Exchange>(std::move(made), shelf_.metrics_of(model->name()));
  remember(exchange);
  const json::object begun = record_of(*exchange);
  const Submission submission = exchange->submit();
  if (submission.refusal != Refusal::none)
    return {error_answer(call, refused(submission, model->description().settings.kv_bytes))};
  events_.add("request", begun);
  return {{}, std::move(exchange)};
}

HttpAnswer Routes::stored_response(const HttpCall& call) {
  const auto path = *responses::read_stored_path(call.path);
  const bool cancels = path.verb == "cancel", looks = path.verb.empty() && call.method != "DELETE";
  const auto running = cancels || looks ? find_exchange(path.id) : nullptr;
  if (running != nullptr) {
    const std::optional<Usage> usage = cancels ? std::optional(running->usage()) : std::nullopt;
    const auto told = running->standing(key_of(call), cancels ? "cancelled" : "in_progress", usage);
    if (told && cancels) running->cancel({.status = 499, .message = "the response was cancelled", .code = "cancelled"});
    if (told) return json_answer(*told);
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

void Routes::end_all_of(const std::string& model) {
  const std::lock_guard lock(exchanges_mutex_);
  for (const auto& weak : exchanges_) {
    const auto exchange = weak.lock();
    if (exchange != nullptr && exchange->model() == model)
      exchange->cancel({.status = 503,
                        .message = fmt::format("the model {} was unloaded", model),
                        .type = "server_error",
                        .code = "model_unloaded"});
  }
}

std::variant<ModelLease, Reply> Routes::model_for(const HttpCall& call, std::string_view called) {
  const auto name = shelf_.find(called);
  if (!name) return Reply{error_answer(call, no_such_model(called))};
  auto ticket = shelf_.ask(*name);
  if (!ticket->is_settled()) return Reply{.answer = {}, .ticket = std::move(ticket), .model = *name};
  if (const auto problem = ticket->problem()) return Reply{error_answer(call, *problem)};
  return ticket->model();
}

HttpAnswer Routes::props(const HttpCall& call) {
  const std::string called = query_value(call.query, "model");
  const auto name = shelf_.find(called);
  if (!name) return error_answer(call, no_such_model(called));
  const ModelView view = shelf_.look(*name);
  json::object made = view.model != nullptr ? props_object(*view.model, request_limits_.now(), settings_.max_body_bytes)
                                            : json::object{{"model_alias", *name},
                                                           {"model_path", view.entry.head.place.string()},
                                                           {"build_info", "paceline " PACELINE_VERSION},
                                                           {"is_sleeping", true}};
  // Where it lies is for those who manage; clients show the end of it.
  if (!may_manage(call)) made["model_path"] = last_name(json::value_to<std::string>(made["model_path"]));
  return json_answer(made);
}

void Routes::apply(const LiveSettings& live) {
  request_limits_.set(live.limits);
  const bool changed = idle_s_.exchange(live.idle_s) != live.idle_s;
  if (changed && sources_.idle_changed) sources_.idle_changed();
  shelf_.turn(live.dials, live.model_idle_s);
}

// Nobody asks a device that nobody computes on.
std::optional<size_t> Routes::device_bytes() {
  return shelf_.uses_device() ? kernels::used_cuda_bytes() : std::nullopt;
}

json::object Routes::model_facts() {
  const auto name = shelf_.find("");
  if (!name) return {};
  json::object model = model_object(shelf_.look(*name), settings_.limits.context), facts;
  for (const char* field : {"id", "engine", "drafter", "quantisation", "parameters", "sha256"})
    if (const json::value* found = model.if_contains(field)) facts[field] = *found;
  return facts;
}

int32_t Routes::default_context() {
  const auto name = shelf_.find("");
  if (!name) return 0;
  const ModelView view = shelf_.look(*name);
  return static_cast<int32_t>(model_object(view, settings_.limits.context).at("context_length").to_number<int64_t>());
}

HealthReport Routes::check_health() {
  HealthReport report = health_.report(sources_.request_lanes());
  json::object engines;
  shelf_.for_loaded([&](const std::string& name, WorkingModel& model, Metrics&) {
    HealthReport one = model.health().report({});
    engines[name] = std::move(one.details["engine"]);
    report.still_s = std::max(report.still_s, one.still_s);
    if (one.problem.empty() || report.failed) return;
    report.failed = one.failed;
    report.problem = shelf_.is_single() ? one.problem : fmt::format("{}: {}", name, one.problem);
  });
  if (shelf_.is_single() && !engines.empty()) {
    report.details["engine"] = engines.begin()->value();
  } else {
    report.details["engines"] = std::move(engines);
  }
  return report;
}

HttpAnswer Routes::health() {
  HealthReport report = check_health();
  const bool good = report.problem.empty();
  json::object object{{"status", good ? "ok" : report.failed ? "failed" : "stuck"}};
  if (!good) object["reason"] = report.problem;
  for (const auto& detail : report.details) object[detail.key()] = detail.value();
  return json_answer(object, good ? 200 : 503);
}

std::optional<std::string> Routes::look_after_health() {
  if (settings_.console) console_.take_sample();
  const HealthReport report = check_health();
  const std::string& problem = report.problem;
  if (problem.empty() != was_healthy_) {
    was_healthy_ = problem.empty();
    if (was_healthy_) {
      sources_.log->info("healthy again");
    } else {
      sources_.log->error(fmt::format("not healthy: {}", problem));
    }
  }
  const auto watchdog_s = static_cast<double>(settings_.watchdog_s);
  if (watchdog_s > 0 && (report.failed || report.still_s > watchdog_s)) return problem;
  return std::nullopt;
}

void Routes::abandon_all(const std::string& why) {
  const std::lock_guard lock(exchanges_mutex_);
  for (const auto& weak : exchanges_) {
    if (const auto exchange = weak.lock()) exchange->abandon(why);
  }
}

HttpAnswer Routes::ready() {
  if (leaving_) return json_answer({{"status", "draining"}}, 503);
  return health();
}

HttpAnswer Routes::metrics() {
  std::vector<LaneState> lanes = sources_.request_lanes();
  for (LaneState& lane : sources_.media_lanes()) lanes.push_back(std::move(lane));
  return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
          .body = shelf_.metrics_text(lanes, sources_.log->dropped()),
          .headers = {}};
}

Reply Routes::tokenize(const HttpCall& call) {
  FieldProblem problem;
  TokenizeAsk ask;
  if (const auto body = parse_body(call.body, problem)) {
    if (call.is_anthropic || !is_tokenize(*body)) return complete(call, wire_by_body(call), Purpose::tokenize);
    ask = read_tokenize(*body, request_limits_.now(), problem);
  }
  if (!problem.none()) return {error_answer(call, api_error(*problem.first()))};
  auto found = model_for(call, ask.model);
  if (auto* instead = std::get_if<Reply>(&found)) return std::move(*instead);
  const ServedModel& model = *std::get<ModelLease>(found);
  std::vector<TokenId> ids;
  if (ask.chat) {
    const auto text = render_within(model.text(), *ask.chat, request_limits_.now(), "messages", problem);
    if (!text) return {error_answer(call, api_error(*problem.first()))};
    if (const Status fits = Tokenizer::check_size(text->size()); !fits.ok())
      return {error_answer(call, api_error(bad_field("messages", fits.error().message)))};
    // The template writes <bos> itself.
    ids = model.text().tokenizer.encode(*text, false);
  } else {
    for (const CompletionPrompt& prompt : ask.prompts) {
      if (const Status fits = Tokenizer::check_size(prompt.text.size()); !fits.ok())
        return {error_answer(call, api_error(bad_field("prompt", fits.error().message)))};
      const std::vector<TokenId> some =
          prompt.ids.empty() ? model.text().tokenizer.encode(prompt.text, ask.add_special) : prompt.ids;
      ids.insert(ids.end(), some.begin(), some.end());
    }
  }
  return {json_answer({{"count", ids.size()},
                       {"max_model_len", model.maker().context(settings_.limits.context)},
                       {"tokens", json::array(ids.begin(), ids.end())}})};
}

Reply Routes::detokenize(const HttpCall& call) {
  FieldProblem problem;
  DetokenizeAsk ask;
  if (const auto body = parse_body(call.body, problem)) ask = read_detokenize(*body, problem);
  if (!problem.none()) return {error_answer(call, api_error(*problem.first()))};
  auto found = model_for(call, ask.model);
  if (auto* instead = std::get_if<Reply>(&found)) return std::move(*instead);
  const TextModel& text = std::get<ModelLease>(found)->text();
  const auto wrong = std::find_if(ask.ids.begin(), ask.ids.end(),
                                  [most = text.loaded.config.vocab](TokenId id) { return id >= most; });
  if (wrong != ask.ids.end())
    return {error_answer(call, {.message = fmt::format("tokens holds {}; the model's ids end at {}", *wrong,
                                                       text.loaded.config.vocab - 1),
                                .param = "tokens",
                                .code = "invalid_value"})};
  return {json_answer({{"prompt", text.tokenizer.decode(ask.ids, false)}})};
}

}  // namespace paceline
