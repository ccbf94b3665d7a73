#include "session/kv_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "engine/schedule.h"
#include "session/largest_steps.h"

namespace paceline {

size_t free_host_bytes() {
  std::ifstream file("/proc/meminfo");
  size_t kilobytes = 0;
  for (std::string word; file >> word;) {
    if (word == "MemAvailable:" && file >> kilobytes) break;
  }
  return kilobytes * 1024;
}

size_t automatic_kv_bytes(const Forward& forward, const EngineSettings& settings) {
  constexpr size_t kLeast = size_t{256} << 20, kMost = size_t{64} << 30;
  if (forward.ops().limits().own_memory) {
    const size_t free_bytes = forward.ops().free_bytes();
    return free_bytes - bytes_beside_steps(forward.config(), settings, free_bytes);
  }
  return std::clamp(free_host_bytes() / 2, kLeast, kMost);
}

size_t kv_bytes_for_one(const Forward& forward, const Drafter* drafter, const EngineSettings& settings) {
  const size_t longest =
      Schedule::sequence_bytes(forward.kv_layout(), drafter, forward.config().context, kMaxImageRows);
  return forward.ops().limits().own_memory ? std::min(longest, automatic_kv_bytes(forward, settings)) : longest;
}

Status check_kv_bytes(size_t bytes, const Forward& forward) {
  Request smallest;
  smallest.prompt = {0};
  smallest.max_tokens = 1;
  smallest.context = 2;
  const size_t least =
      Schedule::accept(std::move(smallest), forward.kv_layout(), forward.config(), 0)->bytes_per_choice;
  if (bytes >= least) return Done{};
  return Error{fmt::format("kv_bytes: expected at least {}, which the smallest request takes; found {}", least, bytes)};
}

}  // namespace paceline
