#include "cli/server_question.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/json/parse.hpp>

#include "server/url_fetch.h"

namespace paceline {
namespace {

namespace json = boost::json;

constexpr size_t kMostBytes = 16 << 20;

ServerModel read_model(const json::object& object) {
  ServerModel made;
  if (const auto* name = object.if_contains("id"); name != nullptr && name->is_string())
    made.name = name->get_string().c_str();
  if (const auto* aliases = object.if_contains("aliases"); aliases != nullptr && aliases->is_array()) {
    for (const json::value& alias : aliases->get_array())
      if (alias.is_string()) made.aliases.emplace_back(alias.get_string().c_str());
  }
  if (const auto* context = object.if_contains("context_length"); context != nullptr && context->is_int64())
    made.context = static_cast<int32_t>(std::clamp<int64_t>(context->get_int64(), 0, 1 << 30));
  const auto* status = object.if_contains("status");
  if (status != nullptr && status->is_object()) {
    const auto* value = status->get_object().if_contains("value");
    made.is_loaded = value != nullptr && value->is_string() && value->get_string() == "loaded";
  }
  return made;
}

}  // namespace

Result<std::vector<ServerModel>> ask_for_models(const std::string& url, const std::string& key) {
  TRY_ASSIGN(const MediaUrl place, read_media_url(url + "/v1/models"));
  const std::vector<std::string> hosts{place.authority()};
  boost::asio::io_context io;
  const auto tls = make_tls_context();
  UrlFetch fetch(io.get_executor(), *tls,
                 {hosts, kMostBytes, std::chrono::steady_clock::now() + std::chrono::seconds(2),
                  [](size_t) { return Taken::well; }, key});
  auto answer = boost::asio::co_spawn(io, fetch.run(place), boost::asio::use_future);
  io.run();
  const Fetched fetched = answer.get();
  if (!fetched.problem.empty()) return Error{fetched.problem};
  json::error_code failed;
  const json::value read = json::parse(fetched.bytes, failed);
  const auto* data = !failed && read.is_object() ? read.get_object().if_contains("data") : nullptr;
  if (data == nullptr || !data->is_array()) return Error{place.authority() + " answered no list of models"};
  std::vector<ServerModel> made;
  for (const json::value& model : data->get_array())
    if (model.is_object()) made.push_back(read_model(model.get_object()));
  return made;
}

}  // namespace paceline
