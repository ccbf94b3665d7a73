#include "server/client_socket.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <chrono>
#include <vector>

#include "server/await.h"
#include "server/http_bytes.h"

namespace paceline {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// Beyond the header: what a client may have sent of its next request, or of a body, before it is read.
constexpr size_t kSpareBuffer = size_t{128} << 10;
// What is still read from a client that was refused, so that its answer is not lost to a reset.
constexpr size_t kMostDiscarded = size_t{64} << 20;
constexpr double kDiscardSeconds = 2;
// At once, while a client is only watched.
constexpr size_t kBytesAhead = 4096;

// A peer that vanished without a word is noticed within about a minute.
void notice_silence(tcp::socket& socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const int handle = socket.native_handle();
  const int idle_s = 30, interval_s = 10, count = 3;
  ::setsockopt(handle, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
  ::setsockopt(handle, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
  ::setsockopt(handle, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

}  // namespace

ClientSocket::ClientSocket(tcp::socket socket, size_t most_header_bytes)
    : socket_(std::move(socket)),
      bytes_(socket_),
      deadline_(socket_.get_executor()),
      buffer_(most_header_bytes + kSpareBuffer) {
  notice_silence(socket_);
}

void ClientSocket::close() {
  error_code ignored;
  socket_.close(ignored);
}

void ClientSocket::arm(double limit_s) {
  deadline_.expires_after(seconds(limit_s));
  deadline_.async_wait([weak = weak_from_this()](error_code cancelled) {
    if (cancelled) return;
    if (const auto self = weak.lock()) self->close();
  });
}

asio::awaitable<bool> ClientSocket::wait_for_bytes() {
  if (buffer_.size() > 0) co_return true;
  const ByteStream::Read read = co_await bytes_.read_some(buffer_.prepare(kBytesAhead));
  if (read.failed) co_return false;
  buffer_.commit(read.count);
  co_return true;
}

asio::awaitable<error_code> ClientSocket::read_header(Parser& parser) {
  co_return co_await read_http(bytes_, buffer_, parser, HttpPart::header);
}

asio::awaitable<error_code> ClientSocket::read_body(Parser& parser) {
  co_return co_await read_http(bytes_, buffer_, parser, HttpPart::whole);
}

asio::awaitable<bool> ClientSocket::write(std::string_view first, std::string_view then, double limit_s) {
  arm(limit_s);
  const error_code failed = co_await bytes_.write(asio::buffer(first), asio::buffer(then));
  disarm();
  co_return !failed;
}

asio::awaitable<void> ClientSocket::discard() {
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  arm(kDiscardSeconds);
  std::vector<char> unwanted(size_t{64} << 10);
  for (size_t total = 0; total < kMostDiscarded;) {
    const ByteStream::Read read = co_await bytes_.read_some(asio::buffer(unwanted));
    if (read.failed) break;
    total += read.count;
  }
}

void ClientSocket::watch(std::function<void()> on_gone) {
  ++watch_;
  asio::co_spawn(
      socket_.get_executor(),
      [self = shared_from_this(), watch = watch_, gone = std::move(on_gone)] { return self->watch_loop(watch, gone); },
      asio::detached);
}

void ClientSocket::unwatch() {
  ++watch_;
  error_code ignored;
  socket_.cancel(ignored);
}

// `watch`: as long as this is the newest one; what was meant for an earlier request is of no interest.
asio::awaitable<void> ClientSocket::watch_loop(uint64_t watch, std::function<void()> on_gone) {
  while (watch == watch_ && buffer_.size() + kBytesAhead <= buffer_.max_size()) {
    const auto [failed] = co_await socket_.async_wait(tcp::socket::wait_read, kAwaitTuple);
    if (watch != watch_) co_return;
    error_code read_failed = failed;
    size_t count = 0;
    if (!failed) {
      socket_.non_blocking(true, read_failed);
      if (!read_failed) count = socket_.read_some(buffer_.prepare(kBytesAhead), read_failed);
    }
    if (read_failed == asio::error::would_block) continue;
    if (read_failed) {
      on_gone();
      co_return;
    }
    buffer_.commit(count);
  }
}

}  // namespace paceline
