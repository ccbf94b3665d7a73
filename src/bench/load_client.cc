#include "bench/load_client.h"

#include <fmt/format.h>

#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <string_view>

namespace paceline {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace json = boost::json;
using Clock = std::chrono::steady_clock;

double ms_from_to(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

int64_t number_in(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_number() ? value->to_number<int64_t>() : 0;
}

// Reads events as they come.
class EventReader {
 public:
  explicit EventReader(LoadOutcome& outcome) : outcome_(outcome), began_(Clock::now()) {}

  void take(std::string_view bytes) {
    unread_.append(bytes);
    for (size_t end = 0; (end = unread_.find("\n\n")) != std::string::npos; unread_.erase(0, end + 2)) {
      constexpr std::string_view kField = "data: ";
      const std::string_view event(unread_.data(), end);
      if (event.starts_with(kField)) read(event.substr(kField.size()));
    }
  }

  [[nodiscard]] bool done() const { return done_; }
  void finish() { outcome_.whole_ms = ms_from_to(began_, Clock::now()); }

 private:
  void read(std::string_view text) {
    if (text == "[DONE]") {
      done_ = true;
      return;
    }
    json::error_code error;
    const json::value value = json::parse(json::string_view(text.data(), text.size()), error);
    if (error || !value.is_object()) {
      outcome_.problem = "an event is no JSON object";
      return;
    }
    const json::object& event = value.get_object();
    if (event.contains("error")) outcome_.problem = json::serialize(event.at("error"));
    if (const json::value* choices = event.if_contains("choices"); choices != nullptr && choices->is_array()) {
      for (const json::value& choice : choices->get_array()) read_choice(choice);
    }
    if (const json::value* usage = event.if_contains("usage"); usage != nullptr && usage->is_object())
      read_usage(usage->get_object());
  }

  void read_choice(const json::value& choice) {
    const json::object* object = choice.if_object();
    const json::value* delta = object != nullptr ? object->if_contains("delta") : nullptr;
    if (delta == nullptr || !delta->is_object()) return;
    bool has_text = false;
    for (const char* field : {"content", "reasoning"}) {
      const json::value* text = delta->get_object().if_contains(field);
      has_text = has_text || (text != nullptr && text->is_string() && !text->get_string().empty());
    }
    if (has_text || delta->get_object().contains("tool_calls")) note_piece();
  }

  void note_piece() {
    const Clock::time_point now = Clock::now();
    if (outcome_.pieces++ == 0) {
      outcome_.first_ms = ms_from_to(began_, now);
    } else {
      outcome_.gaps_ms.push_back(ms_from_to(last_, now));
    }
    last_ = now;
  }

  void read_usage(const json::object& usage) {
    outcome_.prompt_tokens = number_in(usage, "prompt_tokens");
    outcome_.completion_tokens = number_in(usage, "completion_tokens");
    if (const json::value* details = usage.if_contains("prompt_tokens_details");
        details != nullptr && details->is_object())
      outcome_.cached_tokens = number_in(details->get_object(), "cached_tokens");
    if (const json::value* drafts = usage.if_contains("speculative"); drafts != nullptr && drafts->is_object()) {
      outcome_.rounds = number_in(drafts->get_object(), "rounds");
      outcome_.drafted = number_in(drafts->get_object(), "drafted");
      outcome_.accepted = number_in(drafts->get_object(), "accepted");
    }
  }

  LoadOutcome& outcome_;
  Clock::time_point began_, last_{};
  std::string unread_;
  bool done_ = false;
};

http::request<http::string_body> request_of(http::verb verb, const std::string& path, const std::string& api_key,
                                            const asio::ip::tcp::endpoint& server) {
  http::request<http::string_body> request(verb, path, 11);
  const std::string address = server.address().to_string();
  request.set(http::field::host,
              fmt::format(fmt::runtime(server.address().is_v6() ? "[{}]:{}" : "{}:{}"), address, server.port()));
  if (!api_key.empty()) request.set(http::field::authorization, "Bearer " + api_key);
  return request;
}

asio::awaitable<void> run(const LoadCall& call, LoadOutcome& outcome) {
  EventReader reader(outcome);
  beast::tcp_stream stream(co_await asio::this_coro::executor);
  co_await stream.async_connect(call.server, asio::use_awaitable);
  stream.socket().set_option(asio::ip::tcp::no_delay(true));
  http::request<http::string_body> request = request_of(http::verb::post, call.path, call.api_key, call.server);
  request.set(http::field::content_type, "application/json");
  request.body() = call.body;
  request.prepare_payload();
  co_await http::async_write(stream, request, asio::use_awaitable);

  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(boost::none);
  co_await http::async_read_header(stream, buffer, parser, asio::use_awaitable);
  outcome.status = static_cast<int>(parser.get().result_int());
  const bool streams = outcome.status == 200;
  while (!parser.is_done() && !reader.done() && outcome.problem.empty()) {
    co_await http::async_read_some(stream, buffer, parser, asio::use_awaitable);
    if (!streams) continue;
    reader.take(parser.get().body());
    parser.get().body().clear();
    if (call.cancel_after && outcome.pieces >= *call.cancel_after) {
      outcome.cancelled = true;
      break;
    }
  }
  reader.finish();
  if (!streams) {
    outcome.problem = fmt::format("HTTP {}: {}", outcome.status, parser.get().body());
  } else if (outcome.problem.empty() && !outcome.cancelled && !reader.done()) {
    outcome.problem = "the stream ended without [DONE]";
  }
}

}  // namespace

asio::awaitable<LoadOutcome> run_load_call(LoadCall call) {
  LoadOutcome outcome;
  try {
    co_await run(call, outcome);
  } catch (const std::exception& error) {
    outcome.problem = error.what();
  }
  co_return outcome;
}

asio::awaitable<std::string> fetch_text(asio::ip::tcp::endpoint server, const std::string& path,
                                        const std::string& api_key) {
  try {
    beast::tcp_stream stream(co_await asio::this_coro::executor);
    stream.expires_after(std::chrono::seconds(5));
    co_await stream.async_connect(server, asio::use_awaitable);
    const http::request<http::string_body> request = request_of(http::verb::get, path, api_key, server);
    co_await http::async_write(stream, request, asio::use_awaitable);
    beast::flat_buffer buffer;
    http::response<http::string_body> response;
    co_await http::async_read(stream, buffer, response, asio::use_awaitable);
    co_return response.result() == http::status::ok ? response.body() : std::string();
  } catch (const std::exception&) {
    co_return std::string();
  }
}

}  // namespace paceline
