#include "kernels/read_bandwidth.h"

#include <atomic>
#include <chrono>

namespace paceline::kernels {

double ReadBandwidth::measure(ThreadPool& pool) {
  const auto start = std::chrono::steady_clock::now();
  std::atomic<uint64_t> total{0};
  constexpr int64_t kPiece = (256 << 10) / sizeof(uint64_t);
  pool.run(static_cast<int64_t>(words_.size()), kPiece, [&](int64_t begin, int64_t end) {
    // Eight sums, so that additions never wait for each other.
    uint64_t sums[8] = {};
    const uint64_t* word = words_.data() + begin;
    const uint64_t* last = words_.data() + end;
    for (; word + 8 <= last; word += 8)
      for (int i = 0; i < 8; ++i) sums[i] += word[i];
    uint64_t sum = 0;
    for (const uint64_t part : sums) sum += part;
    total.fetch_add(sum, std::memory_order_relaxed);
  });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  // The sum is used, so that no compiler drops the reads.
  if (total.load() == 0) return 0;
  return static_cast<double>(words_.size() * sizeof(uint64_t)) / seconds.count() / 1e9;
}

}  // namespace paceline::kernels
