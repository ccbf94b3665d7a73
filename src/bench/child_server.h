// A server of our own for measurements: the same program, as a child, on a port of its choice.
#pragma once

#include <sys/types.h>

#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace paceline {

class ChildServer {
 public:
  // Starts `paceline serve` with these arguments and waits until it is ready.
  static Result<std::unique_ptr<ChildServer>> start(std::vector<std::string> arguments);
  // Ends it, and waits until it has ended.
  ~ChildServer();
  ChildServer(const ChildServer&) = delete;
  ChildServer& operator=(const ChildServer&) = delete;

  [[nodiscard]] const boost::asio::ip::tcp::endpoint& endpoint() const { return endpoint_; }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  ChildServer() = default;
  pid_t pid_ = -1;
  boost::asio::ip::tcp::endpoint endpoint_;
};

// "http://127.0.0.1:8080" or "127.0.0.1:8080".
Result<boost::asio::ip::tcp::endpoint> read_endpoint(const std::string& url);

}  // namespace paceline
