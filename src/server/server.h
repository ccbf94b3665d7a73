// The server as a whole: listens, serves, drains.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "server/log.h"
#include "server/metrics.h"
#include "server/served_model.h"
#include "server/settings.h"

namespace paceline {

class Server {
 public:
  // Listens and serves on threads of its own, the engine's among them. All must outlive it; the model's engine runs
  // from now on until the server is gone.
  static Result<std::unique_ptr<Server>> start(ServedModel& model, Metrics& metrics, Log& log,
                                               const ServerSettings& settings);
  ~Server();

  [[nodiscard]] uint16_t port() const;
  // Drains on SIGTERM, and on SIGINT without the grace: somebody waits for it. A second one ends it at once.
  void handle_signals();
  // Says that it is not ready, and serves on for settings.drain_grace_s; then takes no new requests; those that run
  // have settings.drain_s to end, and are then told that it is over. May be called by any thread.
  void drain();
  // Until everything has been drained.
  void wait();

 private:
  class Parts;
  explicit Server(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace paceline
