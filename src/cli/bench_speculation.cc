#include "cli/bench_speculation.h"

#include <fmt/format.h>

#include <memory>

#include "cli/median.h"
#include "speculate/adaptive.h"

namespace paceline {
namespace {

// All requests of a text, once.
struct TextRun {
  double ms = 0;       // without prompts
  int64_t tokens = 0;  // without each request's first
  SpeculationCounters counters;
  std::vector<std::vector<TokenId>> outputs;

  void add(DecodeOutcome outcome) {
    ms += outcome.decode_ms;
    tokens += std::max<int64_t>(static_cast<int64_t>(outcome.tokens.size()) - 1, 0);
    counters += outcome.counters;
    outputs.push_back(std::move(outcome.tokens));
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

class Bench {
 public:
  Bench(Forward& forward, const SpeculationBenchSettings& settings)
      : forward_(forward), settings_(settings), adaptive_(*settings.costs) {}

  TextRun plain(const BenchText& text) {
    TextRun run;
    for (const DecodeRequest& request : text.requests) run.add(decode(forward_, request, {}));
    return run;
  }

  TextRun speculative(const BenchText& text, const TextRun& plain, BenchDepth depth) {
    FixedDepth fixed(depth.value_or(0));
    DepthPolicy& policy = depth ? static_cast<DepthPolicy&>(fixed) : adaptive_;
    TextRun run;
    for (size_t i = 0; i < text.requests.size(); ++i) {
      Proposer& proposer = settings_.proposer(text.requests[i], plain.outputs[i]);
      run.add(decode(forward_, text.requests[i], {}, {&proposer, &policy}));
    }
    return run;
  }

 private:
  Forward& forward_;
  const SpeculationBenchSettings& settings_;
  AdaptiveDepth adaptive_;
};

}  // namespace

std::string depth_name(BenchDepth depth) { return depth ? std::to_string(*depth) : "auto"; }

Result<std::vector<SpeculationCell>> bench_speculation(Forward& forward, const std::vector<BenchText>& texts,
                                                       const SpeculationBenchSettings& settings) {
  const size_t depths = settings.depths.size();
  // [text][depth], plain first.
  std::vector<std::vector<Series>> series(texts.size(), std::vector<Series>(1 + depths));
  Bench bench(forward, settings);
  // Untimed: a processor that was idle is faster for a moment.
  std::vector<TextRun> expected;
  for (const BenchText& text : texts) {
    expected.push_back(bench.plain(text));
    if (expected.back().tokens == 0) return Error{fmt::format("{}: no text came out, nothing to time", text.name)};
  }
  const auto total = static_cast<int64_t>(settings.rounds) * static_cast<int64_t>(texts.size() * (1 + depths));
  int64_t done = 0;
  for (int32_t round = 0; round < settings.rounds; ++round) {
    for (size_t text = 0; text < texts.size(); ++text) {
      std::vector<TextRun> runs(1 + depths);
      for (size_t turn = 0; turn <= depths; ++turn) {
        // Another one is first each time, so that nobody always follows the same.
        const size_t i = (turn + static_cast<size_t>(round)) % (1 + depths);
        runs[i] =
            i == 0 ? bench.plain(texts[text]) : bench.speculative(texts[text], expected[text], settings.depths[i - 1]);
        if (runs[i].outputs != expected[text].outputs) {
          return Error{fmt::format("{} at depth {}: the text differs from the plain run's", texts[text].name,
                                   depth_name(i == 0 ? BenchDepth(0) : settings.depths[i - 1]))};
        }
        if (settings.progress) settings.progress(++done, total);
      }
      for (size_t i = 0; i <= depths; ++i) series[text][i].add(runs[i], runs[0].ms);
    }
  }
  std::vector<SpeculationCell> cells;
  const auto depth_of = [&](size_t i) { return i == 0 ? BenchDepth(0) : settings.depths[i - 1]; };
  for (size_t text = 0; text < texts.size(); ++text) {
    for (size_t i = 0; i <= depths; ++i) cells.push_back(cell_of(texts[text].name, depth_of(i), series[text][i]));
  }
  for (size_t i = 0; i <= depths && texts.size() > 1; ++i) {
    std::vector<const Series*> parts, plain;
    for (const auto& of_text : series) {
      parts.push_back(&of_text[i]);
      plain.push_back(of_text.data());
    }
    cells.push_back(cell_of("all", depth_of(i), together(parts, plain)));
  }
  return cells;
}

}  // namespace paceline
