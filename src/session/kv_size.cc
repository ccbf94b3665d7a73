#include "session/kv_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/free_memory.h"
#include "engine/schedule.h"
#include "session/largest_steps.h"

namespace paceline {

namespace {

constexpr size_t kLeastKvBytes = size_t{256} << 20, kMostKvBytes = size_t{64} << 30;

}  // namespace

size_t automatic_kv_bytes(const Forward& forward, const EngineSettings& settings) {
  if (forward.ops().limits().own_memory) {
    const size_t free_bytes = forward.ops().free_bytes();
    return free_bytes - bytes_beside_steps(forward.config(), settings, free_bytes);
  }
  return std::clamp(free_host_bytes() / 2, kLeastKvBytes, kMostKvBytes);
}

size_t kv_bytes_for_one(const Forward& forward, const Drafter* drafter, const EngineSettings& settings) {
  const size_t longest =
      Schedule::sequence_bytes(forward.kv_layout(), drafter, forward.config().context, kMaxImageRows);
  if (forward.ops().limits().own_memory) return std::min(longest, automatic_kv_bytes(forward, settings));
  const auto addresses = free_address_bytes();
  return addresses ? std::min(longest, std::max(*addresses / 2, kLeastKvBytes)) : longest;
}

std::string what_is_free() {
  if (const auto addresses = free_address_bytes())
    return fmt::format("; the limits of this process (ulimit -v, ulimit -d) leave {} bytes", *addresses);
  return fmt::format("; {} bytes are free", free_host_bytes());
}

Status check_kv_bytes(size_t bytes, const Forward& forward) {
  Request smallest;
  smallest.prompt = {0};
  smallest.max_tokens = 1;
  smallest.context = 2;
  const size_t least =
      Schedule::accept(std::move(smallest), forward.kv_layout(), forward.config(), 0)->bytes_per_choice;
  if (bytes < least)
    return Error{
        fmt::format("kv_bytes: expected at least {}, which the smallest request takes; found {}", least, bytes)};
  // Addresses alone could be had beyond that, and the system would end the process once they are written to.
  if (const size_t most = host_bytes(); !forward.ops().limits().own_memory && most > 0 && bytes > most)
    return Error{
        fmt::format("kv_bytes: expected at most {}, all the memory that this process may have; found {}", most, bytes)};
  return Done{};
}

}  // namespace paceline
