#include "server/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/string.hpp>
#include <chrono>
#include <type_traits>
#include <utility>

#include "base/one_line.h"
#include "server/await.h"
#include "server/client_socket.h"
#include "server/http_bytes.h"
#include "server/http_terms.h"
#include "server/wire.h"

namespace paceline {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

class HttpConnection final : public Connection, public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(tcp::socket socket, const ConnectionContext& context, std::function<void()> on_close)
      : context_(context),
        on_close_(std::move(on_close)),
        routes_(*context.by.routes),
        settings_(*context.by.settings),
        client_(std::make_shared<ClientSocket>(std::move(socket), settings_.max_header_bytes)),
        bell_(client_->executor()) {
    error_code failed;
    const auto peer = client_->remote_address(failed);
    if (failed) return;
    address_ = peer.to_string();
    is_from_here_ = peer.is_loopback();
  }
  ~HttpConnection() override {
    // Where the server ends before the request does, nobody is to be called any more.
    if (exchange_ != nullptr) leave_exchange();
    on_close_();
  }

  void start() {
    asio::co_spawn(
        client_->executor(), [self = shared_from_this()] { return self->serve(); }, asio::detached);
  }

  void finish_up() override {
    asio::post(client_->executor(), [self = shared_from_this()] {
      self->last_ = true;
      if (self->idle_) self->client_->close();
      if (self->held_) self->ring();
      // Nobody would take the request any more.
      if (self->preparation_ != nullptr) self->preparation_->hurry();
    });
  }

  void note_idle_time() override {
    asio::post(client_->executor(), [self = shared_from_this()] {
      if (self->idle_) self->arm_idle();
    });
  }

 private:
  using Parser = ClientSocket::Parser;
  using Clock = std::chrono::steady_clock;

  void arm_idle() {
    const double so_far_s = std::chrono::duration<double>(Clock::now() - idle_since_).count();
    client_->arm(std::max(0.0, routes_.idle_s() - so_far_s));
  }

  asio::awaitable<void> serve() {
    while (!last_ && client_->is_open()) {
      idle_ = true;
      idle_since_ = Clock::now();
      arm_idle();
      const bool begun = co_await client_->wait_for_bytes();
      idle_ = false;
      if (!begun) break;
      Parser parser;
      parser.header_limit(static_cast<uint32_t>(settings_.max_header_bytes));
      parser.body_limit(settings_.max_body_bytes);
      const bool next = co_await serve_one(parser);
      if (!next) break;
    }
    client_->disarm();
    client_->close();
  }

  // False: the connection is of no further use.
  asio::awaitable<bool> serve_one(Parser& parser) {
    HttpCall call;
    call.said_early->letters = new_letters();
    call.id = "req_" + call.said_early->letters;
    call.address = address_;
    call.is_from_here = is_from_here_;
    client_->arm(settings_.header_s);
    const error_code header_failed = co_await client_->read_header(parser);
    if (header_failed) {
      call.method = "?";
      // Of one that says how long its body would be, all else is known.
      if (header_failed == http::error::body_limit) read_header(parser.get(), call);
      co_await refuse_bytes(call, header_failed);
      co_return false;
    }
    read_header(parser.get(), call);
    routes_.recognise(call);
    keep_alive_ = parser.get().keep_alive();
    version_ = call.version;
    if (const auto refusal = routes_.refuse(call)) {
      // Whether the body follows or not, nobody wants it.
      // And of one that comes in an unknown coding it is not known where it ends.
      const bool has_body = !parser.is_done() || refusal->status == 501;
      if (has_body) keep_alive_ = false;
      if (refusal->delay_s > 0) co_await hold(refusal->delay_s);
      if (gone_) {
        note(call, 499);
        co_return false;
      }
      co_await answer(call, *refusal);
      if (has_body) co_await client_->discard();
      co_return goes_on();
    }
    client_->arm(settings_.body_s);
    const bool whole = co_await read_body(parser, call);
    if (!whole) co_return false;
    call.body = std::move(parser.get().body());
    call.arrived = EngineClock::now();
    co_await handle(call);
    co_return goes_on();
  }

