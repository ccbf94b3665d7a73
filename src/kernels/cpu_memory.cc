// Memory of the processor as Ops gives it out, and what moves rows about in it.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "base/host_memory.h"
#include "kernels/cpu_ops.h"

namespace paceline::kernels {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

int32_t largest(const float* x, int32_t count) {
  constexpr int32_t kLanes = 16;
  float lanes[kLanes];
  std::fill(lanes, lanes + kLanes, kNothing);
  int32_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int32_t lane = 0; lane < kLanes; ++lane) lanes[lane] = x[i + lane] > lanes[lane] ? x[i + lane] : lanes[lane];
  float top = kNothing;
  for (const float lane : lanes) top = std::max(top, lane);
  for (; i < count; ++i) top = x[i] > top ? x[i] : top;
  const float* found = std::find(x, x + count, top);
  return found == x + count ? 0 : static_cast<int32_t>(found - x);
}

}  // namespace

std::shared_ptr<void> CpuOps::memory(size_t bytes) {
  std::shared_ptr<void> memory = host_memory(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void CpuOps::upload(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }

void CpuOps::copy(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }

void CpuOps::clear(void* to, size_t bytes) { std::memset(to, 0, bytes); }

std::optional<int32_t> CpuOps::count_distinct(const int32_t* values, int64_t count, int32_t end) const {
  std::vector<bool> seen(static_cast<size_t>(end));
  for (int64_t i = 0; i < count; ++i) seen[static_cast<size_t>(values[i])] = true;
  return static_cast<int32_t>(std::count(seen.begin(), seen.end(), true));
}

void CpuOps::rope(const RopeArgs& args) {
  size_t at = 0;
  for (const int32_t pos : args.positions) {
    for (const float frequency : args.frequencies) {
      const float angle = static_cast<float>(pos) * frequency;
      args.cos[at] = std::cos(angle);
      args.sin[at++] = std::sin(angle);
    }
  }
}

void CpuOps::gather(const float* from, std::span<const int32_t> rows, int32_t width, float* to) {
  for (size_t i = 0; i < rows.size(); ++i)
    std::memcpy(to + static_cast<int64_t>(i) * width, from + static_cast<int64_t>(rows[i]) * width,
                static_cast<size_t>(width) * sizeof(float));
}

void CpuOps::argmax(const float* x, int32_t rows, int32_t width, TokenId* best) {
  for (int32_t r = 0; r < rows; ++r) best[r] = largest(x + static_cast<int64_t>(r) * width, width);
}

}  // namespace paceline::kernels
