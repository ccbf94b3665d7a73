#include "bench/engine_bench.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/median.h"
#include "bench/way.h"

namespace paceline {
namespace {

struct EngineRun {
  double tokens_per_s = 0;
  SpeculationCounters counters;
};

// So many at once, over the rounds.
struct EngineSeries {
  std::vector<double> plain, drafted, ratios;
  double tokens_per_verify = 0;
};

class EngineBench {
 public:
  EngineBench(Forward& forward, ThreadPool& pool, const std::vector<BenchText>& texts,
              const EngineBenchSettings& settings)
      : settings_(settings),
        plain_(forward, pool, {.memory_share = 0.3}),
        drafted_(forward, pool, {.drafter = settings.drafter, .costs = settings.costs, .memory_share = 0.4}),
        series_(settings.at_once.size()) {
    for (const BenchText& text : texts) requests_.insert(requests_.end(), text.requests.begin(), text.requests.end());
  }

  Result<std::vector<EngineCell>> measure() {
    TRY_ASSIGN(expected_, plain_.write(requests_));
    for (const int32_t at_once : settings_.at_once) TRY(run(drafted_, at_once));  // learns, untimed
    const auto loads = static_cast<int64_t>(settings_.at_once.size()), total = settings_.rounds * loads;
    for (int64_t turn = 0; turn < total; ++turn) {
      TRY(one_turn(static_cast<size_t>(turn % loads)));
      if (settings_.progress) settings_.progress(turn + 1, total);
    }
    return cells();
  }

 private:
  Status one_turn(size_t load) {
    const int32_t at_once = settings_.at_once[load];
    TRY_ASSIGN(const EngineRun plain, run(plain_, at_once));
    TRY_ASSIGN(const EngineRun drafted, run(drafted_, at_once));
    EngineSeries& here = series_[load];
    here.plain.push_back(plain.tokens_per_s);
    here.drafted.push_back(drafted.tokens_per_s);
    here.ratios.push_back(drafted.tokens_per_s / plain.tokens_per_s);
    here.tokens_per_verify = drafted.counters.tokens_per_round();
    return Done{};
  }

  // All requests, and at least twice as many as run at once.
  Result<EngineRun> run(Way& way, int32_t at_once) {
    const size_t count = std::max(requests_.size(), 2 * static_cast<size_t>(at_once));
    const auto begin = EngineClock::now();
    TRY_ASSIGN(const std::vector<WrittenText> texts, way.write(requests_, count, static_cast<size_t>(at_once)));
    const double ms = ms_between(begin, EngineClock::now());
    EngineRun run;
    int64_t tokens = 0;
    for (size_t i = 0; i < count; ++i) {
      if (texts[i].tokens != expected_[i % requests_.size()].tokens)
        return Error{fmt::format("{} at once: a text differs from the plain run's", at_once)};
      tokens += static_cast<int64_t>(texts[i].tokens.size());
      run.counters += texts[i].counters;
    }
    run.tokens_per_s = static_cast<double>(tokens) * 1e3 / ms;
    return run;
  }

  [[nodiscard]] std::vector<EngineCell> cells() const {
    std::vector<EngineCell> cells;
    for (size_t i = 0; i < series_.size(); ++i) {
      const EngineSeries& series = series_[i];
      cells.push_back({settings_.at_once[i], median(series.plain), median(series.drafted), median(series.ratios),
                       series.tokens_per_verify, series.ratios});
    }
    return cells;
  }

  const EngineBenchSettings& settings_;
  Way plain_, drafted_;
  std::vector<Request> requests_;
  std::vector<WrittenText> expected_;
  std::vector<EngineSeries> series_;
};

}  // namespace

Result<std::vector<EngineCell>> bench_engine(Forward& forward, ThreadPool& pool, const std::vector<BenchText>& texts,
                                             const EngineBenchSettings& settings) {
  return EngineBench(forward, pool, texts, settings).measure();
}

}  // namespace paceline
