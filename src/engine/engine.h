// Many requests at once through one model: a step loop that carries prompt chunks and verify rows of many sequences in
// the same forward. What a request gets has the same bits as if it had been alone.
//
//   schedule → propose → forward → choose → commit → publish
//
// submit(), cancel(), turn(), drain(), stats() may be called from any thread; step() and run() from one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/engine_parts.h"
#include "engine/engine_settings.h"
#include "engine/event.h"
#include "engine/request.h"
#include "engine/sequence.h"

namespace paceline {

enum class Refusal : uint8_t {
  none,
  queue_full,  // too many wait, or those that are here hold too much
  draining,
  never_fits,  // not even alone: `needs_bytes` of `kv_bytes`
  invalid,     // it makes no sense: `problem` says why
  failed,      // the engine has stopped: `problem` says why
};

struct Submission {
  Refusal refusal = Refusal::none;
  RequestId id = 0;
  size_t needs_bytes = 0;
  std::string problem = {};
};

class Engine {
 public:
  Engine(const EngineParts& parts, const EngineSettings& settings);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // The listener hears of it, unless it is refused.
  Submission submit(Request request, std::shared_ptr<Listener> listener);
  // At the next step. Whoever has ended already does not mind.
  void cancel(RequestId id);
  // From the next step on.
  void turn(const EngineDials& dials);
  // From now on every submission is refused.
  void drain();
  [[nodiscard]] EngineStats stats() const;

  // One round of everything. False: there was nothing to do.
  bool step();
  // Steps, and sleeps where there is nothing to do. Ends once stop() was called and nothing runs or waits any more:
  // whoever is in a hurry cancels first, and every listener hears its end. Whoever comes later is refused.
  void run();
  void stop();

  // Nothing runs or waits: every byte but those of kept prefixes must have been given back. "" where it holds, or what
  // does not.
  [[nodiscard]] const char* integrity_problem() const;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace paceline
