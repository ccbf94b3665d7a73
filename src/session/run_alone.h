// One request on an engine that nobody else runs, stepped until it has ended.
#pragma once

#include <memory>

#include "base/result.h"
#include "engine/engine.h"

namespace paceline {

class LoneListener : public Listener {
 public:
  [[nodiscard]] virtual bool ended() const = 0;
  // It wants no more, though nothing was offered that it could have ended at.
  [[nodiscard]] virtual bool gives_up() const = 0;
};

// An error where the request was not taken. What became of it, the listener has heard.
Status run_alone(Engine& engine, const Request& request, const std::shared_ptr<LoneListener>& listener);

}  // namespace paceline
