#include "session/refusal.h"

#include <fmt/format.h>

namespace paceline {

std::string why_refused(const Submission& submission, size_t kv_bytes) {
  switch (submission.refusal) {
    case Refusal::never_fits:
      return fmt::format("prompt and output need {} bytes of KV memory; there are {}", submission.needs_bytes,
                         kv_bytes);
    case Refusal::queue_full: return "too many requests are waiting";
    case Refusal::draining: return "the engine takes no more requests";
    case Refusal::invalid:
    case Refusal::failed:
    case Refusal::none: break;
  }
  return submission.problem;
}

}  // namespace paceline
