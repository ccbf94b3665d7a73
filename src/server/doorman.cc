#include "server/doorman.h"

#include <fmt/format.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <string>
#include <thread>

#include "server/await.h"

namespace paceline {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr size_t kMostHeader = 16 << 10;
constexpr int kMostCallers = 64;  // at once; more are hung up on
constexpr std::chrono::seconds kPatience{5};

}  // namespace

class Doorman::Parts {
 public:
  Parts() : acceptor_(io_) {}
  ~Parts() {
    io_.stop();
    if (thread_.joinable()) thread_.join();
  }

  bool listen(const ServerSettings& settings) {
    error_code failed;
    const auto address = asio::ip::make_address(settings.host == "localhost" ? "127.0.0.1" : settings.host, failed);
    if (failed || settings.port == 0) return false;
    const tcp::endpoint endpoint(address, settings.port);
    acceptor_.open(endpoint.protocol(), failed);
    if (!failed) acceptor_.set_option(asio::socket_base::reuse_address(true), failed);
    if (!failed) acceptor_.bind(endpoint, failed);
    if (!failed) acceptor_.listen(kMostCallers, failed);
    if (failed) return false;
    asio::co_spawn(
        io_, [this] { return accept(); }, asio::detached);
    thread_ = std::thread([this] { io_.run(); });
    return true;
  }

 private:
  asio::awaitable<void> accept() {
    while (true) {
      auto [failed, socket] = co_await acceptor_.async_accept(kAwaitTuple);
      if (failed) {
        asio::steady_timer pause(io_, std::chrono::milliseconds(50));
        co_await pause.async_wait(kAwaitTuple);
      } else if (callers_ < kMostCallers) {
        asio::co_spawn(io_, answer(std::move(socket)), asio::detached);
      }
    }
  }

  asio::awaitable<void> answer(tcp::socket socket) {
    ++callers_;
    asio::steady_timer patience(io_, kPatience);
    patience.async_wait([&socket](error_code ended) {
      error_code ignored;
      if (!ended) socket.close(ignored);
    });
    std::string header;
    auto [failed, bytes] =
        co_await asio::async_read_until(socket, asio::dynamic_buffer(header, kMostHeader), "\r\n\r\n", kAwaitTuple);
    if (!failed) {
      const std::string text = answer_to(header);
      co_await asio::async_write(socket, asio::buffer(text), kAwaitTuple);
    }
    patience.cancel();
    --callers_;
  }

  [[nodiscard]] static std::string answer_to(const std::string& header) {
    const bool health = header.starts_with("GET /health ");
    const std::string body = R"({"status":"loading"})";
    return fmt::format(
        "HTTP/1.1 {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nRetry-After: 1\r\nConnection: "
        "close\r\n\r\n{}",
        health ? "200 OK" : "503 Service Unavailable", body.size(), body);
  }

  asio::io_context io_;
  tcp::acceptor acceptor_;
  std::thread thread_;
  int callers_ = 0;  // its thread's
};

Doorman::Doorman(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Doorman::~Doorman() = default;

std::unique_ptr<Doorman> Doorman::start(const ServerSettings& settings) {
  auto parts = std::make_unique<Parts>();
  if (!parts->listen(settings)) return nullptr;
  return std::unique_ptr<Doorman>(new Doorman(std::move(parts)));
}

}  // namespace paceline
