#include "server/connection.h"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <type_traits>

#include "server/await.h"
#include "server/http_terms.h"
#include "server/sse.h"

namespace paceline {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

// Beyond the header: what a client may have sent of its next request, or of a body, before it is read.
constexpr size_t kSpareBuffer = size_t{128} << 10;
// What is still read from a client that was refused, so that its answer is not lost to a reset.
constexpr size_t kMostDiscarded = size_t{64} << 20;
constexpr auto kDiscardTime = std::chrono::seconds(2);

// A peer that vanished without a word is noticed within about a minute.
void watch_peer(tcp::socket& socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const int handle = socket.native_handle();
  const int idle_s = 30, interval_s = 10, count = 3;
  ::setsockopt(handle, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
  ::setsockopt(handle, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
  ::setsockopt(handle, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

class HttpConnection final : public Connection, public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(tcp::socket socket, const ConnectionContext& context, std::function<void()> on_close)
      : context_(context),
        on_close_(std::move(on_close)),
        routes_(*context.by.routes),
        settings_(*context.by.settings),
        socket_(std::move(socket)),
        deadline_(socket_.get_executor()),
        bell_(socket_.get_executor()),
        buffer_(settings_.max_header_bytes + kSpareBuffer) {
    bell_.expires_at(asio::steady_timer::time_point::max());
    watch_peer(socket_);
  }
  ~HttpConnection() override {
    // Where the server ends before the request does, nobody is to be called any more.
    if (exchange_ != nullptr) leave_exchange();
    on_close_();
  }

  void start() {
    asio::co_spawn(
        socket_.get_executor(), [self = shared_from_this()] { return self->serve(); }, asio::detached);
  }

  void finish_up() override {
    asio::post(socket_.get_executor(), [self = shared_from_this()] {
      self->last_ = true;
      if (self->idle_) self->close();
      // Nobody would take the request any more.
      if (self->preparation_ != nullptr) self->preparation_->hurry();
    });
  }

 private:
  using Parser = http::request_parser<http::string_body>;

  asio::awaitable<void> serve() {
    while (!last_ && socket_.is_open()) {
      idle_ = true;
      const bool begun = co_await wait_for_request();
      idle_ = false;
      if (!begun) break;
      Parser parser;
      parser.header_limit(static_cast<uint32_t>(settings_.max_header_bytes));
      parser.body_limit(settings_.max_body_bytes);
      const bool next = co_await serve_one(parser);
      if (!next) break;
    }
    disarm();
    close();
  }

  // Until the first byte of a request is there.
  asio::awaitable<bool> wait_for_request() {
    if (buffer_.size() > 0) co_return true;
    arm(settings_.idle_s);
    const auto [failed, count] = co_await socket_.async_read_some(buffer_.prepare(4096), kAwaitTuple);
    if (failed) co_return false;
    buffer_.commit(count);
    co_return true;
  }

  // False: the connection is of no further use.
  asio::awaitable<bool> serve_one(Parser& parser) {
    HttpCall call;
    arm(settings_.header_s);
    const auto [header_failed, header_bytes] = co_await http::async_read_header(socket_, buffer_, parser, kAwaitTuple);
    (void)header_bytes;
    if (header_failed) {
      call.method = "?";
      // Of one that says how long its body would be, all else is known.
      if (header_failed == http::error::body_limit) read_header(parser.get(), call);
      co_await refuse_bytes(call, header_failed);
      co_return false;
    }
    read_header(parser.get(), call);
    keep_alive_ = parser.get().keep_alive();
    version_ = call.version;
    if (const auto refusal = routes_.refuse(call)) {
      // Whether the body follows or not, nobody wants it.
      // And of one that comes in an unknown coding it is not known where it ends.
      const bool has_body = !parser.is_done() || refusal->status == 501;
      if (has_body) keep_alive_ = false;
      co_await answer(call, *refusal);
      if (has_body) co_await discard();
      co_return goes_on();
    }
    arm(settings_.body_s);
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
      const auto [failed, written] = co_await asio::async_write(socket_, asio::buffer(kContinue), kAwaitTuple);
      (void)written;
      if (failed) co_return false;
    }
    const auto [failed, count] = co_await http::async_read(socket_, buffer_, parser, kAwaitTuple);
    (void)count;
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
    call.path = std::move(target.path);
    call.authority = std::move(target.authority);
    call.transfer_coding = all_of(request, http::field::transfer_encoding);
    call.content_coding = all_of(request, http::field::content_encoding);
    call.expectation = all_of(request, http::field::expect);
    call.version = request.version();
    call.authorization = request[http::field::authorization];
    call.cache_scope = request["x-cache-scope"];
    call.hosts = request.count(http::field::host);
    call.host = request[http::field::host];
    // One that has several has none that could be listed.
    const size_t origins = request.count(http::field::origin);
    if (origins > 0) call.origin = origins == 1 ? std::string(request[http::field::origin]) : "several";
    call.asked_method = request[http::field::access_control_request_method];
    call.asked_headers = request[http::field::access_control_request_headers];
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
    co_await answer(call, error_answer(error));
    co_await discard();
  }

  // Closing a socket with unread bytes resets it, and the answer may be lost: reads on for a while.
  asio::awaitable<void> discard() {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    arm(std::chrono::duration<double>(kDiscardTime).count());
    std::vector<char> bytes(size_t{64} << 10);
    for (size_t total = 0; total < kMostDiscarded;) {
      const auto [failed, count] = co_await socket_.async_read_some(asio::buffer(bytes), kAwaitTuple);
      if (failed) break;
      total += count;
    }
  }

  asio::awaitable<void> handle(HttpCall& call) {
    disarm();
    Reply reply;
    if (Routes::is_long(call)) {
      co_await prepare(call, reply);
      // An answer may take minutes, and needs it no more.
      call.body = std::string();
    } else {
      reply = reply_safely(context_.by, call, nullptr);
    }
    if (gone_) {
      keep_alive_ = false;
      note(call, 499);
      co_return;
    }
    if (reply.exchange == nullptr) {
      co_await answer(call, reply.answer);
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
    unwatch();
    leave_exchange();
  }

  // A client may go while its request waits for its turn. (A short one is done before that is worth looking for; and
  // has its answer, also where the client has closed its sending side.)
  asio::awaitable<void> prepare(const HttpCall& call, Reply& reply) {
    preparation_ = std::make_shared<Preparation>(context_.by, socket_.get_executor());
    const bool is_short = RequestLanes::size_class(Routes::weight_of(call)) == 0;
    if (!is_short) watch();
    reply = co_await preparation_->read(call);
    if (reply.waiting != nullptr && !gone_) {
      if (is_short) watch();
      reply = co_await preparation_->go_on(call, std::move(reply.waiting));
    }
    unwatch();
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
    exchange_->set_wake([weak, posted, executor = socket_.get_executor()] {
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

  asio::awaitable<void> wait_for_bell() {
    if (!rung_) co_await bell_.async_wait(kAwaitTuple);
    rung_ = false;
  }

  // Reads ahead, only to notice that the client closes. (One that closes its sending side alone looks the same.)
  void watch() {
    ++watch_;
    asio::co_spawn(
        socket_.get_executor(), [self = shared_from_this(), watch = watch_] { return self->watch_loop(watch); },
        asio::detached);
  }
  void unwatch() {
    ++watch_;
    error_code ignored;
    socket_.cancel(ignored);
  }

  // `watch`: as long as this is the newest one; what was meant for an earlier request is of no interest.
  asio::awaitable<void> watch_loop(uint64_t watch) {
    while (watch == watch_ && buffer_.size() + 4096 <= buffer_.max_size()) {
      const auto [failed] = co_await socket_.async_wait(tcp::socket::wait_read, kAwaitTuple);
      if (watch != watch_) co_return;
      error_code read_failed = failed;
      size_t count = 0;
      if (!failed) {
        socket_.non_blocking(true, read_failed);
        if (!read_failed) count = socket_.read_some(buffer_.prepare(4096), read_failed);
      }
      if (read_failed == asio::error::would_block) continue;
      if (read_failed) {
        gone_ = true;
        if (preparation_ != nullptr) preparation_->abandon();
        if (exchange_ != nullptr) exchange_->cancel(client_gone());
        ring();
        co_return;
      }
      buffer_.commit(count);
    }
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
    while (!exchange_->finished() && !gone_) co_await wait_for_bell();
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
    HttpAnswer made{.status = whole.status, .body = std::move(whole.body), .headers = {}};
    made.headers.emplace_back("x-request-id", exchange_->id());
    co_await answer(call, made);
  }

  asio::awaitable<void> stream(const HttpCall& call) {
    http::response<http::empty_body> head(http::status::ok, version_);
    set_fields(head, kSseType);
    head.set(http::field::cache_control, "no-cache");
    head.set("x-request-id", exchange_->id());
    // Old clients know no chunks: for them the end of the connection is the end of the stream.
    const bool chunked = version_ >= 11;
    if (chunked) head.chunked(true);
    if (!chunked) keep_alive_ = false;
    for (const auto& [name, value] : routes_.answer_headers(call)) head.set(name, value);
    head.keep_alive(decide_to_stay());
    http::response_serializer<http::empty_body> serializer(head);
    arm(settings_.write_stall_s);
    const auto [failed, head_bytes] = co_await http::async_write_header(socket_, serializer, kAwaitTuple);
    (void)head_bytes;
    disarm();
    bool written = !failed;
    while (written && !gone_) {
      const Exchange::Step step = co_await make_aside([this] { return exchange_->take(); });
      if (!step.bytes.empty()) written = co_await write_piece(step.bytes, chunked);
      if (!written || step.finished) break;
      if (step.bytes.empty()) co_await wait_for_bell();
    }
    if (written && !gone_) {
      if (chunked) written = co_await write_raw("0\r\n\r\n");
      note(call, 200);
    }
    if (!written || gone_) {
      keep_alive_ = false;
      exchange_->cancel(client_gone());
      note(call, 499);
    }
  }

  asio::awaitable<bool> write_piece(const std::string& bytes, bool chunked) {
    if (!chunked) co_return co_await write_raw(bytes);
    std::string framed = fmt::format("{:x}\r\n", bytes.size());
    framed += bytes;
    framed += "\r\n";
    co_return co_await write_raw(framed);
  }

  // `bytes` lives until this is done.
  asio::awaitable<bool> write_raw(std::string_view bytes) {
    arm(settings_.write_stall_s);
    const auto [failed, count] = co_await asio::async_write(socket_, asio::buffer(bytes), kAwaitTuple);
    (void)count;
    disarm();
    co_return !failed;
  }

  template <class Message>
  void set_fields(Message& message, std::string_view content_type) {
    message.set(http::field::server, "paceline/" PACELINE_VERSION);
    if (!content_type.empty()) message.set(http::field::content_type, content_type);
  }

  asio::awaitable<void> answer(const HttpCall& call, const HttpAnswer& made) {
    http::response<http::string_body> response(static_cast<http::status>(made.status), version_);
    set_fields(response, made.content_type);
    for (const auto& [name, value] : made.headers) response.set(name, value);
    for (const auto& [name, value] : routes_.answer_headers(call)) response.set(name, value);
    response.keep_alive(decide_to_stay());
    if (made.status != 204) response.content_length(made.body.size());
    if (call.method != "HEAD") response.body() = made.body;
    http::response_serializer<http::string_body> serializer(response);
    arm(settings_.write_stall_s);
    const auto [failed, count] = co_await http::async_write(socket_, serializer, kAwaitTuple);
    (void)count;
    disarm();
    if (failed) keep_alive_ = false;
    note(call, made.status);
  }

  void note(const HttpCall& call, int status) {
    context_.metrics->answered(Routes::route_name(call.path), status);
    if (!context_.by.log->writes(LogLevel::info)) return;
    const bool is_probe = call.path == "/health" || call.path == "/ready" || call.path == "/metrics";
    if (is_probe && !context_.by.log->writes(LogLevel::debug)) return;
    std::string line =
        fmt::format("{} {} {} {:.1f} ms", shortened(call.method), shortened(call.path), status,
                    std::chrono::duration<double, std::milli>(EngineClock::now() - call.arrived).count());
    if (exchange_ != nullptr) {
      const Usage usage = exchange_->usage();
      line += fmt::format(" {} prompt={} cached={} output={}", exchange_->id(), usage.prompt_tokens,
                          usage.cached_tokens, usage.completion_tokens);
    }
    context_.by.log->info(line);
  }

  // From now on so long, or the connection is closed.
  void arm(double limit_s) {
    deadline_.expires_after(seconds(limit_s));
    deadline_.async_wait([weak = weak_from_this()](error_code cancelled) {
      if (cancelled) return;
      if (const auto self = weak.lock()) self->close();
    });
  }
  void disarm() { deadline_.cancel(); }

  void close() {
    error_code ignored;
    socket_.close(ignored);
  }

  ConnectionContext context_;
  std::function<void()> on_close_;
  Routes& routes_;
  const ServerSettings& settings_;
  tcp::socket socket_;
  asio::steady_timer deadline_, bell_;
  beast::flat_buffer buffer_;
  std::shared_ptr<Preparation> preparation_;  // of the request at hand
  std::shared_ptr<Exchange> exchange_;        // and of its answer
  unsigned version_ = 11;
  bool keep_alive_ = true, last_ = false, idle_ = false;
  bool gone_ = false, rung_ = false;
  uint64_t watch_ = 0;
};

}  // namespace

std::shared_ptr<Connection> start_connection(tcp::socket socket, const ConnectionContext& context,
                                             std::function<void()> on_close) {
  auto connection = std::make_shared<HttpConnection>(std::move(socket), context, std::move(on_close));
  connection->start();
  return connection;
}

}  // namespace paceline