  // Whether another request may follow, decided once for each answer, which says so. A server that is about to go lets
  // nobody stay; but who was told to stay is not closed before the others are.
  [[nodiscard]] bool decide_to_stay() {
    keep_alive_ = keep_alive_ && !last_ && !routes_.leaving();
    return keep_alive_;
  }
  [[nodiscard]] bool goes_on() const { return keep_alive_ && !last_; }

  asio::awaitable<bool> read_body(Parser& parser, const HttpCall& call) {
    if (parser.is_done()) co_return true;
    if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
      static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      const bool told = co_await client_->write(kContinue, {}, settings_.write_stall_s);
      if (!told) co_return false;
      client_->arm(settings_.body_s);
    }
    const error_code failed = co_await client_->read_body(parser);
    if (!failed) co_return true;
    co_await refuse_bytes(call, failed);
    co_return false;
  }

  // A field that comes several times is a list.
  static std::string all_of(const http::fields& fields, http::field name) {
    std::string values;
    const auto [begin, end] = fields.equal_range(name);
    for (auto it = begin; it != end; ++it) {
      if (it != begin) values += ", ";
      values += it->value();
    }
    return values;
  }

  static void read_header(const http::request<http::string_body>& request, HttpCall& call) {
    call.method = request.method_string();
    RequestTarget target = read_target(request.target());
    call.path = Routes::known_path(std::move(target.path));
    call.query = std::move(target.query);
    call.authority = std::move(target.authority);
    call.transfer_coding = all_of(request, http::field::transfer_encoding);
    call.content_coding = all_of(request, http::field::content_encoding);
    call.expectation = all_of(request, http::field::expect);
    call.version = request.version();
    call.authorization = request[http::field::authorization];
    call.api_key = request["x-api-key"];
    call.is_anthropic = request.count("anthropic-version") > 0;
    call.cache_scope = request["x-cache-scope"];
    call.hosts = request.count(http::field::host);
    call.host = request[http::field::host];
    // One that has several has none that could be listed.
    const size_t origins = request.count(http::field::origin);
    if (origins > 0) call.origin = origins == 1 ? std::string(request[http::field::origin]) : "several";
    call.asked_method = request[http::field::access_control_request_method];
    call.asked_headers = request[http::field::access_control_request_headers];
    call.accepted_types = all_of(request, http::field::accept);
    call.accepted_codings = all_of(request, http::field::accept_encoding);
    call.known_tag = all_of(request, http::field::if_none_match);
    call.cookies = all_of(request, http::field::cookie);
    call.is_console = request.count("x-paceline-console") > 0;
    call.asks_private_network = request["Access-Control-Request-Private-Network"] == "true";
  }

  // What could not be read as a request, as long as there is someone to tell.
  asio::awaitable<void> refuse_bytes(const HttpCall& call, error_code failed) {
    ApiError error{.message = "the request is not valid HTTP/1.1", .code = "bad_request"};
    if (failed == http::error::header_limit || failed == http::error::buffer_overflow) {
      error = {.status = 431,
               .message = fmt::format("the header may have at most {} bytes", settings_.max_header_bytes),
               .code = "header_too_large"};
    } else if (failed == http::error::body_limit) {
      error = {.status = 413,
               .message = fmt::format("the body may have at most {} bytes", settings_.max_body_bytes),
               .code = "body_too_large"};
    } else if (failed.category() != error_code(http::error::bad_method).category() ||
               failed == http::error::end_of_stream || failed == http::error::partial_message) {
      co_return;  // of the network: the client has gone, or took too long
    }
    keep_alive_ = false;
    co_await answer(call, error_answer(call, error));
    co_await client_->discard();
  }

  asio::awaitable<void> handle(HttpCall& call) {
    client_->disarm();
    has_begun_ = false;
    Reply reply;
    if (Routes::is_long(call)) {
      co_await prepare(call, reply);
      // An answer may take minutes, and needs it no more.
      call.body = std::string();
    } else {
      reply = reply_safely(context_.by, call);
    }
    if (gone_) {
      keep_alive_ = false;
      note(call, 499);
      if (reply.exchange != nullptr) routes_.note_ended(call, *reply.exchange);
      co_return;
    }
    if (reply.feed != nullptr) {
      co_await stream_events(call, *reply.feed);
      co_return;
    }
    if (reply.exchange == nullptr) {
      if (has_begun_) {
        co_await end_early(call, reply.answer);
      } else {
        co_await answer(call, reply.answer);
      }
      co_return;
    }
    exchange_ = reply.exchange;
    listen_to_exchange();
    watch();
    if (exchange_->streams()) {
      co_await stream(call);
    } else {
      co_await answer_whole(call);
    }
    client_->unwatch();
    leave_exchange();
  }

  // A client may go while its request waits for its turn. (A short one is done before that is worth looking for; and
  // has its answer, also where the client has closed its sending side.)
  asio::awaitable<void> prepare(const HttpCall& call, Reply& reply) {
    preparation_ = std::make_shared<Preparation>(
        context_.by, client_->executor(),
        [this, &call](std::shared_ptr<EarlyStream> early) { return begin_early(call, std::move(early)); });
    const bool is_short = RequestLanes::size_class(Routes::weight_of(call)) == 0;
    if (!is_short) watch();
    reply = co_await preparation_->read(call);
    if (is_short && (reply.ticket != nullptr || reply.waiting != nullptr)) watch();
    while (reply.ticket != nullptr && !gone_) reply = co_await preparation_->await_model(call, std::move(reply));
    if (reply.waiting != nullptr && !gone_) {
      reply = co_await preparation_->go_on(call, std::move(reply.waiting));
    }
    client_->unwatch();
    preparation_.reset();
    // What was submitted in the meantime is not wanted any more.
    if (gone_ && reply.exchange != nullptr) reply.exchange->cancel(client_gone());
  }

  void leave_exchange() {
    exchange_->set_wake({});
    exchange_->cancel(client_gone());
    exchange_.reset();
  }

  // The engine's thread rings; however often it does, the strand is told once until it has looked.
  void listen_to_exchange() {
    std::weak_ptr<HttpConnection> weak = shared_from_this();
    const auto posted = std::make_shared<std::atomic<bool>>(false);
    exchange_->set_wake([weak, posted, executor = client_->executor()] {
      if (posted->exchange(true)) return;
      asio::post(executor, [weak, posted] {
        posted->store(false);
        if (const auto self = weak.lock()) self->ring();
      });
    });
  }

  void ring() {
    rung_ = true;
    bell_.cancel();
  }

  // False: nobody rang in so many seconds.
  asio::awaitable<bool> wait_for_bell(double limit_s) {
    if (!rung_) {
      bell_.expires_after(seconds(limit_s));
      co_await bell_.async_wait(kAwaitTuple);
    }
    co_return std::exchange(rung_, false);
  }

  void watch() {
    client_->watch([self = shared_from_this()] {
      self->gone_ = true;
      if (self->preparation_ != nullptr) self->preparation_->abandon();
      if (self->exchange_ != nullptr) self->exchange_->cancel(client_gone());
      self->ring();
    });
  }

  // What the exchange has to say. All of a long answer, or all that a slow reader has let pile up, is written by a
  // lane: nobody else's bytes wait for it.
  template <class Make>
  asio::awaitable<std::invoke_result_t<Make&>> make_aside(Make make) {
    const size_t weight = exchange_->weight();
    if (RequestLanes::size_class(weight) == 0) co_return make();
    co_return co_await context_.by.lanes->lane_for(weight).run(std::move(make));
  }

  asio::awaitable<void> answer_whole(const HttpCall& call) {
    while (!exchange_->finished() && !gone_) co_await wait_for_bell(settings_.life_sign_s);
    if (gone_) {
      keep_alive_ = false;
      note(call, 499);
      co_return;
    }
    Exchange::Whole whole = co_await make_aside([this] { return exchange_->whole(); });
    if (gone_) {
      keep_alive_ = false;
      note(call, 499);
      co_return;
    }
    const HttpAnswer made{.status = whole.status, .body = std::move(whole.body), .headers = {}};
    co_await answer(call, made);
  }

  // A stream whose model is still to come shows that it lives: from then on it is one, whatever comes.
  asio::awaitable<void> begin_early(const HttpCall& call, std::shared_ptr<EarlyStream> early) {
    bool written = has_begun_;
    if (!has_begun_) written = co_await begin_stream(call, kSseType);
    early_ = std::move(early);
    if (written) co_await write_piece(early_->sign(), version_ >= 11);
  }

  // Nothing came, and what would have been the answer is an event.
  asio::awaitable<void> end_early(const HttpCall& call, const HttpAnswer& made) {
    const bool chunked = version_ >= 11;
    bool written = co_await write_piece(early_->end(made), chunked);
    if (written && chunked) written = co_await write("0\r\n\r\n");
    if (!written) keep_alive_ = false;
    note(call, made.status);
  }

  asio::awaitable<bool> begin_stream(const HttpCall& call, std::string_view type) {
    has_begun_ = true;
    http::response<http::empty_body> head(http::status::ok, version_);
    set_fields(head, type, call);
    head.set(http::field::cache_control, "no-cache");
    // Old clients know no chunks: for them the end of the connection is the end of the stream.
    const bool chunked = version_ >= 11;
    if (chunked) head.chunked(true);
    if (!chunked) keep_alive_ = false;
    for (const auto& [name, value] : routes_.answer_headers(call)) head.set(name, value);
    head.keep_alive(decide_to_stay());
    co_return co_await write(head_text(head));
  }

  asio::awaitable<void> stream(const HttpCall& call) {
    const bool chunked = version_ >= 11;
    bool written = has_begun_;
    if (!has_begun_) written = co_await begin_stream(call, exchange_->stream_type());
    while (written && !gone_) {
      const Exchange::Step step = co_await make_aside([this] { return exchange_->take(); });
      if (!step.bytes.empty()) written = co_await write_piece(step.bytes, chunked);
      if (!written || step.finished) break;
      if (!step.bytes.empty()) continue;
      const bool rang = co_await wait_for_bell(settings_.life_sign_s);
      const std::string sign = rang || gone_ ? "" : exchange_->show_life();
      if (!sign.empty()) written = co_await write_piece(sign, chunked);
    }
    if (written && !gone_ && chunked) written = co_await write("0\r\n\r\n");
    if (written && !gone_) {
      note(call, 200);
    } else {
      keep_alive_ = false;
      exchange_->cancel(client_gone());
      note(call, 499);
    }
  }

  // What happens, until the client goes or the server does. Looked for a few times in a second.
  asio::awaitable<void> stream_events(const HttpCall& call, EventFeed& feed) {
    constexpr double kLook_s = 0.25;
    const bool chunked = version_ >= 11;
    watch();
    bool written = co_await begin_stream(call, kSseType);
    double quiet_s = 0;
    while (written && !gone_ && !last_ && !routes_.leaving()) {
      std::string news = feed.take();
      quiet_s = news.empty() ? quiet_s + kLook_s : 0;
      if (quiet_s >= settings_.life_sign_s) {
        news = kSseComment;
        quiet_s = 0;
      }
      if (!news.empty()) written = co_await write_piece(news, chunked);
      if (written) co_await wait_for_bell(kLook_s);
    }
    if (written && !gone_ && chunked) written = co_await write("0\r\n\r\n");
    client_->unwatch();
    keep_alive_ = false;
    note(call, written && !gone_ ? 200 : 499);
  }

  asio::awaitable<bool> write_piece(const std::string& bytes, bool chunked) {
    if (!chunked) co_return co_await write(bytes);
    std::string framed = fmt::format("{:x}\r\n", bytes.size());
    framed += bytes;
    framed += "\r\n";
    co_return co_await write(std::move(framed));
  }

  // So long, unless the client goes or the server does.
  asio::awaitable<void> hold(double limit_s) {
    client_->disarm();
    held_ = true;
    rung_ = false;
    watch();
    co_await wait_for_bell(last_ ? 0 : limit_s);
    client_->unwatch();
    held_ = false;
  }

  asio::awaitable<bool> write(std::string bytes) {
    co_return co_await client_->write(bytes, {}, settings_.write_stall_s);
  }

  void set_fields(http::response<http::empty_body>& message, std::string_view content_type,
                  const HttpCall& call) const {
    message.set(http::field::server, "paceline/" PACELINE_VERSION);
    if (!content_type.empty()) message.set(http::field::content_type, content_type);
    // One name for each family of clients.
    const std::string& id = exchange_ != nullptr ? exchange_->id() : call.id;
    for (const char* name : {"x-request-id", "request-id"}) message.set(name, id);
    if (exchange_ != nullptr && !exchange_->left_out().empty()) message.set("paceline-ignored", exchange_->left_out());
  }

  asio::awaitable<void> answer(const HttpCall& call, const HttpAnswer& made) {
    http::response<http::empty_body> response(static_cast<http::status>(made.status), version_);
    set_fields(response, made.content_type, call);
    for (const auto& [name, value] : made.headers) response.set(name, value);
    for (const auto& [name, value] : routes_.answer_headers(call)) response.set(name, value);
    response.keep_alive(decide_to_stay());
    if (made.status != 204 && made.status != 304) response.content_length(made.body.size());
    const std::string head = head_text(response);
    const std::string_view body = call.method != "HEAD" ? std::string_view(made.body) : std::string_view();
    const bool written = co_await client_->write(head, body, settings_.write_stall_s);
    if (!written) keep_alive_ = false;
    note(call, made.status);
  }

  void note(const HttpCall& call, int status) {
    context_.metrics->answered(Routes::route_name(call.path), status);
    if (exchange_ != nullptr) routes_.note_ended(call, *exchange_);
    if (!context_.by.log->writes(LogLevel::info)) return;
    const bool is_probe = call.path == "/health" || call.path == "/ready" || call.path == "/metrics";
    if (is_probe && !context_.by.log->writes(LogLevel::debug)) return;
    std::string line =
        fmt::format("{} {} {} {:.1f} ms", shortened(call.method), shortened(call.path), status,
                    std::chrono::duration<double, std::milli>(EngineClock::now() - call.arrived).count());
    if (exchange_ != nullptr) {
      const Usage usage = exchange_->usage();
      line += fmt::format(" {} model={} prompt={} cached={} output={}", exchange_->id(), exchange_->model(),
                          usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens);
      if (usage.missed != PrefixMiss::none) line += fmt::format(" missed={}", prefix_miss_name(usage.missed));
    } else if (status >= 400) {
      line += " " + call.id;
    }
    context_.by.log->info(line);
    if (exchange_ != nullptr && !exchange_->left_out().empty())
      context_.by.log->debug(fmt::format("{} left out: {}", exchange_->id(), exchange_->left_out()));
  }

  ConnectionContext context_;
  std::function<void()> on_close_;
  Routes& routes_;
  const ServerSettings& settings_;
  std::shared_ptr<ClientSocket> client_;
  asio::steady_timer bell_;
  std::shared_ptr<Preparation> preparation_;  // of the request at hand
  std::shared_ptr<Exchange> exchange_;        // and of its answer
  std::string address_;                       // of the client
  bool is_from_here_ = false;
  unsigned version_ = 11;
  bool keep_alive_ = true, last_ = false, idle_ = false, held_ = false;
  Clock::time_point idle_since_;
  bool gone_ = false, rung_ = false;
  std::shared_ptr<EarlyStream> early_;  // what the stream at hand said before its model came
  bool has_begun_ = false;              // that stream
};

}  // namespace

std::shared_ptr<Connection> start_connection(tcp::socket socket, const ConnectionContext& context,
                                             std::function<void()> on_close) {
  auto connection = std::make_shared<HttpConnection>(std::move(socket), context, std::move(on_close));
  connection->start();
  return connection;
}

}  // namespace paceline
