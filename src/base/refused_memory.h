// Whether the system refused memory since: libraries of others say so in words of their own, or take what they could
// not read for broken. For this thread, and of use where something failed: who succeeds may have found another way.
#pragma once

#include <cerrno>

namespace paceline {

class RefusedMemory {
 public:
  RefusedMemory() { errno = 0; }
  [[nodiscard]] bool found() const { return errno == ENOMEM; }
};

}  // namespace paceline
