#include "bench/child_server.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <charconv>
#include <chrono>
#include <csignal>
#include <thread>

#include "bench/load_client.h"

extern char** environ;

namespace paceline {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

constexpr std::chrono::seconds kLongestStart{300};

// One that nobody listens on now.
tcp::endpoint free_port() {
  asio::io_context context;
  tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  return acceptor.local_endpoint();
}

bool is_ready(const tcp::endpoint& endpoint) {
  asio::io_context context;
  const std::string path = "/ready", no_key;
  std::string answer;
  const auto ask = [&]() -> asio::awaitable<void> { answer = co_await fetch_text(endpoint, path, no_key); };
  asio::co_spawn(context, ask(), asio::detached);
  context.run();
  return !answer.empty();
}

}  // namespace

Result<std::unique_ptr<ChildServer>> ChildServer::start(std::vector<std::string> arguments) {
  std::unique_ptr<ChildServer> server(new ChildServer());
  server->endpoint_ = free_port();
  arguments.insert(arguments.begin(),
                   {"paceline", "serve", "--drain-grace", "0", "--port", std::to_string(server->endpoint_.port())});
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  if (const int error = posix_spawn(&server->pid_, "/proc/self/exe", nullptr, nullptr, pointers.data(), environ))
    return Error{fmt::format("the server cannot be started: error {}", error)};
  const auto begin = std::chrono::steady_clock::now();
  while (!is_ready(server->endpoint_)) {
    int status = 0;
    if (waitpid(server->pid_, &status, WNOHANG) == server->pid_) {
      server->pid_ = -1;
      return Error{"the server ended before it was ready"};
    }
    if (std::chrono::steady_clock::now() - begin > kLongestStart) return Error{"the server does not get ready"};
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return server;
}

ChildServer::~ChildServer() {
  if (pid_ <= 0) return;
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
}

Result<tcp::endpoint> read_endpoint(const std::string& url) {
  constexpr std::string_view kScheme = "http://";
  std::string_view rest(url);
  if (rest.starts_with(kScheme)) rest.remove_prefix(kScheme.size());
  while (rest.ends_with('/')) rest.remove_suffix(1);
  const size_t colon = rest.rfind(':');
  uint16_t port = 0;
  boost::system::error_code error;
  const std::string host(rest.substr(0, colon == std::string_view::npos ? rest.size() : colon));
  const auto address = asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
  const bool has_port = colon != std::string_view::npos &&
                        std::from_chars(rest.data() + colon + 1, rest.data() + rest.size(), port).ec == std::errc();
  if (error || !has_port) return Error{fmt::format("expected http://ADDRESS:PORT, found '{}'", url)};
  return tcp::endpoint(address, port);
}

}  // namespace paceline
