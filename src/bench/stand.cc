#include "bench/stand.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "base/median.h"

namespace paceline {
namespace {

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int32_t chunk_of(const Forward& forward, int32_t chunk) {
  if (chunk > 0) return chunk;
  return forward.ops().limits().own_memory ? kMostForwardRows : kMaxForwardRows;
}

}  // namespace

Stand::Stand(Forward& forward, int32_t longest, int32_t chunk)
    : forward_(forward),
      chunk_(chunk_of(forward, chunk)),
      kv_(forward.kv_layout(), longest + kMaxForwardRows, std::max(chunk_, kMaxForwardRows)),
      tokens_(static_cast<size_t>(std::max(longest, kMostForwardRows))) {
  const int32_t vocab = forward.config().vocab;
  uint32_t state = 1;
  for (TokenId& token : tokens_) {
    state = state * 1664525u + 1013904223u;
    token = static_cast<TokenId>((state >> 8) % static_cast<uint32_t>(vocab));
  }
}

double Stand::prompt(int32_t length) {
  kv_.truncate(0);
  return read_to(length);
}

double Stand::read_to(int32_t length) {
  const double start = now_ms();
  while (kv_.length() < length) {
    const int32_t rows = std::min(chunk_, length - kv_.length());
    const int32_t last = rows - 1;
    const bool ends = kv_.length() + rows == length;
    run(rows, ends ? std::span<const int32_t>(&last, 1) : std::span<const int32_t>());
  }
  return now_ms() - start;
}

double Stand::width(int32_t width, double& bytes) {
  std::vector<int32_t> rows(static_cast<size_t>(width));
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<double> ms;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const double start = now_ms();
    bytes = static_cast<double>(run(width, rows, width).weight_bytes);
    ms.push_back(now_ms() - start);
    kv_.truncate(kv_.length() - width);
  }
  return median(ms);
}

ForwardOutput Stand::run(int32_t rows, std::span<const int32_t> logit_rows, int32_t drafts) {
  const SeqRows seq{&kv_, rows, {}, drafts};
  const auto first = static_cast<size_t>(kv_.length()) % (tokens_.size() - static_cast<size_t>(rows) + 1);
  return forward_.run({std::span(tokens_).subspan(first, static_cast<size_t>(rows)), {&seq, 1}, logit_rows, {}});
}

}  // namespace paceline
