#include "server/responses/responses_wire.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>

#include "server/responses/responses_format.h"

namespace paceline::responses {
namespace {

namespace json = boost::json;

class ResponsesWire final : public Wire {
 public:
  explicit ResponsesWire(const StoreAccess& access) : access_(access) {}

  [[nodiscard]] bool ignores_unknown() const override { return true; }
  void read(const json::object& body, const RequestLimits& limits, FieldProblem& problem) override {
    ask_ = read_ask(body, limits, access_, problem);
  }
  [[nodiscard]] ChatAsk* chat() override { return &ask_; }
  [[nodiscard]] const char* prompt_field() const override { return "input"; }
  [[nodiscard]] const char* form_field() const override { return "text.format"; }
  [[nodiscard]] std::unique_ptr<AnswerFormat> format(const AnswerOrigin& origin) override {
    return make_format(origin, {std::move(ask_.given), std::move(ask_.items), ask_.is_stored, ask_.thinks_in_summary,
                                ask_.has_logprobs, std::move(ask_.names), access_});
  }
  [[nodiscard]] std::unique_ptr<EarlyStream> early_stream(const std::string& model,
                                                          std::shared_ptr<SaidEarly> said) const override {
    return make_early_stream(model, ask_.given, std::move(said));
  }
  [[nodiscard]] json::object count(size_t tokens) const override {
    return {{"object", "response.input_tokens"}, {"input_tokens", tokens}};
  }

 private:
  StoreAccess access_;
  ResponsesAsk ask_;
};

HttpAnswer json_body(const json::object& object) { return {.body = json::serialize(object), .headers = {}}; }

// Items have ids, also those whose senders gave them none.
json::object item_list(const Stored& stored, const std::string& id) {
  json::array items = stored.items;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].is_object() && !items[i].get_object().contains("id"))
      items[i].get_object()["id"] = fmt::format("item_{}_{}", id, i);
  }
  const auto id_at = [&](size_t at) { return items.empty() ? json::value() : items[at].at("id"); };
  json::object list{{"object", "list"}, {"has_more", false}};
  list["first_id"] = id_at(0);
  list["last_id"] = id_at(items.empty() ? 0 : items.size() - 1);
  list["data"] = std::move(items);
  return list;
}

}  // namespace

std::unique_ptr<Wire> make_wire(const StoreAccess& access) { return std::make_unique<ResponsesWire>(access); }

std::optional<StoredPath> read_stored_path(std::string_view path) {
  constexpr std::string_view kPrefix = "/v1/responses/";
  if (!path.starts_with(kPrefix)) return std::nullopt;
  path.remove_prefix(kPrefix.size());
  const size_t slash = path.find('/');
  StoredPath made{std::string(path.substr(0, slash)), ""};
  if (slash != std::string_view::npos) made.verb = path.substr(slash + 1);
  return made;
}

HttpAnswer answer_stored(const HttpCall& call, const StoredPath& path, const StoreAccess& access) {
  const auto stored = access.store->find(path.id, access.owner);
  if (!stored) {
    return error_answer(call, {.status = 404,
                               .message = fmt::format("there is no response {} here", shortened(path.id)),
                               .code = "response_not_found"});
  }
  if (call.method == "DELETE") {
    access.store->erase(path.id, access.owner);
    return json_body({{"id", path.id}, {"object", "response"}, {"deleted", true}});
  }
  if (path.verb == "input_items") return json_body(item_list(*stored, path.id));
  return json_body(stored->response);
}

}  // namespace paceline::responses
