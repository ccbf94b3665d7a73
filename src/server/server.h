// The server as a whole: listens, serves, drains.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "server/log.h"
#include "server/metrics.h"
#include "server/model_shelf.h"
#include "server/settings.h"

namespace paceline {

class Server {
 public:
  // Listens and serves on threads of its own. All must outlive it; engines run until the server is gone.
  static Result<std::unique_ptr<Server>> start(ModelShelf& shelf, Log& log, const ServerSettings& settings);
  // The same with one model that somebody has opened, whose engine runs from now on.
  static Result<std::unique_ptr<Server>> start(ServedModel& model, Metrics& metrics, Log& log,
                                               const ServerSettings& settings);
  ~Server();

  [[nodiscard]] uint16_t port() const;
  // Drains on SIGTERM, and on SIGINT without the grace: somebody waits for it. A second one ends it at once.
  void handle_signals();
  // Says that it is not ready, and serves on for settings.drain_grace_s; then takes no new requests; those that run
  // have settings.drain_s to end, and are then told that it is over. May be called by any thread.
  void drain();
  // Until everything has been drained, or the engine was given up.
  void wait();
  // It hangs or has failed, and settings.watchdog_s says that this is the end. A thread that hangs cannot be waited
  // for: whoever hears this ends the process.
  [[nodiscard]] bool has_given_up() const;

 private:
  class Parts;
  explicit Server(std::unique_ptr<Parts> parts);

  std::unique_ptr<ModelShelf> own_shelf_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace paceline
