#include "server/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/write.hpp>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "server/await.h"
#include "server/connection.h"
#include "server/url_fetch.h"

namespace paceline {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// What is left of a drained server's connections, to have their last words written.
constexpr double kLastWords_s = 5;
// The same of one that gives up: somebody waits to start it anew.
constexpr double kLastWordsOfFailure_s = 2;
// At the engine: how exactly the age of its last step is known.
constexpr std::chrono::milliseconds kBetweenLooks{250};
// About the same trouble.
constexpr std::chrono::seconds kBetweenComplaints{60};

}  // namespace

class Server::Parts {
 public:
  Parts(ModelShelf& shelf, Log& log, const ServerSettings& settings)
      : settings_(settings),
        shelf_(shelf),
        log_(log),
        metrics_(shelf.metrics()),
        lanes_(settings_.worker_threads, settings_.waiting_bytes),
        decoding_(settings_),
        fetched_(settings_.fetched_bytes),
        routes_(shelf,
                {&log, [this] { return lanes_.states(); }, [this] { return decoding_.states(); },
                 [this] {
                   for (const auto& connection : connections()) connection->note_idle_time();
                 }},
                settings_),
        work_(asio::make_work_guard(io_)),
        acceptor_(asio::make_strand(io_)),
        signals_(acceptor_.get_executor()),
        drain_timer_(acceptor_.get_executor()),
        health_timer_(acceptor_.get_executor()) {
    if (!settings_.limits.media_hosts.empty()) tls_ = make_tls_context();
    context_ = {{&settings_, &routes_, &log, &lanes_, &decoding_, &fetched_, tls_.get()}, &metrics_};
  }

  ~Parts() {
    stop();
    for (std::thread& thread : threads_) thread.join();
    decoding_.stop();
    lanes_.stop();
    // Engines stop when they have nothing more to do.
    routes_.cancel_all();
    shelf_.stop();
  }

  Status listen() {
    error_code failed;
    const auto address = asio::ip::make_address(settings_.host == "localhost" ? "127.0.0.1" : settings_.host, failed);
    if (failed) return Error{fmt::format("--host {}: expected an IP address or localhost", settings_.host)};
    const tcp::endpoint endpoint(address, settings_.port);
    acceptor_.open(endpoint.protocol(), failed);
    if (!failed) acceptor_.set_option(asio::socket_base::reuse_address(true), failed);
    if (!failed) acceptor_.bind(endpoint, failed);
    if (!failed) acceptor_.listen(4096, failed);
    if (failed)
      return Error{fmt::format("cannot listen on {}:{}: {}", settings_.host, settings_.port, failed.message())};
    port_ = acceptor_.local_endpoint().port();
    return Done{};
  }

  void run() {
    asio::co_spawn(
        acceptor_.get_executor(), [this] { return accept_loop(); }, asio::detached);
    look_after_health();
    for (int32_t i = 0; i < settings_.io_threads; ++i) {
      threads_.emplace_back([this] { io_.run(); });
    }
  }

  void handle_signals() {
    // From here on none is lost: those that come before somebody waits for them are kept.
    signals_.add(SIGINT);
    signals_.add(SIGTERM);
    asio::post(acceptor_.get_executor(), [this] { wait_for_signal(); });
  }

  void drain() {
    asio::post(acceptor_.get_executor(), [this] { begin_leave(settings_.drain_grace_s); });
  }

  void wait() {
    std::unique_lock lock(mutex_);
    stopped_changed_.wait(lock, [&] { return stopped_; });
  }

  [[nodiscard]] uint16_t port() const { return port_; }
  [[nodiscard]] bool has_given_up() const { return given_up_; }

 private:
  asio::awaitable<void> accept_loop() {
    asio::steady_timer pause(acceptor_.get_executor());
    while (acceptor_.is_open()) {
      auto [failed, socket] = co_await acceptor_.async_accept(asio::make_strand(io_), kAwaitTuple);
      if (!acceptor_.is_open()) break;
      if (failed) {
        // Out of files, most likely: some will be closed.
        tell_accept_failed(failed);
        pause.expires_after(std::chrono::milliseconds(50));
        co_await pause.async_wait(kAwaitTuple);
        continue;
      }
      add(std::move(socket));
    }
  }

  // Clients see nothing but a server that does not answer; so the operator is told, now and then.
  void tell_accept_failed(error_code failed) {
    const auto now = std::chrono::steady_clock::now();
    if (accept_failed_told_ && now - *accept_failed_told_ < kBetweenComplaints) return;
    accept_failed_told_ = now;
    log_.error(fmt::format("cannot take new connections: {}", failed.message()));
  }

  // Who comes while the server drains is told so, and is not waited for.
  void add(tcp::socket socket) {
    const bool late = routes_.draining();
    {
      const std::lock_guard lock(mutex_);
      if (open_ >= settings_.max_connections) {
        // Dropped with a word, as far as the socket's buffer takes it at once.
        static constexpr std::string_view kFull =
            "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\nRetry-After: 1\r\n\r\n";
        error_code ignored;
        socket.non_blocking(true, ignored);
        socket.write_some(asio::buffer(kFull), ignored);
        return;
      }
      ++open_;
      if (late) ++late_;
      metrics_.connections(open_);
      std::erase_if(connections_, [](const auto& connection) { return connection.expired(); });
    }
    auto connection = start_connection(std::move(socket), context_, [this, late] { forget_closed(late); });
    const std::lock_guard lock(mutex_);
    connections_.push_back(connection);
  }

