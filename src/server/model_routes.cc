#include "server/model_routes.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "server/utc_text.h"
#include "session/ask_fields.h"

namespace paceline {
namespace {

namespace json = boost::json;

constexpr std::string_view kModels = "/v1/models/";
constexpr std::string_view kLlamaLoad = "/models/load", kLlamaUnload = "/models/unload";

json::value text_or_null(const std::string& text) { return text.empty() ? json::value() : json::value(text); }

// What is known of one that is not loaded.
json::object unloaded_object(const ModelView& view, int32_t context) {
  const ShelfEntry& entry = view.entry;
  const int32_t most = context > 0 ? std::min(context, entry.head.context) : entry.head.context;
  json::object made{{"id", entry.name}, {"object", "model"}, {"created", 0}, {"owned_by", "paceline"}};
  made["type"] = "model";
  made["display_name"] = entry.name;
  made["created_at"] = utc_text(0);
  made["aliases"] = json::array(entry.aliases.begin(), entry.aliases.end());
  made["context_length"] = most;
  made["max_model_len"] = most;
  made["images"] = entry.head.takes_images;
  made["videos"] = entry.head.takes_videos;
  made["drafter"] = {{"name", text_or_null(entry.head.drafter)}, {"kind", nullptr}};
  made["engine"] = nullptr;
  made["sha256"] = {{"target", nullptr}, {"drafter", nullptr}};
  return made;
}

json::object memory_object(const ModelView& view) {
  const bool is_there = view.state != ShelfState::unloaded && view.state != ShelfState::failed;
  const auto held = [&](size_t bytes) { return is_there ? bytes : size_t{0}; };
  return {{"weights", held(view.needs.weights)},
          {"drafter", held(view.drafter_state == "dropped" ? 0 : view.needs.drafter)},
          {"kv_reserved", held(view.needs.kv)},
          {"kv_used", view.kv_used},
          {"scratch", held(view.needs.scratch)},
          {"needed_to_load", view.needs.all()}};
}

json::object answer_object(const HttpCall& call) {
  // The verbs take a body without anything in it for none.
  FieldProblem unread;
  const auto body = call.body.empty() ? std::optional(json::object()) : parse_body(call.body, unread);
  return body.value_or(json::object());
}

}  // namespace

json::object model_object(const ModelView& view, int32_t context) {
  json::object made = view.model != nullptr ? view.model->object(context) : unloaded_object(view, context);
  const bool chats = view.model != nullptr && view.model->text().has_chat();
  const bool sees = made.at("images").as_bool(), watches = made.at("videos").as_bool();
  json::array modalities{"text"};
  if (sees) modalities.emplace_back("image");
  if (watches) modalities.emplace_back("video");
  made["input_modalities"] = std::move(modalities);
  // Whether it has a template is known when it is loaded.
  const json::value has_chat = view.model != nullptr ? json::value(chats) : json::value();
  made["capabilities"] = {{"chat", has_chat}, {"tools", has_chat}, {"thinking", has_chat},
                          {"images", sees},   {"videos", watches}, {"json_schema", true}};
  const ModelHead& head = view.entry.head;
  if (head.changed > 0) {
    made["created"] = head.changed;
    made["created_at"] = utc_text(head.changed);
  }
  made["parameters"] = head.parameters > 0 ? json::value(head.parameters) : json::value();
  made["quantisation"] = text_or_null(head.format);
  // It is about to be loaded, or waits for others to make room.
  const bool is_next = view.is_wanted && (view.state == ShelfState::unloaded || view.state == ShelfState::failed);
  made["status"] = {{"value", shelf_state_name(is_next ? ShelfState::loading : view.state)},
                    {"stage", is_next ? json::value("waiting") : text_or_null(view.stage)},
                    {"progress", view.state == ShelfState::loaded ? 1.0 : view.progress},
                    {"error", text_or_null(view.error.empty() ? head.problem : view.error)}};
  made["pinned"] = view.entry.is_pinned;
  made["idle_seconds"] = view.entry.idle_s;
  made["last_used"] = view.last_used > 0 ? json::value(view.last_used) : json::value();
  made["running"] = view.running;
  made["waiting"] = view.waiting;
  made["memory"] = memory_object(view);
  json::object& drafter = made["drafter"].as_object();
  drafter["state"] = view.drafter_state;
  drafter["reason"] = text_or_null(view.drafter_reason);
  return made;
}

ModelPath read_model_path(std::string_view path) {
  if (path == kLlamaLoad) return {"", "load"};
  if (path == kLlamaUnload) return {"", "unload"};
  path.remove_prefix(std::min(kModels.size(), path.size()));
  if (path == "rescan") return {"", "rescan"};
  for (const std::string_view verb : {"load", "unload"}) {
    if (path.size() <= verb.size() + 1 || !path.ends_with(verb)) continue;
    const std::string_view name = path.substr(0, path.size() - verb.size());
    if (name.ends_with('/')) return {std::string(name.substr(0, name.size() - 1)), verb};
  }
  return {std::string(path), ""};
}

struct ModelRoutes::Wish {
  bool waits = true, ends_others = false;
  LoadWish load;
};

HttpAnswer ModelRoutes::answer_get(const HttpCall& call) {
  if (call.path.starts_with(kModels)) {
    const std::string_view called = std::string_view(call.path).substr(kModels.size());
    const auto name = called.empty() ? std::nullopt : shelf_.find(called);
    return name ? tell(call, *name) : error_answer(call, no_such_model(called));
  }
  // One list for both families of clients.
  json::array all;
  for (const ModelView& view : shelf_.look()) all.push_back(model_object(view, settings_.limits.context));
  const auto id = [&](bool first) {
    return all.empty() ? json::value() : (first ? all.front() : all.back()).as_object().at("id");
  };
  json::object made{{"object", "list"}, {"has_more", false}, {"first_id", id(true)}, {"last_id", id(false)}};
  made["memory"] = {{"budget", shelf_.budget_bytes()}, {"used", shelf_.used_bytes()}};
  made["data"] = std::move(all);
  return {.body = json::serialize(made), .headers = {}};
}

HttpAnswer ModelRoutes::tell(const HttpCall& call, const std::string& name) {
  if (call.path == kLlamaLoad || call.path == kLlamaUnload) return {.body = R"({"success":true})", .headers = {}};
  return {.body = json::serialize(model_object(shelf_.look(name), settings_.limits.context)), .headers = {}};
}

Reply ModelRoutes::manage(const HttpCall& call, const ModelTicket* came) {
  const ModelPath path = read_model_path(call.path);
  if (path.verb == "rescan") {
    const ModelShelf::Rescan read = shelf_.rescan();
    const json::object told{{"added", read.added}, {"removed", read.removed}, {"models", shelf_.look().size()}};
    return {{.body = json::serialize(told), .headers = {}}};
  }
  FieldProblem problem;
  const json::object body = answer_object(call);
  if (!call.body.empty()) (void)parse_body(call.body, problem);
  AskFields fields(body, "", problem);
  Wish wish;
  wish.waits = fields.boolean("wait").value_or(true);
  wish.ends_others = fields.boolean("force").value_or(false);
  wish.load = {fields.boolean("pin"), fields.number("idle_seconds", 0, 1e9), fields.string("draft", 4096)};
  const std::string called = path.name.empty() ? fields.string("model").value_or("") : path.name;
  if (!path.name.empty()) fields.ignore({"model"});
  if (called.empty()) fields.missing("model", "a name in GET /v1/models");
  fields.finish();
  if (!problem.none()) return {error_answer(call, api_error(*problem.first()))};
  const auto name = called.empty() ? std::nullopt : shelf_.find(called);
  if (!name) return {error_answer(call, no_such_model(called))};
  if (came != nullptr) {
    if (const auto wrong = came->problem()) return {error_answer(call, *wrong)};
    return {tell(call, *name)};
  }
  return path.verb == "load" ? load(call, *name, wish) : unload(call, *name, wish);
}

Reply ModelRoutes::load(const HttpCall& call, const std::string& name, const Wish& wish) {
  auto ticket = shelf_.ask(name, &wish.load);
  if (const auto problem = ticket->problem()) return {error_answer(call, *problem)};
  if (!ticket->is_settled() && wish.waits) return {.answer = {}, .ticket = std::move(ticket), .model = name};
  return {tell(call, name)};
}

Reply ModelRoutes::unload(const HttpCall& call, const std::string& name, const Wish& wish) {
  auto ticket = shelf_.unload(name);
  if (const auto problem = ticket->problem()) return {error_answer(call, *problem)};
  if (wish.ends_others) end_all_(name);
  if (!ticket->is_settled() && wish.waits) return {.answer = {}, .ticket = std::move(ticket), .model = name};
  return {tell(call, name)};
}

HttpAnswer ModelRoutes::answer_late(const HttpCall& call, const std::string& model) {
  if (read_model_path(call.path).verb == "unload") {
    shelf_.stay(model);
    const ModelView view = shelf_.look(model);
    return error_answer(call, {.status = 409,
                               .message = fmt::format("{} requests of {} still run; force ends them",
                                                      view.running + view.waiting, model),
                               .param = "model",
                               .code = "model_busy"});
  }
  const ModelView view = shelf_.look(model);
  const std::string how = view.state == ShelfState::loading
                              ? fmt::format("is still loading ({} {:.0f} %)", view.stage, view.progress * 100)
                              : "finds no room while others are at work";
  return error_answer(call, {.status = 503,
                             .message = fmt::format("the model {} {}; try again later", model, how),
                             .type = "server_error",
                             .param = "model",
                             .code = "model_loading",
                             .retry_after_s = 10});
}

}  // namespace paceline
