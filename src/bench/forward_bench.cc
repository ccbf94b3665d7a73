#include "bench/forward_bench.h"

#include <algorithm>

#include "base/median.h"
#include "bench/stand.h"
#include "kernels/read_bandwidth.h"

namespace paceline {
Result<ForwardBenchResult> bench_forward(Forward& forward, ThreadPool& pool, const ForwardBenchSettings& settings) {
  kernels::ReadBandwidth bandwidth;
  Stand stand(forward, std::max(settings.context, settings.prompt), settings.chunk);
  stand.prompt(settings.context);
  const size_t count = settings.widths.size();
  std::vector<std::vector<double>> ms(count), shares(count), ratios(count), bytes(count);
  std::vector<double> speeds, prompts, prompt_ratios;
  for (int32_t round = 0; round < settings.rounds; ++round) {
    kernels::Ops& ops = forward.ops();
    const double gbs = ops.limits().own_memory ? ops.read_gbs() : bandwidth.measure(pool);
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
