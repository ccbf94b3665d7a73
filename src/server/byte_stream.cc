#include "server/byte_stream.h"

#include <array>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include "server/await.h"

namespace paceline {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using boost::system::error_code;

asio::awaitable<ByteStream::Read> TcpBytes::read_some(asio::mutable_buffer to) {
  const auto [failed, count] = co_await socket_.async_read_some(to, kAwaitTuple);
  co_return Read{failed, count};
}

asio::awaitable<error_code> TcpBytes::write(asio::const_buffer first, asio::const_buffer then) {
  const std::array<asio::const_buffer, 2> both{first, then};
  const auto [failed, count] = co_await asio::async_write(socket_, both, kAwaitTuple);
  (void)count;
  co_return failed;
}

struct TlsBytes::Stream {
  ssl::stream<asio::ip::tcp::socket&> bytes;
};

TlsBytes::TlsBytes(asio::ip::tcp::socket& socket, ssl::context& tls) : stream_(new Stream{{socket, tls}}) {}
TlsBytes::~TlsBytes() = default;

asio::awaitable<error_code> TlsBytes::shake_hands(const std::string& host) {
  // The name in the clear, for hosts with several certificates; addresses have none.
  error_code is_name;
  (void)asio::ip::make_address(host, is_name);
  if (is_name) SSL_set_tlsext_host_name(stream_->bytes.native_handle(), host.c_str());
  stream_->bytes.set_verify_mode(ssl::verify_peer);
  stream_->bytes.set_verify_callback(ssl::host_name_verification(host));
  const auto [failed] = co_await stream_->bytes.async_handshake(ssl::stream_base::client, kAwaitTuple);
  co_return failed;
}

asio::awaitable<ByteStream::Read> TlsBytes::read_some(asio::mutable_buffer to) {
  const auto [failed, count] = co_await stream_->bytes.async_read_some(to, kAwaitTuple);
  co_return Read{failed, count};
}

asio::awaitable<error_code> TlsBytes::write(asio::const_buffer first, asio::const_buffer then) {
  const std::array<asio::const_buffer, 2> both{first, then};
  const auto [failed, count] = co_await asio::async_write(stream_->bytes, both, kAwaitTuple);
  (void)count;
  co_return failed;
}

}  // namespace paceline