  void forget_closed(bool late) {
    const std::lock_guard lock(mutex_);
    --open_;
    if (late) --late_;
    metrics_.connections(open_);
    // Connections that end with the server itself have nothing left to stop. And where a device is lost, /health says
    // so for its moment, whether anybody else is still there or not.
    const bool is_last = open_ == late_ && !given_up_;
    if (is_last && routes_.draining() && !stopped_) asio::post(acceptor_.get_executor(), [this] { finish(); });
  }

  // Those who wait are told, and have a moment to hear it.
  void give_up(const std::string& why) {
    if (given_up_.exchange(true)) return;
    log_.error(fmt::format("giving up: {}", why));
    routes_.drain();
    routes_.abandon_all(why);
    drain_timer_.expires_after(seconds(kLastWordsOfFailure_s));
    drain_timer_.async_wait([this](error_code failed) {
      if (!failed) finish();
    });
  }

  void look_after_health() {
    if (const auto lost = routes_.look_after_health()) give_up(*lost);
    health_timer_.expires_after(kBetweenLooks);
    health_timer_.async_wait([this](error_code failed) {
      if (!failed) look_after_health();
    });
  }

  std::vector<std::shared_ptr<Connection>> connections() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Connection>> alive;
    for (const auto& weak : connections_) {
      if (auto connection = weak.lock()) alive.push_back(std::move(connection));
    }
    return alive;
  }

  void wait_for_signal() {
    signals_.async_wait([this](error_code failed, int signal) {
      if (failed) return;
      if (routes_.leaving()) return stop();
      begin_leave(signal == SIGINT ? 0 : settings_.drain_grace_s);
      wait_for_signal();
    });
  }

  void begin_leave(double grace_s) {
    if (routes_.leaving()) return;
    routes_.leave();
    if (grace_s <= 0) return begin_drain();
    log_.info(fmt::format("leaving: not ready any more, and serving on for {} s", grace_s));
    drain_timer_.expires_after(seconds(grace_s));
    drain_timer_.async_wait([this](error_code failed) {
      if (!failed) begin_drain();
    });
  }

  void begin_drain() {
    log_.info("draining: running requests may end, new ones are refused");
    routes_.drain();
    shelf_.drain();
    for (const auto& connection : connections()) connection->finish_up();
    drain_timer_.expires_after(seconds(settings_.drain_s));
    drain_timer_.async_wait([this](error_code failed) {
      if (!failed) cut_off();
    });
    const std::lock_guard lock(mutex_);
    if (open_ == late_) asio::post(acceptor_.get_executor(), [this] { finish(); });
  }

  void cut_off() {
    log_.info("drain: time is over, what still runs is ended");
    close_listener();
    routes_.cancel_all();
    drain_timer_.expires_after(seconds(kLastWords_s));
    drain_timer_.async_wait([this](error_code failed) {
      if (!failed) stop();
    });
  }

  void close_listener() {
    error_code ignored;
    acceptor_.close(ignored);
  }

  // Everything has been drained.
  void finish() {
    close_listener();
    stop();
  }

  // By any thread, and by several at once.
  void stop() {
    io_.stop();
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    stopped_changed_.notify_all();
  }

  ServerSettings settings_;
  ModelShelf& shelf_;
  Log& log_;
  Metrics& metrics_;
  RequestLanes lanes_;
  MediaDecoding decoding_;
  ByteBudget fetched_;
  Routes routes_;
  std::unique_ptr<asio::ssl::context> tls_;
  ConnectionContext context_;

  std::mutex mutex_;
  std::condition_variable stopped_changed_;
  bool stopped_ = false;
  std::atomic<bool> given_up_ = false;
  int32_t open_ = 0, late_ = 0;  // late: of the open ones, those that came while it drained
  std::vector<std::weak_ptr<Connection>> connections_;

  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  tcp::acceptor acceptor_;
  asio::signal_set signals_;
  asio::steady_timer drain_timer_, health_timer_;
  uint16_t port_ = 0;
  std::optional<std::chrono::steady_clock::time_point> accept_failed_told_;
  std::vector<std::thread> threads_;
};

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::start(ModelShelf& shelf, Log& log, const ServerSettings& settings) {
  auto parts = std::make_unique<Parts>(shelf, log, settings);
  TRY(parts->listen());
  parts->run();
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

Result<std::unique_ptr<Server>> Server::start(ServedModel& model, Metrics& metrics, Log& log,
                                              const ServerSettings& settings) {
  auto shelf =
      std::make_unique<ModelShelf>(model, metrics, ShelfTerms{.stuck_s = settings.stuck_after_s(), .rescan = {}}, log);
  TRY_ASSIGN(auto server, start(*shelf, log, settings));
  server->own_shelf_ = std::move(shelf);
  return server;
}

uint16_t Server::port() const { return parts_->port(); }
void Server::handle_signals() { parts_->handle_signals(); }
void Server::drain() { parts_->drain(); }
void Server::wait() { parts_->wait(); }
bool Server::has_given_up() const { return parts_->has_given_up(); }

}  // namespace paceline
