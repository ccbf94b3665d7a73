#include "kernels/read_bandwidth.h"

#include <algorithm>
#include <atomic>
#include <chrono>

namespace paceline::kernels {
namespace {

// The sum of whole lines; kAhead: how many words ahead memory is asked for what comes, 0 for nothing.
template <int64_t kAhead>
uint64_t sum_of(const uint64_t* word, const uint64_t* last) {
  // Eight sums, so that additions never wait for each other.
  uint64_t sums[8] = {};
  for (; word + 8 <= last; word += 8) {
    if constexpr (kAhead > 0) __builtin_prefetch(word + kAhead);
    for (int i = 0; i < 8; ++i) sums[i] += word[i];
  }
  uint64_t sum = 0;
  for (const uint64_t part : sums) sum += part;
  return sum;
}

// GB/s of one way of reading.
template <class Sum>
double measure_one(ThreadPool& pool, const std::vector<uint64_t>& words, Sum sum) {
  const auto start = std::chrono::steady_clock::now();
  std::atomic<uint64_t> total{0};
  constexpr int64_t kPiece = (256 << 10) / sizeof(uint64_t);
  pool.run(static_cast<int64_t>(words.size()), kPiece, [&](int64_t begin, int64_t end) {
    total.fetch_add(sum(words.data() + begin, words.data() + end), std::memory_order_relaxed);
  });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  // The sum is used, so that no compiler drops the reads.
  if (total.load() == 0) return 0;
  return static_cast<double>(words.size() * sizeof(uint64_t)) / seconds.count() / 1e9;
}

}  // namespace

// What memory gives is what the better of two ways of reading gets: some processors look far enough ahead themselves,
// others (those of a Sapphire Rapids Xeon) read a fifth more where they are told.
double ReadBandwidth::measure(ThreadPool& pool) {
  constexpr int64_t kAheadWords = 4096 / sizeof(uint64_t);
  return std::max(measure_one(pool, words_, sum_of<0>), measure_one(pool, words_, sum_of<kAheadWords>));
}

}  // namespace paceline::kernels
