// Memory that requests hold from the moment they are taken on until they end, whether they run or wait for their turn:
// prompts, pictures, the forms of their outputs, what their listeners remember. Keys and values are counted elsewhere.
#pragma once

#include <cstddef>
#include <memory>

#include "engine/request.h"

namespace paceline {

// May be used by several threads.
class RequestBytes {
 public:
  explicit RequestBytes(size_t most);

  // Counted as long as this lives, which may be longer than the counter.
  using Hold = std::shared_ptr<const void>;
  // None: there is no room for it beside the others. Alone, every request has room.
  [[nodiscard]] Hold try_hold(const Request& request);

  [[nodiscard]] size_t held() const;

 private:
  struct Count;
  struct Taken;
  std::shared_ptr<Count> count_;
};

}  // namespace paceline
