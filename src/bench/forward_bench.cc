#include "bench/forward_bench.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "bench/median.h"
#include "kernels/read_bandwidth.h"

namespace paceline {
namespace {

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// One sequence at a fixed context; every forward is taken back.
class Stand {
 public:
  Stand(Forward& forward, const ForwardBenchSettings& settings)
      : forward_(forward),
        settings_(settings),
        kv_(forward.kv_layout(), std::max(settings.context, settings.prompt) + kMaxForwardRows) {
    const int32_t vocab = forward.config().vocab;
    tokens_.resize(static_cast<size_t>(std::max(settings.context, settings.prompt)));
    uint32_t state = 1;
    for (TokenId& token : tokens_) {
      state = state * 1664525u + 1013904223u;
      token = static_cast<TokenId>((state >> 8) % static_cast<uint32_t>(vocab));
    }
  }

  // Milliseconds for a prompt from nothing; leaves the sequence at the context.
  double prompt(int32_t length) {
    kv_.truncate(0);
    const double start = now_ms();
    while (kv_.length() < length) {
      const int32_t rows = std::min(settings_.chunk, length - kv_.length());
      const int32_t last = rows - 1;
      const bool ends = kv_.length() + rows == length;
      run(rows, ends ? std::span<const int32_t>(&last, 1) : std::span<const int32_t>());
    }
    return now_ms() - start;
  }

  // Milliseconds for one forward of `width` rows with logits for each, as a verify has; the median of three.
  double width(int32_t width, double& bytes) {
    std::vector<int32_t> rows(static_cast<size_t>(width));
    std::iota(rows.begin(), rows.end(), 0);
    std::vector<double> ms;
    for (int repeat = 0; repeat < 3; ++repeat) {
      const double start = now_ms();
      bytes = static_cast<double>(run(width, rows).weight_bytes);
      ms.push_back(now_ms() - start);
      kv_.truncate(kv_.length() - width);
    }
    return median(ms);
  }

 private:
  ForwardOutput run(int32_t rows, std::span<const int32_t> logit_rows) {
    const SeqRows seq{&kv_, rows};
    const auto first = static_cast<size_t>(kv_.length()) % (tokens_.size() - static_cast<size_t>(rows) + 1);
    return forward_.run({std::span(tokens_).subspan(first, static_cast<size_t>(rows)), {&seq, 1}, logit_rows, {}});
  }

  Forward& forward_;
  const ForwardBenchSettings& settings_;
  KvCache kv_;
  std::vector<TokenId> tokens_;
};

}  // namespace

Result<ForwardBenchResult> bench_forward(Forward& forward, ThreadPool& pool, const ForwardBenchSettings& settings) {
  kernels::ReadBandwidth bandwidth;
  Stand stand(forward, settings);
  stand.prompt(settings.context);
  const size_t count = settings.widths.size();
  std::vector<std::vector<double>> ms(count), shares(count), ratios(count), bytes(count);
  std::vector<double> speeds, prompts, prompt_ratios;
  for (int32_t round = 0; round < settings.rounds; ++round) {
    const double own_gbs = forward.ops().read_gbs();
    const double gbs = own_gbs > 0 ? own_gbs : bandwidth.measure(pool);
    speeds.push_back(gbs);
    for (size_t i = 0; i < count; ++i) {
      double read = 0;
      ms[i].push_back(stand.width(settings.widths[i], read));
      bytes[i].push_back(read);
      shares[i].push_back(read / (ms[i].back() * 1e6) / gbs);
      ratios[i].push_back(ms[i].back() / ms[0].back());
    }
    const double prompt_ms = stand.prompt(settings.prompt);
    if (settings.prompt != settings.context) stand.prompt(settings.context);
    prompts.push_back(settings.prompt / prompt_ms * 1e3);
    prompt_ratios.push_back(prompts.back() * ms[0].back() / 1e3);
    if (settings.progress) settings.progress(round + 1, settings.rounds);
  }
  TRY(forward.status());
  ForwardBenchResult result;
  for (size_t i = 0; i < count; ++i)
    result.widths.push_back({settings.widths[i], median(ms[i]), median(bytes[i]), median(shares[i]), median(ratios[i]),
                             median(bytes[i]) / median(bytes[0])});
  result.bandwidth_gbs = median(speeds);
  result.decode_tok_s = 1e3 / result.widths[0].ms;
  result.prompt_tok_s = median(prompts);
  result.prompt_ratio = median(prompt_ratios);
  return result;
}

}  // namespace paceline
