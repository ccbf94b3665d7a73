#include "bench/speculation_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/median.h"
#include "bench/way.h"

namespace paceline {
namespace {

// All requests of a text, once.
struct TextRun {
  double ms = 0;       // without prompts
  int64_t tokens = 0;  // without each request's first
  SpeculationCounters counters;
  std::vector<std::vector<TokenId>> outputs;

  void add(WrittenText text) {
    ms += text.decode_ms;
    tokens += std::max<int64_t>(static_cast<int64_t>(text.tokens.size()) - 1, 0);
    counters += text.counters;
    outputs.push_back(std::move(text.tokens));
  }
};

// One text at one depth, over the rounds.
struct Series {
  std::vector<double> ms, ratios;
  SpeculationCounters counters;
  int64_t tokens = 0;

  void add(const TextRun& run, double plain_ms) {
    ms.push_back(run.ms);
    ratios.push_back(plain_ms / run.ms);
    counters = run.counters;
    tokens = run.tokens;
  }
};

SpeculationCell cell_of(const std::string& text, BenchDepth depth, const Series& series) {
  SpeculationCell cell;
  cell.text = text;
  cell.depth = depth;
  cell.tokens = series.tokens;
  const double ms = median(series.ms);
  cell.tokens_per_s = ms > 0 ? static_cast<double>(series.tokens) * 1e3 / ms : 0;
  cell.ratio = median(series.ratios);
  const SpeculationCounters& counters = series.counters;
  cell.tokens_per_verify = counters.tokens_per_round();
  cell.accepted_of_drafted = counters.accepted_of_drafted();
  for (size_t i = 0; i < cell.accepted_at.size(); ++i) {
    const int64_t drafted = counters.drafted_at[i];
    cell.accepted_at[i] =
        drafted > 0 ? static_cast<double>(counters.accepted_at[i]) / static_cast<double>(drafted) : -1;
  }
  const double all_ms = counters.draft_ms + counters.verify_ms + counters.choose_ms + counters.commit_ms;
  cell.draft_share = all_ms > 0 ? counters.draft_ms / all_ms : 0;
  return cell;
}

// All texts as if they were one.
Series together(const std::vector<const Series*>& parts, const std::vector<const Series*>& plain) {
  Series all;
  for (size_t round = 0; round < parts.front()->ms.size(); ++round) {
    double ms = 0, plain_ms = 0;
    for (const Series* part : parts) ms += part->ms[round];
    for (const Series* part : plain) plain_ms += part->ms[round];
    all.ms.push_back(ms);
    all.ratios.push_back(plain_ms / ms);
  }
  for (const Series* part : parts) {
    all.counters += part->counters;
    all.tokens += part->tokens;
  }
  return all;
}

class SpeculationBench {
 public:
  SpeculationBench(Forward& forward, ThreadPool& pool, const std::vector<BenchText>& texts,
                   const SpeculationBenchSettings& settings)
      : settings_(settings), texts_(texts), depths_{0} {
    depths_.insert(depths_.end(), settings.depths.begin(), settings.depths.end());
    ways_.push_back(std::make_unique<Way>(forward, pool, WaySettings{}));
    for (const BenchDepth depth : settings.depths) {
      const WaySettings way{.drafter = &settings.drafter->drafter(), .depth = depth, .costs = settings.costs};
      ways_.push_back(std::make_unique<Way>(forward, pool, way));
    }
    series_.resize(texts.size(), std::vector<Series>(ways_.size()));
  }

  Result<std::vector<SpeculationCell>> measure() {
    TRY(write_expected());
    const auto total = static_cast<int64_t>(settings_.rounds) * static_cast<int64_t>(texts_.size() * ways_.size());
    int64_t done = 0;
    for (int32_t round = 0; round < settings_.rounds; ++round) {
      for (size_t text = 0; text < texts_.size(); ++text) {
        std::vector<TextRun> runs(ways_.size());
        for (size_t turn = 0; turn < ways_.size(); ++turn) {
          // Another one is first each time, so that nobody always follows the same.
          const size_t way = (turn + static_cast<size_t>(round)) % ways_.size();
          TRY_ASSIGN(runs[way], run(text, way));
          if (settings_.progress) settings_.progress(++done, total);
        }
        for (size_t way = 0; way < ways_.size(); ++way) series_[text][way].add(runs[way], runs[0].ms);
      }
    }
    return cells();
  }

 private:
  // Untimed: a processor that was idle is faster for a moment.
  Status write_expected() {
    for (const BenchText& text : texts_) {
      TRY_ASSIGN(auto written, ways_[0]->write(text.requests));
      TextRun& run = expected_.emplace_back();
      for (WrittenText& one : written) run.add(std::move(one));
      if (run.tokens == 0) return Error{fmt::format("{}: no text came out, nothing to time", text.name)};
    }
    return Done{};
  }

  Result<TextRun> run(size_t text, size_t way) {
    const std::vector<Request>& requests = texts_[text].requests;
    const auto& expected = expected_[text].outputs;
    TextRun run;
    for (size_t i = 0; i < requests.size(); ++i) {
      if (way > 0) settings_.drafter->tell(requests[i], expected[i]);
      TRY_ASSIGN(auto written, ways_[way]->write({&requests[i], 1}));
      run.add(std::move(written.front()));
    }
    if (run.outputs != expected)
      return Error{fmt::format("{} at depth {}: the text differs from the plain run's", texts_[text].name,
                               depth_name(depths_[way]))};
    return run;
  }

  [[nodiscard]] std::vector<SpeculationCell> cells() const {
    std::vector<SpeculationCell> cells;
    for (size_t text = 0; text < texts_.size(); ++text) {
      for (size_t way = 0; way < ways_.size(); ++way)
        cells.push_back(cell_of(texts_[text].name, depths_[way], series_[text][way]));
    }
    for (size_t way = 0; way < ways_.size() && texts_.size() > 1; ++way) {
      std::vector<const Series*> parts, plain;
      for (const auto& of_text : series_) {
        parts.push_back(&of_text[way]);
        plain.push_back(of_text.data());
      }
      cells.push_back(cell_of("all", depths_[way], together(parts, plain)));
    }
    return cells;
  }

  const SpeculationBenchSettings& settings_;
  const std::vector<BenchText>& texts_;
  // Plain first.
  std::vector<BenchDepth> depths_;
  std::vector<std::unique_ptr<Way>> ways_;
  std::vector<TextRun> expected_;            // by text
  std::vector<std::vector<Series>> series_;  // [text][way]
};

}  // namespace

std::string depth_name(BenchDepth depth) { return depth ? std::to_string(*depth) : "auto"; }

Result<std::vector<SpeculationCell>> bench_speculation(Forward& forward, ThreadPool& pool,
                                                       const std::vector<BenchText>& texts,
                                                       const SpeculationBenchSettings& settings) {
  return SpeculationBench(forward, pool, texts, settings).measure();
}

}  // namespace paceline
