// One client: requests read one after the other, answers and streams written, and its going away noticed.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>

#include "server/log.h"
#include "server/routes.h"
#include "server/settings.h"

namespace paceline {

// What all connections share; outlives them.
struct ConnectionContext {
  const ServerSettings* settings = nullptr;
  Routes* routes = nullptr;
  Metrics* metrics = nullptr;
  Log* log = nullptr;
  boost::asio::thread_pool* workers = nullptr;
  boost::asio::ssl::context* tls = nullptr;  // of hosts that media are fetched from; none: there are none
  std::function<void()> on_close;            // by any thread, once per connection
};

class Connection {
 public:
  virtual ~Connection() = default;
  // May be called by any thread. Without a request: closes. Otherwise the one at hand is the last.
  virtual void finish_up() = 0;
};

// Serves the socket, whose executor is a strand, until it is closed.
std::shared_ptr<Connection> start_connection(boost::asio::ip::tcp::socket socket, const ConnectionContext& context);

}  // namespace paceline
