#include "bench/context_bench.h"

#include <algorithm>

#include "base/median.h"
#include "bench/stand.h"
#include "kernels/read_bandwidth.h"

namespace paceline {
namespace {

// What a row at the end of so many positions reads of keys and values.
double kv_read_bytes(const KvLayout& layout, int32_t context) {
  const double window_share = layout.window > 0 ? std::min(1.0, static_cast<double>(context) / layout.window) : 0;
  return static_cast<double>(layout.bytes_per_token()) * context +
         static_cast<double>(layout.window_bytes()) * window_share;
}

}  // namespace

Result<ContextBenchResult> bench_contexts(Forward& forward, ThreadPool& pool, const ContextBenchSettings& settings) {
  kernels::ReadBandwidth bandwidth;
  Stand stand(forward, settings.contexts.back(), settings.chunk);
  ContextBenchResult result;
  result.widths = settings.widths;
  std::vector<double> speeds;
  double read_ms = 0;
  const auto total = static_cast<int64_t>(settings.contexts.size()) * (settings.rounds + 1);
  int64_t done = 0;
  const auto tell = [&] {
    if (settings.progress) settings.progress(++done, total);
  };
  for (const int32_t context : settings.contexts) {
    ContextResult at;
    at.context = context;
    at.kv_bytes = kv_read_bytes(forward.kv_layout(), context);
    read_ms += stand.read_to(context);
    at.prompt_tok_s = context / read_ms * 1e3;
    at.memory_bytes = static_cast<double>(stand.kv().bytes());
    tell();
    // What recurs is quicker than what a device sees for the first time; in a text, nearly all of it recurs.
    double unused = 0;
    for (const int32_t width : settings.widths) (void)stand.width(width, unused);
    std::vector<double> steps, over;
    std::vector<std::vector<double>> ratios(settings.widths.size());
    for (int32_t round = 0; round < settings.rounds; ++round) {
      kernels::Ops& ops = forward.ops();
      speeds.push_back(ops.limits().own_memory ? ops.read_gbs() : bandwidth.measure(pool));
      for (size_t i = 0; i < settings.widths.size(); ++i) {
        double bytes = 0;
        const double ms = stand.width(settings.widths[i], bytes);
        if (i == 0) {
          at.weight_bytes = bytes;
          steps.push_back(ms);
          over.push_back(ms * 1e6 * speeds.back() / (bytes + at.kv_bytes));
        }
        ratios[i].push_back(ms / steps.back());
      }
      tell();
    }
    TRY(forward.status());
    at.step_ms = median(steps);
    at.tok_s = 1e3 / at.step_ms;
    at.over_bytes = median(over);
    for (const std::vector<double>& one : ratios) at.ratios.push_back(median(one));
    result.contexts.push_back(std::move(at));
  }
  result.bandwidth_gbs = median(speeds);
  return result;
}

}  // namespace paceline
