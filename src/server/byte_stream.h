// Bytes to and from a peer, whatever carries them. What reads and writes through it is compiled once, not once for each
// kind of socket.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <memory>
#include <string>

namespace paceline {

class ByteStream {
 public:
  struct Read {
    boost::system::error_code failed;
    size_t count = 0;
  };
  virtual ~ByteStream() = default;
  // Some bytes: at least one, unless it fails.
  virtual boost::asio::awaitable<Read> read_some(boost::asio::mutable_buffer to) = 0;
  // All of both.
  virtual boost::asio::awaitable<boost::system::error_code> write(boost::asio::const_buffer first,
                                                                  boost::asio::const_buffer then) = 0;
};

// Over a connected socket, which outlives it.
class TcpBytes final : public ByteStream {
 public:
  explicit TcpBytes(boost::asio::ip::tcp::socket& socket) : socket_(socket) {}
  boost::asio::awaitable<Read> read_some(boost::asio::mutable_buffer to) override;
  boost::asio::awaitable<boost::system::error_code> write(boost::asio::const_buffer first,
                                                          boost::asio::const_buffer then) override;

 private:
  boost::asio::ip::tcp::socket& socket_;
};

// Over TLS, as a client of the host.
class TlsBytes final : public ByteStream {
 public:
  TlsBytes(boost::asio::ip::tcp::socket& socket, boost::asio::ssl::context& tls);
  ~TlsBytes() override;
  // First of all. Fails where the host's certificate is not trusted, or is another's.
  boost::asio::awaitable<boost::system::error_code> shake_hands(const std::string& host);
  boost::asio::awaitable<Read> read_some(boost::asio::mutable_buffer to) override;
  boost::asio::awaitable<boost::system::error_code> write(boost::asio::const_buffer first,
                                                          boost::asio::const_buffer then) override;

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace paceline
