#include "server/responses/responses_wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <charconv>

#include "base/one_line.h"
#include "server/http_terms.h"
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
  [[nodiscard]] std::string answer_id(const std::string& letters) const override {
    return responses::answer_id(letters);
  }
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
json::array items_with_ids(const Stored& stored, const std::string& id) {
  json::array items = stored.items;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].is_object() && !items[i].get_object().contains("id"))
      items[i].get_object()["id"] = fmt::format("item_{}_{}", id, i);
  }
  return items;
}

// A page of them: limit, order and after say which, as OpenAI has them.
struct ItemPage {
  int64_t limit = 20;
  bool newest_first = true;
  std::string after;  // an item's id; "": from the beginning
};

Result<ItemPage> read_page(std::string_view query) {
  ItemPage page;
  if (const std::string limit = query_value(query, "limit"); !limit.empty()) {
    const auto [end, failed] = std::from_chars(limit.data(), limit.data() + limit.size(), page.limit);
    if (failed != std::errc() || end != limit.data() + limit.size() || page.limit < 1 || page.limit > 100)
      return Error{"limit must be a number from 1 to 100"};
  }
  const std::string order = query_value(query, "order");
  if (!order.empty() && order != "asc" && order != "desc") return Error{"order must be asc or desc"};
  page.newest_first = order != "asc";
  page.after = query_value(query, "after");
  return page;
}

Result<json::object> item_list(const Stored& stored, const std::string& id, std::string_view query) {
  TRY_ASSIGN(const ItemPage page, read_page(query));
  json::array all = items_with_ids(stored, id);
  if (page.newest_first) std::reverse(all.begin(), all.end());
  const auto is_after = [&](const json::value& item) { return item.at("id") == json::value(page.after); };
  auto from = all.begin();
  if (!page.after.empty()) {
    from = std::find_if(all.begin(), all.end(), is_after);
    if (from == all.end()) return Error{fmt::format("after: there is no item {}", shortened(page.after))};
    ++from;
  }
  const auto count = std::min<std::ptrdiff_t>(page.limit, all.end() - from);
  json::array items(from, from + count);
  json::object list{{"object", "list"}, {"has_more", from + count != all.end()}};
  list["first_id"] = items.empty() ? json::value() : items.front().at("id");
  list["last_id"] = items.empty() ? json::value() : items.back().at("id");
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
  if (path.verb == "input_items") {
    const auto list = item_list(*stored, path.id, call.query);
    if (!list.ok())
      return error_answer(call, {.status = 400, .message = list.error().message, .code = "invalid_value"});
    return json_body(*list);
  }
  return json_body(stored->response);
}

}  // namespace paceline::responses
