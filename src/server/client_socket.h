// The bytes of one client: requests read and answers written, each within its time, and its going away noticed. All
// calls on the strand of its socket.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <functional>
#include <memory>
#include <string_view>

#include "server/byte_stream.h"

namespace paceline {

class ClientSocket : public std::enable_shared_from_this<ClientSocket> {
 public:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  // most_header_bytes: that a request may have, and room is made for.
  ClientSocket(boost::asio::ip::tcp::socket socket, size_t most_header_bytes);

  [[nodiscard]] boost::asio::ip::tcp::socket::executor_type executor() { return socket_.get_executor(); }
  [[nodiscard]] bool is_open() const { return socket_.is_open(); }
  [[nodiscard]] boost::asio::ip::address remote_address(boost::system::error_code& failed) const {
    return socket_.remote_endpoint(failed).address();
  }
  void close();

  // From now on so long, or it is closed.
  void arm(double limit_s);
  void disarm() { deadline_.cancel(); }

  // Until the first byte of a request is there. False: none comes.
  boost::asio::awaitable<bool> wait_for_bytes();
  boost::asio::awaitable<boost::system::error_code> read_header(Parser& parser);
  boost::asio::awaitable<boost::system::error_code> read_body(Parser& parser);
  // All of both, which live until it is done; each time within so many seconds. False: the client takes no more.
  boost::asio::awaitable<bool> write(std::string_view first, std::string_view then, double limit_s);
  // Closing a socket with unread bytes resets it, and the answer may be lost: reads on for a while.
  boost::asio::awaitable<void> discard();

  // Reads ahead, only to notice that the client closes; then on_gone is called, once. (One that closes its sending side
  // alone looks the same.)
  void watch(std::function<void()> on_gone);
  void unwatch();

 private:
  boost::asio::awaitable<void> watch_loop(uint64_t watch, std::function<void()> on_gone);

  boost::asio::ip::tcp::socket socket_;
  TcpBytes bytes_;
  boost::asio::steady_timer deadline_;
  boost::beast::flat_buffer buffer_;
  uint64_t watch_ = 0;
};

}  // namespace paceline
