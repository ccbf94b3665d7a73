#include "bench/load_client.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <memory>
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

// One request and its answer, over a connection of their own.
class HttpAsk {
 public:
  explicit HttpAsk(const asio::any_io_executor& executor) : socket_(std::make_shared<asio::ip::tcp::socket>(executor)) {
    parser_.body_limit(boost::none);
    parser_.eager(true);
  }
  ~HttpAsk() { close(*socket_); }
  HttpAsk(const HttpAsk&) = delete;
  HttpAsk& operator=(const HttpAsk&) = delete;

  // After so long the connection is closed.
  void limit(std::chrono::seconds time) {
    limit_ = std::make_unique<asio::steady_timer>(socket_->get_executor(), time);
    limit_->async_wait([weak = std::weak_ptr(socket_)](boost::system::error_code cancelled) {
      const auto socket = weak.lock();
      if (!cancelled && socket != nullptr) close(*socket);
    });
  }
  asio::awaitable<void> send(const asio::ip::tcp::endpoint& server, const http::request<http::string_body>& request) {
    co_await socket_->async_connect(server, asio::use_awaitable);
    socket_->set_option(asio::ip::tcp::no_delay(true));
    http::fields::writer head(request, request.version(), request.method());
    const std::string bytes = beast::buffers_to_string(head.get()) + request.body();
    co_await asio::async_write(*socket_, asio::buffer(bytes), asio::use_awaitable);
  }
  // Some more of the answer; only while it is not done.
  asio::awaitable<void> read_some() {
    boost::system::error_code failed;
    const auto [read_failed, count] =
        co_await socket_->async_read_some(buffer_.prepare(size_t{16} << 10), asio::as_tuple(asio::use_awaitable));
    if (read_failed == asio::error::eof) {
      parser_.put_eof(failed);
    } else if (read_failed) {
      failed = read_failed;
    } else {
      buffer_.commit(count);
      buffer_.consume(parser_.put(buffer_.cdata(), failed));
      if (failed == http::error::need_more) failed = {};
    }
    if (failed) throw boost::system::system_error(failed);
  }
  [[nodiscard]] bool has_header() const { return parser_.is_header_done(); }
  [[nodiscard]] bool is_done() const { return parser_.is_done(); }
  [[nodiscard]] http::response<http::string_body>& answer() { return parser_.get(); }

 private:
  static void close(asio::ip::tcp::socket& socket) {
    boost::system::error_code ignored;
    socket.close(ignored);
  }

  std::shared_ptr<asio::ip::tcp::socket> socket_;
  std::unique_ptr<asio::steady_timer> limit_;
  beast::flat_buffer buffer_;
  http::response_parser<http::string_body> parser_;
};

asio::awaitable<void> run(const LoadCall& call, LoadOutcome& outcome) {
  EventReader reader(outcome);
  HttpAsk ask(co_await asio::this_coro::executor);
  http::request<http::string_body> request = request_of(http::verb::post, call.path, call.api_key, call.server);
  request.set(http::field::content_type, "application/json");
  request.body() = call.body;
  request.prepare_payload();
  co_await ask.send(call.server, request);
  bool streams = false;
  while (!ask.is_done() && !reader.done() && outcome.problem.empty()) {
    co_await ask.read_some();
    if (!ask.has_header()) continue;
    outcome.status = static_cast<int>(ask.answer().result_int());
    streams = outcome.status == 200;
    if (!streams) continue;
    reader.take(ask.answer().body());
    ask.answer().body().clear();
    if (call.cancel_after && outcome.pieces >= *call.cancel_after) {
      outcome.cancelled = true;
      break;
    }
  }
  reader.finish();
  if (!streams) {
    outcome.problem = fmt::format("HTTP {}: {}", outcome.status, ask.answer().body());
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
    HttpAsk ask(co_await asio::this_coro::executor);
    ask.limit(std::chrono::seconds(5));
    const http::request<http::string_body> request = request_of(http::verb::get, path, api_key, server);
    co_await ask.send(server, request);
    while (!ask.is_done()) co_await ask.read_some();
    co_return ask.answer().result() == http::status::ok ? ask.answer().body() : std::string();
  } catch (const std::exception&) {
    co_return std::string();
  }
}

}  // namespace paceline
