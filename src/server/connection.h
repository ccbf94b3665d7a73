// One client: requests read one after the other, answers and streams written, and its going away noticed.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>

#include "server/preparation.h"

namespace paceline {

// What all connections share; outlives them.
struct ConnectionContext {
  Preparers by;
  Metrics* metrics = nullptr;
};

class Connection {
 public:
  virtual ~Connection() = default;
  // May be called by any thread. Without a request: closes. Otherwise the one at hand is the last.
  virtual void finish_up() = 0;
  // Likewise. How long it may be without a request has changed.
  virtual void note_idle_time() = 0;
};

// Serves the socket, whose executor is a strand, until it is closed. on_close is called by any thread, once.
std::shared_ptr<Connection> start_connection(boost::asio::ip::tcp::socket socket, const ConnectionContext& context,
                                             std::function<void()> on_close);

}  // namespace paceline
